package pcgroups_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// inFlight waits until a consumer has an unacknowledged message.
func (f *fixture) inFlight(stream, consumer string) {
	f.t.Helper()
	natstest.Eventually(f.t, patience, func() error {
		if f.consumer(stream, consumer).NumAckPending == 0 {
			return errors.New("nothing was started")
		}
		return nil
	})
}

// elsewhere joins as an instance of m1 over a connection that goes through a
// proxy.
func (f *fixture) elsewhere(h func(jetstream.Msg), c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) (pcgroups.Session, *natstest.Proxy) {
	f.t.Helper()
	proxy := natstest.StartProxy(f.t, f.srv.URL())
	nc := f.srv.ConnectVia(proxy, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	js, err := jetstream.New(nc)
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", h, c, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Stop(); nc.Close(); <-s.Closed() })
	return s, proxy
}

// quick fails if what was done since begun took the time of a time-out rather
// than that of a hand-over.
func quick(t *testing.T, what string, begun time.Time) {
	t.Helper()
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("%s took %v", what, took)
	}
}

// Prevents: a standby that deletes the consumer while the other instance's handler
// runs. The pin may be gone by then, by a step-down for one, and nobody is pinned
// again before that handler has acknowledged.
func TestStandbyWaitsForUnpinnedHandler(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	c := strict(10 * time.Second)
	f.member("m1", 1500*time.Millisecond, c)
	f.publish(2, 2)
	f.inFlight("ORDERS-workers", "m1")
	f.member("m1", 0, c)
	f.waiting("ORDERS-workers", "m1", 2)
	if err := pcgroups.ElasticMemberStepDown(f.ctx(), f.js, "ORDERS", "workers", "m1"); err != nil {
		t.Fatal(err)
	}
	f.member("m2", 0, c)
	if _, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
		t.Fatal(err)
	}
	f.allHandled(4)
}

// Prevents: a message that waited behind a late handler being given back when the
// server has long since given it to another instance, which then gets it twice.
func TestLateHandlerGivesNothingBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	c := strict(2 * time.Second)
	started, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	a := f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) {
		if first.CompareAndSwap(false, true) {
			_ = m.Ack() // and goes on working
			close(started)
			<-release
			return
		}
		f.handler("m1", 0)(m)
	}, c)
	if _, err := f.js.Publish(f.ctx(), "orders.k0", []byte("0")); err != nil {
		t.Fatal(err)
	}
	<-started
	f.publish(1, 1) // waits in a's client
	f.inFlight("ORDERS-workers", "m1")
	working := make(chan struct{}, 2)
	slow := f.handler("m1", time.Second)
	f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) { working <- struct{}{}; slow(m) }, c)
	<-working // b has it
	close(release)
	if err := a.WaitForConsuming(f.ctx(), true); err != nil {
		t.Fatal(err)
	}
	f.allHandled(1)
	natstest.Never(t, time.Second, func() bool { return !f.check.Verdict().OK() }, "it was handled again")
}

// Prevents: the same session handling a message again because its acknowledgement
// was lost with the connection.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	acks := natstest.Capture(t, f.srv.Connect(), "$JS.ACK.>")
	var runs atomic.Int32
	var proxy *natstest.Proxy
	cut := make(chan struct{})
	_, proxy = f.elsewhere(func(m jetstream.Msg) {
		runs.Add(1)
		if m.Ack() == nil {
			close(cut)
		}
	}, strict(2*time.Second))
	proxy.Delay(200 * time.Millisecond)
	f.publish(1, 1)
	<-cut
	natstest.Never(t, 20*time.Millisecond, func() bool { return len(acks.Requests("$JS.ACK")) > 0 }, "the acknowledgement was too fast for the test")
	proxy.Cut()
	proxy.Delay(0)
	proxy.Heal()
	acks.WaitFor(patience, func(r []natstest.Request) bool {
		for _, req := range r {
			if string(req.Data) == "+ACK" {
				return true
			}
		}
		return false
	})
	if n := runs.Load(); n != 1 {
		t.Errorf("handled %d times", n)
	}
}

// Prevents: a handler that is kept alive for ever although it is cut off and its
// message was handled elsewhere.
func TestKeepAliveEndsWhenCutOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	begun, cancelled, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	_, proxy := f.elsewhere(pcgroups.HandlerFunc(func(ctx context.Context, _ *pcgroups.Msg) error {
		close(begun)
		select {
		case <-ctx.Done():
			close(cancelled)
		case <-release:
		}
		return nil
	}), strict(2*time.Second), pcgroups.WithKeepAlive(time.Minute))
	defer close(release)
	f.publish(1, 1)
	<-begun
	proxy.Cut()
	f.member("m1", 0, strict(2*time.Second))
	f.allHandled(1)
	select {
	case <-cancelled:
	case <-time.After(patience):
		t.Fatal("its context never ends")
	}
}

// Prevents: a deadline that is always that of the first delivery, so that with a
// growing BackOff no delivery gets the time that the server gives it, and the
// message is given up at MaxDeliver.
func TestDeadlineFollowsBackOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	c := strict(500 * time.Millisecond)
	c.BackOff = []time.Duration{500 * time.Millisecond, 20 * time.Second}
	c.MaxDeliver = 5
	done := make(chan uint64, 3)
	f.join(pcgroups.ElasticConsume, "m1", pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(1500 * time.Millisecond):
			done <- meta.NumDelivered
			return m.Ack()
		}
	}), c)
	f.publish(1, 1)
	select {
	case n := <-done:
		// On a busy machine the second may be given back behind the first.
		if n < 2 {
			t.Errorf("delivery %d was handled", n)
		}
	case <-time.After(patience):
		t.Error("no delivery got the time it has")
	}
}

// Prevents: the pin going unnoticed when the first message of a new consumer
// arrives in the middle of a hand-over. The consumer is then taken for another
// instance's and stays until AckWait, for the old owner and the new.
func TestFirstMessageDuringHandover(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	c := strict(8 * time.Second)
	warm := f.member("m1", 0, c) // gets the sourcing going
	f.publish(4, 1)
	f.allHandled(4)
	warm.Stop()
	if err := waitDone(t, warm); err != nil {
		t.Fatal(err)
	}
	_, proxy := f.elsewhere(f.handler("m1", 0), c)
	f.waiting("ORDERS-workers", "m1", 1)
	f.member("m2", 0, c)
	proxy.Delay(50 * time.Millisecond)
	begun := time.Now()
	if _, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
		t.Fatal(err)
	}
	f.publish(4, 1)
	f.allHandled(8)
	quick(t, "the hand-over", begun)
}

// Prevents: a member that is dropped and stopped at once, as in a scale-down,
// leaving its consumer behind, for which the new owner then waits.
func TestScaleDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1", "m2")
	c := strict(15 * time.Second)
	f.member("m1", 0, c)
	m2 := f.member("m2", 300*time.Millisecond, c)
	f.publish(6, 2)
	f.inFlight("ORDERS-workers", "m2")
	if _, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
		t.Fatal(err)
	}
	m2.Stop()
	begun := time.Now()
	f.allHandled(12)
	quick(t, "the scale-down", begun)
}

// Prevents: membership that changes again before the last change is through
// leaving a member without its consumer for a time-out.
func TestRapidMembershipChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	s, proxy := f.elsewhere(f.handler("m1", 0), strict(8*time.Second))
	proxy.Delay(2 * time.Millisecond)
	publishing := make(chan struct{})
	go func() {
		defer close(publishing)
		for i := range 400 {
			_, _ = f.js.Publish(context.Background(), "orders.x"+string(rune('a'+i%4)), []byte("1"))
		}
	}()
	for range 60 {
		begun := time.Now()
		for _, change := range []func(context.Context, jetstream.JetStream, string, string, []string, ...pcgroups.WriteOption) ([]string, error){pcgroups.AddMembers, pcgroups.DeleteMembers} {
			if _, err := change(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
				t.Fatal(err)
			}
		}
		natstest.Eventually(t, patience, func() error {
			if st := s.Status(); !st.Consuming || len(st.Partitions) != 2 {
				return errors.New("not consuming")
			}
			return nil
		})
		quick(t, "coming back", begun)
	}
	<-publishing
}
