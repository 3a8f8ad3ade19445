package pcgroups_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a message that was given back and is then acknowledged without having
// been handled. A session takes a redelivery for a lost acknowledgement; with
// another limit than the one it joined with, later ones are settled before it.
func TestNakIsNotLostWhenTheLimitIsChanged(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	var first, all atomic.Int64
	f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) {
		all.Add(1)
		if string(m.Data()) == "1" && first.Add(1) == 1 {
			_ = m.NakWithDelay(200 * time.Millisecond)
			return
		}
		_ = m.Ack()
	}, strict(2*time.Second))
	c, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
	must(t, err)
	raised := c.CachedInfo().Config
	raised.MaxAckPending = 2
	_, err = f.js.UpdateConsumer(f.ctx(), "ORDERS-workers", raised)
	must(t, err)
	f.publish(1, 10)
	natstest.Eventually(t, patience, func() error {
		if first.Load() < 2 {
			return fmt.Errorf("the one that was given back did not come again; %d handled", all.Load())
		}
		return nil
	})
}

// Prevents: a message handled by two at once after a server without a cluster was
// restarted: it takes the time at which the message was stored for the time of its
// delivery.
func TestServerRestartWhileAHandlerRuns(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.publish(1, 3)
	for _, wait := range []time.Duration{1500 * time.Millisecond, 50 * time.Millisecond} {
		js := f.srv.JetStream(nats.ReconnectWait(wait), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1))
		h := &moody{check: f.check, work: 3 * time.Second}
		s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", h.handler("m1"), strict(4*time.Second))
		must(t, err)
		t.Cleanup(func() { s.Stop(); <-s.Closed() })
		if wait > time.Second { // the first is to be the one that is pinned
			f.waiting("ORDERS-workers", "m1", 1)
		}
	}
	f.reach(2)
	f.srv.Restart()
	f.reach(3)
	if v := f.check.Verdict(); v.Overlapping > 0 || v.Lost > 0 || v.OutOfOrder > 0 {
		t.Fatal(v, v.Examples)
	}
}
