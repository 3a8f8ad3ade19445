package pcgroups

import (
	"errors"
	"runtime"
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

// Prevents: a message begun beside another instance that is at it, as a new leader
// gave it out too early to one that had it in hand before and then lost the pin.
func TestTooEarlyAlthoughInHandBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 6 * time.Second
		var begun atomic.Int32
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 2, func(jetstream.Msg) { begun.Add(1) })
		b.open()
		b.deliver(0, 1, 1)
		<-time.After(2 * wait)
		b.r.unpinned() // another instance gets it, delivery 2
		<-time.After(time.Second)
		b.server.set(func() { b.server.led, b.server.inFlight, b.server.delivered = time.Now(), 1, 1 })
		b.r.deliver(&fakeMsg{log: b.log, partition: 0, seq: 1, deliveries: 3, pin: "p2"})
		<-time.After(wait / 2)
		if n := begun.Load(); n != 1 {
			t.Errorf("begun %d times, while another instance may be at it", n)
		}
		b.close()
	})
}

// Prevents: a message begun beside another instance that is at it, as it came while
// the server was asked about others: what comes then was counted as known, or offered
// as the next of its partition.
func TestTooEarlyWhileLookingAtOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 6 * time.Second
		var begun atomic.Int32
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 2, func(jetstream.Msg) { begun.Add(1) })
		b.server.set(func() {
			b.server.inFlight, b.server.delivered, b.server.led, b.server.heads[0] = 9, 9, time.Now(), 3
			b.server.asked = func(n int) {
				if n == 6 { // stored long ago
					b.r.deliver(&fakeMsg{log: b.log, partition: 0, seq: 3, deliveries: 2, pin: "p1"})
				}
			}
		})
		b.r.deliver(&fakeMsg{log: b.log, partition: 1, seq: 5, deliveries: 2, pin: "p1", stored: time.Now()})
		<-time.After(wait / 2)
		if n := begun.Load(); n != 0 {
			t.Errorf("begun %d times, while another instance may be at it", n)
		}
		b.close()
	})
}

// Prevents: a handler that ends its goroutine, as a test's FailNow does, ending the
// process with it, or taking its worker and its partition with it unseen.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Second, MaxAckPending: 100}, 2, func(jetstream.Msg) { runtime.Goexit() })
		b.open()
		b.deliver(0, 1, 1)
		synctest.Wait()
		if b.r.working() || len(b.r.running()) > 0 {
			t.Error("its worker is still counted")
		}
		failed := false
		for range len(b.events) {
			ev, is := (<-b.events).(evHandlerFailed)
			failed = failed || is && errors.Is(ev.err, errExited)
		}
		if !failed {
			t.Error("the session is not told")
		}
		b.close()
	})
}
