package pcgroups_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// A server without a cluster that was restarted gives out at once what was in the
// stream for longer than AckWait, as it takes the time at which it was stored for the
// time of its delivery.

// runOf is a handler that was called and returns when it is told to.
type runOf struct {
	text, by string
	done     chan struct{}
}

// slow joins m1 with a handler that returns when a test says so.
func (f *fixture) slow(by string, js jetstream.JetStream, runs chan<- runOf, c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) {
	f.t.Helper()
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		r := runOf{string(m.Data()), by, make(chan struct{})}
		runs <- r
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		return m.Ack()
	}), c, opts...)
	must(f.t, err)
	f.t.Cleanup(func() { s.Stop(); <-s.Closed() })
}

// next is the next handler that is called.
func (f *fixture) next(runs <-chan runOf) runOf {
	f.t.Helper()
	select {
	case r := <-runs:
		return r
	case <-time.After(patience):
		f.t.Fatal("nothing is handled")
		return runOf{}
	}
}

// alone fails if another handler is called while this one runs, for a while.
func (f *fixture) alone(runs <-chan runOf, r runOf, most time.Duration) {
	f.t.Helper()
	begun, timer := time.Now(), time.NewTimer(most)
	defer timer.Stop()
	select {
	case other := <-runs:
		f.t.Errorf("%s began %s after %v, while %s ran %s", other.by, other.text, time.Since(begun), r.by, r.text)
		close(other.done)
	case <-timer.C:
	}
	close(r.done)
}

// slowly is a connection that takes so long until it is there again.
func slowly(pause time.Duration) []nats.Option {
	return []nats.Option{nats.ReconnectWait(pause), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1)}
}

// Prevents: a message handled by two at once as an instance joins just after its
// server was restarted, by whose id it can not tell.
func TestJoinAfterServerRestart(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.publish(1, 3)
	const wait = 4 * time.Second
	<-time.After(wait) // what was published is as old as the timer then
	runs := make(chan runOf, 100)
	f.slow("a", f.srv.JetStream(slowly(1500*time.Millisecond)...), runs, strict(wait))
	close(f.next(runs).done)
	second := f.next(runs)
	f.srv.Restart()
	f.slow("b", f.srv.JetStream(), runs, strict(wait))
	f.alone(runs, second, wait*2/3)
	for r := f.next(runs); ; r = f.next(runs) {
		close(r.done)
		if r.text == "3" {
			return
		}
	}
}

// Prevents: a message handled by two at once as its handler, which is kept alive,
// needs longer than the ack wait for which the other instance holds it.
func TestKeptAliveThroughServerRestart(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.publish(1, 2)
	const wait = 4 * time.Second
	<-time.After(wait)
	runs := make(chan runOf, 100)
	f.slow("a", f.srv.JetStream(slowly(1500*time.Millisecond)...), runs, strict(wait), pcgroups.WithKeepAlive(time.Minute))
	first := f.next(runs)
	f.slow("b", f.srv.JetStream(slowly(50*time.Millisecond)...), runs, strict(wait), pcgroups.WithKeepAlive(time.Minute))
	f.srv.Restart()
	f.alone(runs, first, wait*7/4)
	for r := f.next(runs); ; r = f.next(runs) {
		close(r.done)
		if r.text == "2" {
			return
		}
	}
}
