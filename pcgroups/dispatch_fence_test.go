package pcgroups

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: two instances that wait for each other, as the pin has moved while both
// have messages at their last delivery, going on by one message of each partition for
// several round trips. It looked like standing still, until what was to be handled
// before was taken for lost.
func TestBehindTheFenceFarFromTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, rtt = 500, 100 * time.Millisecond
		var order sequence
		b := newBench(t, jetstream.ConsumerConfig{AckWait: 5 * time.Second, MaxAckPending: 1000, MaxDeliver: 2}, 2, func(m jetstream.Msg) {
			order.add(m)
			_ = m.Ack()
		})
		b.server.set(func() { // the other has as many, of later ones
			b.server.far, b.server.inFlight, b.server.delivered, b.server.heads[0] = rtt, 2*n, 2*n, n
		})
		for seq := range uint64(n) {
			b.deliver(0, seq+1, 2)
		}
		b.until(func() bool { return order.len() == n })
		if took := time.Since(b.log.begin); took > 60*rtt {
			t.Errorf("it took %v for %d messages, %v from the server", took, n, rtt)
		}
		if !order.ascending() {
			t.Error("out of order")
		}
		b.close()
	})
}

// Prevents: the fence lifted by one answer that is lost, after it was up for an ack
// wait for good reason: another instance still has earlier messages.
func TestFenceOutlivesALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 6 * time.Second
		var begun atomic.Int32
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 2, func(m jetstream.Msg) {
			begun.Add(1)
			_ = m.Ack()
		})
		b.server.set(func() { b.server.inFlight, b.server.delivered = 2, 2 })
		b.deliver(0, 2, 1)
		<-time.After(2 * wait)
		b.server.set(func() { b.server.hangs = true })
		<-time.After(2500 * time.Millisecond) // one request's time is up
		b.server.set(func() { b.server.hangs = false })
		<-time.After(wait)
		if begun.Load() > 0 {
			t.Error("a message was begun while another instance had an earlier one")
		}
		b.server.set(func() { b.server.hangs = true })
		b.until(func() bool { return begun.Load() > 0 }) // else it would wait for ever
		b.close()
	})
}
