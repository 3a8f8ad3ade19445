package pcgroups

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const hereWait = 8 * time.Second

// warmBench is a bench whose handler has been quick a hundred times in a row, with
// one partition for each message. From message 101 on handle is called.
func warmBench(t *testing.T, c jetstream.ConsumerConfig, concurrency int, handle func(seq uint64)) *bench {
	t.Helper()
	c.AckWait, c.MaxAckPending = hereWait, 200
	all := make(chan struct{})
	b := newBench(t, c, concurrency, func(m jetstream.Msg) {
		<-all
		if _, seq := replyInfo(m.Reply()); seq > 100 {
			handle(seq)
		}
		_ = m.Ack()
	})
	b.open()
	for seq := range uint64(100) {
		b.deliver(int(seq), seq+1, 1)
	}
	close(all)
	b.until(func() bool { return len(b.log.of("ack", 0)) == 100 && !b.r.working() })
	return b
}

// heldUp tells whether a delivery is kept waiting by a handler that does not return.
func heldUp(t *testing.T, c jetstream.ConsumerConfig, concurrency int) (held bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := warmBench(t, c, concurrency, func(uint64) { <-hold })
		var back atomic.Bool
		go func() {
			b.deliver(0, 101, 1)
			back.Store(true)
		}()
		synctest.Wait()
		held = !back.Load()
		close(hold)
		b.until(func() bool { return len(b.log.of("ack", 0)) == 101 })
		b.close()
	})
	return held
}

// Prevents: a hand-over to another goroutine for each message, which is most of what
// many in flight cost; and a client kept from its messages although others of them
// could be handled meanwhile, or could go lost with their last delivery.
func TestWhoRunsAQuickHandler(t *testing.T) {
	for _, c := range []struct{ concurrency, maxDeliver, want int }{{1, -1, 1}, {2, -1, 0}, {1, 3, 0}} {
		t.Run(fmt.Sprintf("concurrency %d, MaxDeliver %d", c.concurrency, c.maxDeliver), func(t *testing.T) {
			if held := heldUp(t, jetstream.ConsumerConfig{MaxDeliver: c.maxDeliver}, c.concurrency); held != (c.want == 1) {
				t.Errorf("the client runs it: %t", held)
			}
		})
	}
}

// Prevents: a message begun that another instance has, or may get at any moment, as
// the client kept it while it ran a handler that was slow for once; and the client kept
// from its messages by the next one, too.
func TestMessagesKeptByASlowHandler(t *testing.T) {
	for _, took := range []time.Duration{hereWait / 4, 2 * hereWait} {
		t.Run(took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold, all := make(chan struct{}), make(chan struct{})
				b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(seq uint64) {
					switch {
					case seq == 101:
						<-time.After(took)
					case seq > 200:
						<-hold
					case seq > 102:
						<-all
					}
				})
				b.deliver(0, 101, 1)
				b.deliver(1, 102, 1)
				synctest.Wait()
				old := took > hereWait
				if begun := len(b.log.of("ack", 102)) == 1; begun == old {
					t.Errorf("what may have come %v ago was begun: %t", took, begun)
				}
				if renewed := len(b.log.of("progress", 102)) == 1; renewed == old {
					t.Errorf("what may have come %v ago was renewed: %t", took, renewed)
				}
				<-time.After(hereWait / 8)
				b.deliver(1, 102, 2)
				b.until(func() bool { return len(b.log.of("ack", 102)) > 0 })
				for seq := uint64(103); seq <= 200; seq++ {
					b.deliver(int(seq), seq, 1)
				}
				close(all) // all of them are quick
				b.until(func() bool { return len(b.log.of("ack", 200)) == 1 && !b.r.working() })
				b.deliver(2, 201, 1) // returns although its handler does not
				close(hold)
				b.until(func() bool { return len(b.log.of("ack", 201)) == 1 })
				b.close()
			})
		})
	}
}

// Prevents: another instance's message taken from it by a Nak of a session that stops,
// behind a handler that was slow for once.
func TestKeptMessagesAreGivenBackInTime(t *testing.T) {
	for _, took := range []time.Duration{hereWait / 4, 2 * hereWait} {
		t.Run(took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *bench
				b = warmBench(t, jetstream.ConsumerConfig{}, 1, func(uint64) {
					<-time.After(took)
					b.r.shut(intakeGiveBack)
				})
				b.deliver(0, 101, 1)
				b.deliver(1, 102, 1)
				if given := len(b.log.of("nak", 102)) == 1; given != (took < hereWait) {
					t.Errorf("what may have come %v ago was given back: %t", took, given)
				}
				b.close()
			})
		})
	}
}

// Prevents: a session whose client never delivers anything any more, nor ends.
func TestHandlerEndsTheGoroutineThatDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(uint64) { runtime.Goexit() })
		go b.deliver(0, 101, 1)
		<-b.r.exited
		ev := <-b.events
		for _, pinned := ev.(evPinned); pinned; _, pinned = ev.(evPinned) {
			ev = <-b.events
		}
		if failed, ok := ev.(evHandlerFailed); !ok || failed.err != errExited { //nolint:errorlint // the very one
			t.Errorf("told %v", ev)
		}
		b.close()
	})
}
