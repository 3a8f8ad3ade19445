package pcgroups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a retry of our own held up for an ack wait, as the leader of a consumer
// that was just made is new.
func TestOwnNakIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &told{begin: time.Now()}
		server := &fakeLookout{log: log, led: time.Now()}
		var begun []time.Duration
		r := newRunner(func(m jetstream.Msg) {
			begun = append(begun, time.Since(log.begin))
			if len(begun) == 1 {
				_ = m.Nak()
				return
			}
			_ = m.Ack()
		}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: reignWait}, new(memory), 1)
		r.reign = server.reign
		r.deliver(redelivered(log, 1, 1))
		r.deliver(redelivered(log, 1, 2))
		if len(begun) != 2 || begun[1] > time.Second {
			t.Errorf("begun at %v", begun)
		}
	})
}

// Prevents: a message started here after a second change of leader, by which it went
// to another instance.
func TestHeldMessageIsNotStartedWithoutThePin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server, log, begun := heldRunner(t)
		const ledAt = 3 * time.Second
		time.AfterFunc(3*time.Second, func() { // the next leader; the pin is lost
			server.set(func() { server.led = time.Now() })
			r.lost("p1")
		})
		r.deliver(redelivered(log, 2, 2))
		if len(*begun) > 0 {
			t.Errorf("begun at %v without a pin, %v after the second leader came (AckWait %v)", *begun, (*begun)[0]-ledAt, reignWait)
		}
	})
}

// farLookout is a server that is far away.
type farLookout struct{ *fakeLookout }

func (f *farLookout) gone(ctx context.Context, seq uint64) (bool, error) {
	select {
	case <-time.After(10 * time.Millisecond): // RTT
		return f.fakeLookout.gone(ctx, seq)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Prevents: messages that another instance has acknowledged handled again, as there
// are too many of them to ask for each in one look.
func TestManySettledElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := map[uint64]bool{}
		c := jetstream.ConsumerConfig{AckWait: reignWait, MaxAckPending: 1000, AckPolicy: jetstream.AckExplicitPolicy}
		log := &told{begin: time.Now()}
		server := &farLookout{&fakeLookout{log: log, heads: map[int]uint64{}, missing: map[uint64]bool{}}}
		r := newRunner(func(m jetstream.Msg) {
			_, seq := replyInfo(m.Reply())
			begun[seq] = true
			_ = m.Ack()
		}, c, new(memory), 1)
		ended := make(chan struct{})
		go func() { r.par.tend(server); close(ended) }()
		server.led, server.inFlight, server.delivered = time.Now(), 401, 400
		for seq := range uint64(400) {
			r.deliver(&fakeMsg{log: log, partition: int(seq % 16), seq: seq + 1, deliveries: 2, pin: "p1"})
		}
		<-time.After(time.Second)
		server.set(func() {
			server.inFlight = 1
			for seq := range uint64(400) {
				server.missing[seq+1] = seq > 0
			}
		})
		<-time.After(20 * time.Second)
		r.close()
		<-ended
		if len(begun) > 1 {
			t.Errorf("%d of 399 that were acknowledged elsewhere are handled again", len(begun)-1)
		}
	})
}

// Prevents: a message at its last delivery that is never run, as a handler of another
// partition is overdue when its pull ends.
func TestStepDownRunsLastDeliveries(t *testing.T) {
	for _, hang := range []bool{false, true} {
		t.Run(map[bool]string{false: "nobody late", true: "one late"}[hang], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order sequence
				back := make(chan struct{})
				const wait = 2 * time.Second
				b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100, MaxDeliver: 2}, 2, func(m jetstream.Msg) {
					switch order.add(m) {
					case 1:
						_ = m.Nak()
						return
					case 9:
						if hang {
							<-back
						}
					}
					_ = m.Ack()
				})
				b.open()
				b.server.set(func() { b.server.inFlight, b.server.delivered = 3, 9 })
				b.deliver(1, 9, 1)
				synctest.Wait()
				<-time.After(wait + 100*time.Millisecond) // it is overdue
				b.deliver(0, 1, 1)
				synctest.Wait()
				b.deliver(0, 2, 2)
				synctest.Wait()
				time.AfterFunc(300*time.Millisecond, func() { close(back) })

				over := make(chan struct{})
				time.AfterFunc(20*wait, func() { close(over) }) // the client takes its time
				b.r.shut(intakeGiveBack)
				go b.r.drain(pullOf(over), actDrain{unstarted: intakeGiveBack}, func(event) {}, nil)
				<-time.After(10 * wait)
				if left := b.r.held(); hang == (left > 0) {
					t.Errorf("%d left before the client has stopped", left)
				}
				<-b.ended
				if b.r.held() > 0 {
					t.Error("2 came at its last delivery and is never run")
				}
			})
		})
	}
}

// Prevents: a server that is asked twenty times a second by every member, for an ack
// wait after it has just lost another.
func TestHoldAsksSeldom(t *testing.T) {
	t.Run("one in flight", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const wait = 10 * time.Minute
			r, server, log, begun := heldRunner(t)
			r.config.AckWait = wait
			asked := 0
			r.reign = func(ctx context.Context) (reign, error) { asked++; return server.reign(ctx) }
			r.deliver(redelivered(log, 2, 2))
			if most := int(wait/holdMost) + 5; asked > most || len(*begun) != 1 || (*begun)[0] != wait {
				t.Errorf("asked %d times, not %d, begun at %v", asked, most, *begun)
			}
		})
	})
	t.Run("many in flight", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, jetstream.ConsumerConfig{AckWait: reignWait, MaxAckPending: 10}, 1, func(m jetstream.Msg) { _ = m.Ack() })
			defer b.close()
			b.r.reign = b.server.reign
			b.server.set(func() { b.server.led, b.server.inFlight, b.server.delivered = time.Now(), 1, 1 })
			b.deliver(1, 1, 2)
			b.until(func() bool { return b.r.held() == 0 })
			if n, took := len(b.log.of("flight", 0)), time.Since(b.log.begin); n > 15 || took < reignWait || took > reignWait+100*time.Millisecond {
				t.Errorf("asked %d times, begun after %v", n, took)
			}
		})
	})
}

// Prevents: a message begun while another instance extends its deadline, as that is
// held for an ack wait only; and one that is left alone at the cost of a delivery.
func TestWhatMayBeRenewedIsLeftAlone(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, _, log, begun := heldRunner(t)
			r.keepAlive = time.Hour
			if limited {
				r.config.MaxDeliver = 5
			}
			r.deliver(redelivered(log, 2, 2))
			if left := time.Since(log.begin) == 0 && len(*begun) == 0 && len(log.list) == 0; left == limited {
				t.Errorf("begun at %v, said %v", *begun, log.list)
			}
			if limited {
				return
			}
			<-time.After(reignWait)
			r.deliver(redelivered(log, 2, 3))
			if len(*begun) != 1 || (*begun)[0] != reignWait {
				t.Errorf("begun at %v", *begun)
			}
		})
	}
}

// Prevents: a message begun while another instance is at it, as a server that was
// restarted gives it out up to a second before it was stored for an ack wait.
func TestStoredTimesLoseTheirFraction(t *testing.T) {
	stored := time.Unix(1700, int64(900*time.Millisecond))
	for after, early := range map[time.Duration]bool{reignWait - time.Second: false, reignWait - 900*time.Millisecond: true, reignWait: true} {
		r := reign{now: stored.Add(after)}
		if got := r.tooEarly(stored.UnixNano(), reignWait); got > 0 != early {
			t.Errorf("%v after it was stored: %v", after, got)
		}
	}
}
