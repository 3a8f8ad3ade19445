package pcgroups_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a handler that has acknowledged but not returned being taken for one
// past its deadline: Stop then reports a time-out and does not wait.
func TestStopWaitsForHandlerThatAcked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	acked, release := make(chan struct{}), make(chan struct{})
	var returned atomic.Bool
	s := f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) {
		_ = m.Ack()
		close(acked)
		<-release
		returned.Store(true)
	}, strict(10*time.Second))
	f.publish(1, 1)
	<-acked
	s.Stop()
	natstest.Never(t, 200*time.Millisecond, func() bool {
		select {
		case <-s.Closed():
			return true
		default:
			return false
		}
	}, "the session ended under its handler")
	close(release)
	if err := waitDone(t, s); err != nil || !returned.Load() {
		t.Fatalf("error %v, handler returned %v", err, returned.Load())
	}
}

// Prevents: AutoAck ending the session of a handler that did what the
// documentation says: Nak and return nil.
func TestAutoAckAfterNak(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	handled := make(chan uint64, 2)
	var n atomic.Int32
	s := f.join(pcgroups.ElasticConsume, "m1", pcgroups.AutoAck(func(_ context.Context, m *pcgroups.Msg) error {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		handled <- meta.NumDelivered
		if n.Add(1) == 1 {
			return m.Nak()
		}
		return nil
	}), strict(10*time.Second))
	f.publish(1, 1)
	if a, b := <-handled, <-handled; a != 1 || b != 2 {
		t.Errorf("deliveries %d and %d", a, b)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

// Prevents: a consumer that lost its priority group making its session ask the
// server thousands of times a second, and never consume again.
func TestConsumerLosesItsPinning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.member("m1", 0, strict(5*time.Second))
	f.waiting("ORDERS-workers", "m1", 1)
	api := natstest.Capture(t, f.srv.Connect())
	c := f.consumer("ORDERS-workers", "m1").Config
	c.PriorityGroups = []string{"other"}
	if _, err := f.js.UpdateConsumer(f.ctx(), "ORDERS-workers", c); err != nil {
		t.Fatal(err)
	}
	f.publish(1, 5)
	f.allHandled(5)
	if n := len(api.Requests("$JS.API.CONSUMER.INFO")); n > 200 { // it was thousands
		t.Errorf("%d looks at the consumer", n)
	}
}

// Prevents: a static standby that outlives its group being ended by the very
// change, because the pin holder has yet to let go of the durable.
func TestStaticRejoinStandby(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.static(2, "m1", "m2")
	c := strict(5 * time.Second)
	f.join(pcgroups.StaticConsume, "m1", f.handler("m1", time.Second), c, pcgroups.WithRejoin())
	b := f.join(pcgroups.StaticConsume, "m1", f.handler("m1", 0), c, pcgroups.WithRejoin())
	f.publish(6, 1)
	f.inFlight("ORDERS", "workers-m1")
	kv, err := f.js.KeyValue(f.ctx(), pcgroups.StaticBucket)
	if err == nil {
		_, err = kv.Put(f.ctx(), "ORDERS.workers", []byte(`{"max_members":2,"filters":["orders.*"],"members":["m1"]}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, patience, func() error {
		if b.Err() != nil {
			t.Fatal(b.Err())
		}
		if st := b.Status(); !st.Consuming || len(st.Partitions) != 2 {
			return errors.New("not consuming both partitions")
		}
		return nil
	})
}
