package pcgroups

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a consumer without a limit to its messages in flight that stands still
// for ever, as there is room for no more and all that is kept waits for a message
// that has to come again: the delivery that brings it must not wait for room, nor
// be thrown away for the want of it, each time it comes.
func TestRoomForWhatOthersWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acked atomic.Int64
		b := newBench(t, jetstream.ConsumerConfig{AckWait: 30 * time.Second, MaxAckPending: -1}, 2, func(m jetstream.Msg) {
			if msg := m.(*Msg); msg.seq <= 2 && deliveries(msg) == 1 {
				_ = m.Nak()
				return
			}
			acked.Add(1)
			_ = m.Ack()
		})
		b.open()
		b.deliver(0, 1, 1)
		b.deliver(1, 2, 1)
		b.until(func() bool { return len(b.log.of("nak", 0)) == 2 })
		for seq := uint64(3); seq < 3+2*unlimited; seq++ {
			b.deliver(int(seq)%2, seq, 1) // more than there is room for
		}
		if n := b.r.held(); n > unlimited {
			t.Fatalf("%d are kept", n)
		}
		b.deliver(0, 1, 2)
		b.deliver(1, 2, 2)
		b.until(func() bool { return acked.Load() == unlimited+2 })
		// What there was no room for comes again.
		for seq := uint64(3); seq < 3+2*unlimited; seq++ {
			b.deliver(int(seq)%2, seq, 2)
		}
		b.until(func() bool { return acked.Load() == 2*unlimited+2 })
		b.close()
	})
}

// Prevents: what is kept growing with what the server delivers, as a slow handler
// does not hold up the deliveries.
func TestDeliveriesWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acked atomic.Int64
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Hour, MaxAckPending: -1}, 1, func(m jetstream.Msg) {
			<-time.After(10 * time.Millisecond)
			acked.Add(1)
			_ = m.Ack()
		})
		b.open()
		all := make(chan struct{})
		go func() {
			defer close(all)
			for seq := range uint64(3 * unlimited) {
				b.deliver(int(seq%2), seq+1, 1)
			}
		}()
		for done := false; !done; {
			select {
			case <-all:
				done = true
			case <-time.After(time.Millisecond):
			}
			if n := b.r.held(); n > unlimited+2 {
				t.Fatalf("%d are kept", n)
			}
		}
		b.until(func() bool { return acked.Load() == 3*unlimited })
		b.close()
	})
}

// Prevents: a delivery that waits for room holding up the end of its pull.
func TestStopWhileADeliveryWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Hour, MaxAckPending: -1}, 1, func(m jetstream.Msg) { <-hold })
		b.open()
		all := make(chan struct{})
		go func() {
			defer close(all)
			for seq := range uint64(2 * unlimited) {
				b.deliver(0, seq+1, 1)
			}
		}()
		<-time.After(time.Second)
		b.r.shut(intakeGiveBack)
		<-all
		if n := len(b.log.of("nak", 0)); n != 2*unlimited-1 {
			t.Errorf("%d were given back", n)
		}
		close(hold)
		synctest.Wait()
		b.close()
	})
}
