package pcgroups

import (
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
func (b *bench) heldUp(m *fakeMsg, hold chan struct{}) bool {
	b.t.Helper()
	var back atomic.Bool
	m.log, m.deliveries, m.pin = b.log, 1, "p1"
	go func() {
		b.r.deliver(m)
		back.Store(true)
	}()
	synctest.Wait()
	held := !back.Load()
	close(hold)
	b.until(func() bool { return len(b.log.of("ack", m.seq)) == 1 })
	return held
}

// Prevents: a hand-over to another goroutine for each message, which is most of what
// many in flight cost; and a client kept from its messages although others of them
// could be handled meanwhile, although nobody renews them then as they have to be, or
// although it has no room for all that is on its way.
func TestWhoRunsAQuickHandler(t *testing.T) {
	for name, c := range map[string]struct {
		concurrency, maxDeliver, size int
		keepAlive                     time.Duration
		here                          bool
	}{
		"one at a time":       {concurrency: 1, here: true},
		"two at a time":       {concurrency: 2},
		"limited deliveries":  {concurrency: 1, maxDeliver: 3},
		"big messages":        {concurrency: 1, size: big},
		"handlers kept alive": {concurrency: 1, keepAlive: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold := make(chan struct{})
				b := warmBench(t, jetstream.ConsumerConfig{MaxDeliver: c.maxDeliver}, c.concurrency, func(uint64) { <-hold })
				b.r.keepAlive = c.keepAlive
				if here := b.heldUp(&fakeMsg{seq: 101, size: c.size}, hold); here != c.here {
					t.Errorf("the client runs it: %t", here)
				}
				b.close()
			})
		})
	}
}

// Prevents: the client kept from its messages by one handler after the other, as they
// were quick once.
func TestSlowerHandlersAreTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(seq uint64) {
			switch seq {
			case 101:
				<-time.After(2 * quickMost)
			case 102:
				<-hold
			}
		})
		b.deliver(0, 101, 1)
		if b.heldUp(&fakeMsg{seq: 102}, hold) {
			t.Error("the client runs the next one")
		}
		b.close()
	})
}

// Prevents: much of what the client has delivered again and again, as nothing renews
// it behind a handler that is long now and then.
func TestLongHandlersAreNeverTheClients(t *testing.T) {
	for _, took := range []time.Duration{hereWait / 2 / slack, 2 * hereWait / slack} {
		t.Run(took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold, all := make(chan struct{}), make(chan struct{})
				b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(seq uint64) {
					switch seq {
					case 101:
						<-time.After(took)
					case 201:
						<-hold
					default:
						<-all
					}
				})
				b.deliver(0, 101, 1)
				b.r.par.behind = behind{} // as if a thousand had been delivered since
				for seq := uint64(102); seq <= 200; seq++ {
					b.deliver(int(seq), seq, 1)
				}
				close(all)
				b.until(func() bool { return len(b.log.of("ack", 200)) == 1 && !b.r.working() })
				if here, long := b.heldUp(&fakeMsg{seq: 201}, hold), took > hereWait/slack; here == long {
					t.Errorf("the client runs it after one of %v: %t", took, here)
				}
				b.close()
			})
		})
	}
}

// Prevents: a message that waits for its turn begun by the client, as if it had come
// just now.
func TestOthersThatWaitAreTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(uint64) { <-hold })
		x := b.r.par
		x.mu.Lock()
		x.log.arrive(7, 101, 1, &fakeMsg{log: b.log, partition: 7, seq: 101}, time.Now().Add(hereWait).UnixNano())
		x.mu.Unlock()
		if b.heldUp(&fakeMsg{partition: 8, seq: 102}, hold) {
			t.Error("the client runs one of two")
		}
		b.close()
	})
}

// Prevents: messages acknowledged that were never handled. Those that the client has
// no room for come again later, when others of their partition were handled already.
func TestNothingIsBegunAfterAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := warmBench(t, jetstream.ConsumerConfig{}, 1, func(uint64) {})
		deliver := func(seq, deliveries, order uint64) {
			b.r.deliver(&fakeMsg{log: b.log, partition: 3, seq: seq, deliveries: deliveries, order: order, pin: "p1"})
		}
		deliver(101, 1, 101)
		b.until(func() bool { return len(b.log.of("ack", 101)) == 1 })
		b.server.set(func() { b.server.inFlight, b.server.delivered = 2, 103 })
		deliver(103, 1, 103) // 102 was dropped
		<-time.After(hereWait / 2)
		if begun := b.log.of("ack", 103); len(begun) > 0 {
			t.Fatal("begun before the one that was dropped")
		}
		deliver(102, 2, 104)
		b.until(func() bool { return len(b.log.of("ack", 103)) == 1 })
		if acks := b.log.of("ack", 0); acks[len(acks)-2].seq != 102 {
			t.Errorf("acknowledged %v", acks[len(acks)-2:])
		}
		b.close()
	})
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
		if late := b.r.waitOver(make(chan struct{}), false); late != nil {
			t.Errorf("%d is late", late.seq)
		}
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
