package pcgroups_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a Stop that hangs, panics or is lost when it is called from the
// handler, twice, by many, or by a deferred function after the end; and a Done
// that blocks its second reader, as the oracle's does.
func TestStopAnyhow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	var s pcgroups.Session
	started := make(chan struct{})
	joined := make(chan struct{})
	s = f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) {
		<-joined
		s.Stop()
		s.Stop()
		_ = m.Ack()
		close(started)
	}, strict(0))
	close(joined)
	f.publish(1, 1)
	<-started
	if err := waitDone(t, s); err != nil {
		t.Fatal(err)
	}
	if _, more := <-s.Done(); more {
		t.Error("Done delivered twice")
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(s.Stop)
	}
	all.Wait()
	if err := s.WaitForConsuming(f.ctx(), true); !errors.Is(err, pcgroups.ErrSessionEnded) {
		t.Errorf("waiting on an ended session: %v", err)
	}
}

// Prevents: the context of the call ending the session (the oracle's elastic
// member stops, its static one spins a core).
func TestContextBoundsTheJoinOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	ctx, cancel := context.WithCancel(context.Background())
	s, err := pcgroups.ElasticConsume(ctx, f.js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Stop(); <-s.Closed() }()
	cancel()
	f.publish(4, 5)
	f.allHandled(20)
	if _, err := pcgroups.ElasticConsume(ctx, f.js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("joining with a cancelled context: %v", err)
	}
}

// Prevents: a failing handler whose message comes back for ever, and a failure
// that nobody hears of.
func TestHandlerFailureEndsTheSession(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	handlers := map[string]func(jetstream.Msg){
		"error": pcgroups.AutoAck(func(context.Context, *pcgroups.Msg) error { return boom }),
		"panic": func(jetstream.Msg) { panic(boom) },
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.elastic(2, "m1")
			s := f.join(pcgroups.ElasticConsume, "m1", h, strict(30*time.Second))
			f.publish(1, 2)
			err := waitDone(t, s)
			if !errors.Is(err, pcgroups.ErrHandler) || !errors.Is(err, boom) {
				t.Fatalf("got %v", err)
			}
			info := f.consumer("ORDERS-workers", "m1")
			if info.NumAckPending != 1 || info.Delivered.Consumer != 1 {
				t.Errorf("%d pending, %d delivered; the message should stay unacknowledged and be delivered once", info.NumAckPending, info.Delivered.Consumer)
			}
		})
	}
}

// Prevents: a Stop that waits for a handler that never returns.
func TestStopUnderHungHandler(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	started, release := make(chan struct{}), make(chan struct{})
	s := f.join(pcgroups.ElasticConsume, "m1", func(jetstream.Msg) { close(started); <-release }, strict(time.Second))
	defer close(release)
	f.publish(1, 1)
	<-started
	s.Stop()
	if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrHandlerTimeout) {
		t.Fatalf("got %v", err)
	}
}

// Prevents: a session that hangs or spins when its connection is closed.
func TestConnectionClosed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	nc := f.srv.Connect()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(0))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrConnectionClosed) {
		t.Fatalf("got %v", err)
	}
}

// Prevents: what the oracle leaves behind on every Stop: a subscription, a
// consumer on the bucket's stream and four goroutines (goleak watches those).
func TestJoinAndStopLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	f.member("m1", 0, strict(0)) // keeps the consumer
	before := f.js.Conn().NumSubscriptions()
	for range 30 {
		s := f.member("m1", 0, strict(0))
		s.Stop()
		if err := waitDone(t, s); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, patience, func() error {
		if n := f.js.Conn().NumSubscriptions(); n > before {
			return errors.New("subscriptions were left behind")
		}
		return nil
	})
	natstest.Eventually(t, patience, func() error {
		kv, err := f.js.Stream(f.ctx(), "KV_"+pcgroups.ElasticBucket)
		if err != nil {
			return err
		}
		if n := kv.CachedInfo().State.Consumers; n > 1 {
			return errors.New("consumers of the bucket were left behind")
		}
		return nil
	})
}

// consumer returns what the server knows of a consumer.
func (f *fixture) consumer(stream, name string) *jetstream.ConsumerInfo {
	f.t.Helper()
	c, err := f.js.Consumer(f.ctx(), stream, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return c.CachedInfo()
}
