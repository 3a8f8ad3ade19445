package pcgroups

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a message that waits for its turn behind a slow handler taken back by
// the server, handled by another instance and then here.
func TestRenewalsAreInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 6 * time.Second
		hold := make(chan struct{})
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 1, func(m jetstream.Msg) {
			<-hold
			_ = m.Ack()
		})
		b.open()
		begin := time.Since(b.log.begin)
		b.deliver(0, 1, 1)
		b.deliver(0, 2, 1)
		<-time.After(10 * wait)
		synctest.Wait()
		last, list := begin, b.log.of("progress", 2)
		if len(list) == 0 {
			t.Fatal("nothing was renewed")
		}
		for _, s := range append(list, saying{at: time.Since(b.log.begin)}) {
			if left := wait - (s.at - last); left < wait/3 {
				t.Errorf("renewed %v after the last time, %v before the deadline", s.at-last, left)
			}
			last = s.at
		}
		if n := len(list); n > 40 {
			t.Errorf("renewed %d times in ten ack waits", n)
		}
		if n := len(b.log.of("progress", 1)); n != 0 {
			t.Errorf("a running handler's message was renewed %d times", n)
		}
		close(hold)
		b.until(func() bool { return len(b.log.of("ack", 0)) == 2 })
		b.close()
	})
}

// Prevents: a server that does not answer questions about other messages keeping
// those that wait from being renewed.
func TestRenewalsDoNotWaitForOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = time.Second
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 4, func(jetstream.Msg) {})
		b.open()
		for p := range 4 {
			b.deliver(p, uint64(2*p+1), 1)
		}
		for p := range 4 {
			b.deliver(p, uint64(2*p+2), 1) // waits for the one left unacknowledged
		}
		b.server.set(func() { b.server.hangs = true })
		<-time.After(20 * wait)
		for _, seq := range []uint64{2, 4, 6, 8} {
			last := time.Duration(0)
			for _, s := range b.log.of("progress", seq) {
				if s.at-last > wait {
					t.Errorf("message %d was not renewed from %v to %v", seq, last, s.at)
				}
				last = s.at
			}
			if time.Since(b.log.begin)-last > wait {
				t.Errorf("message %d was not renewed after %v", seq, last)
			}
		}
		b.close()
	})
}

// Prevents: a fence that stays closed although nothing is in flight elsewhere, or
// that asks the server without a pause while something is.
func TestFenceIsProbedWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Bool
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Minute, MaxAckPending: 100}, 1, func(m jetstream.Msg) {
			ran.Store(true)
			_ = m.Ack()
		})
		b.server.set(func() { b.server.inFlight, b.server.delivered = 2, 2 })
		b.deliver(0, 2, 1) // 1 is another instance's
		<-time.After(10 * time.Second)
		synctest.Wait()
		if ran.Load() {
			t.Fatal("started although another instance has an earlier message")
		}
		asked := b.log.of("flight", 0)
		if len(asked) < 20 || asked[0].at != 0 {
			t.Fatal("asked ", asked)
		}
		for i, s := range asked[1:] {
			pause := s.at - asked[i].at
			if pause < probeFirst || pause > probeMost {
				t.Errorf("asked again after %v", pause)
			}
			if want := min(probeFirst<<i, probePatience); i < 3 && pause != want {
				t.Errorf("pause %d is %v, want %v", i, pause, want)
			}
		}
		if n := len(asked); n > int(10*time.Second/probeMost)+10 {
			t.Errorf("asked %d times in 10 s", n)
		}
		b.server.set(func() { b.server.inFlight = 1 })
		begin := time.Now()
		b.until(ran.Load)
		if d := time.Since(begin); d > probeMost+time.Millisecond {
			t.Errorf("started only %v after the other instance was done", d)
		}
		b.close()
	})
}

// Prevents: all partitions waiting for another instance's handler of one.
func TestFirstOfItsPartitionStartsInSpiteOfTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan uint64, 10)
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Minute, MaxAckPending: 100}, 2, func(m jetstream.Msg) {
			ran <- m.(*Msg).seq
			_ = m.Ack()
		})
		b.server.set(func() {
			b.server.inFlight, b.server.delivered = 3, 3
			b.server.heads[0], b.server.heads[1] = 1, 3
		})
		b.deliver(0, 2, 1) // 1, of the same partition, is another instance's
		b.deliver(1, 3, 1)
		if seq := <-ran; seq != 3 {
			t.Fatalf("%d ran", seq)
		}
		<-time.After(5 * time.Second)
		b.server.set(func() { b.server.inFlight, b.server.heads[0] = 1, 2 })
		if seq := <-ran; seq != 2 {
			t.Fatalf("%d ran", seq)
		}
		b.close()
	})
}

// Prevents: a partition that is held for ever by a message acknowledged past the
// session or removed from the stream; and one let go before the server was to
// deliver its message again.
func TestHoldsAreVerified(t *testing.T) {
	tests := []struct {
		name string
		over func(f *fakeLookout)
	}{
		{"acknowledged", func(f *fakeLookout) { f.floor = 1 }},
		{"removed", func(f *fakeLookout) { f.missing[1] = true }},
		{"not in flight", func(f *fakeLookout) { f.inFlight = 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const wait = 4 * time.Second
				ran := make(chan time.Duration, 10)
				var b *bench
				b = newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 1, func(m jetstream.Msg) {
					ran <- time.Since(b.log.begin)
					if m.(*Msg).seq == 2 {
						_ = m.Ack()
					}
				})
				b.open()
				b.server.set(func() { b.server.inFlight, b.server.delivered = 2, 2 })
				b.deliver(0, 1, 1)
				b.deliver(0, 2, 1)
				began := <-ran
				<-time.After(5 * wait)
				if len(ran) > 0 {
					t.Fatal("let go although the server waits for it")
				}
				asked := slices.DeleteFunc(b.log.of("flight", 0), func(s saying) bool { return s.at <= began })
				if asked[0].at < began+wait {
					t.Errorf("asked after %v already", asked[0].at-began)
				}
				b.server.set(func() { tt.over(b.server) })
				if d := <-ran - began; d > 8*wait {
					t.Errorf("let go only after %v", d)
				}
				b.close()
			})
		})
	}
}

// Prevents: a handler whose message waited for its turn being taken for overdue
// before it has had its ack wait; and, with the deadline not yet set when it is
// looked at, before it has begun.
func TestHandlerGetsItsWholeAckWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 6 * time.Second
		ended := make(chan time.Duration, 10)
		b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100}, 1, func(m jetstream.Msg) {
			begin := time.Now()
			select {
			case <-m.(*Msg).Done():
			case <-time.After(wait - time.Second):
			}
			ended <- time.Since(begin)
			_ = m.Ack()
		})
		go b.r.keep(func(time.Duration, string) bool { return true })
		b.open()
		for seq := range uint64(5) {
			b.deliver(0, seq+1, 1)
		}
		for range 5 {
			if d := <-ended; d < wait-time.Second {
				t.Errorf("ended after %v", d)
			}
		}
		synctest.Wait()
		for len(b.events) > 0 {
			if ev, overdue := (<-b.events).(evOverdue); overdue {
				t.Errorf("%T", ev)
			}
		}
		b.close()
	})
}

// Prevents: goroutines that outlive a pull, with handlers that have returned,
// messages that wait, a request under way and a fence that is up.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it fails if one is left
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Second, MaxAckPending: -1}, 4, func(jetstream.Msg) {})
		b.open()
		for p := range 8 {
			b.deliver(p, uint64(2*p+1), 1)
			b.deliver(p, uint64(2*p+2), 1)
		}
		b.server.set(func() { b.server.hangs = true })
		b.r.par.fence()
		<-time.After(2500 * time.Millisecond)
		b.r.shut(intakeGiveBack)
		b.close()
	})
}
