package pcgroups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const reignWait = 4 * time.Second // AckWait

// heldRunner is a runner with one message in flight whose consumer has had its
// leader and its pin for no time at all. It returns when a message was begun.
func heldRunner(t *testing.T) (r *runner, server *fakeLookout, log *told, begun *[]time.Duration) {
	t.Helper()
	log = &told{begin: time.Now()}
	server = &fakeLookout{log: log, led: time.Now()}
	begun = new([]time.Duration)
	r = newRunner(func(m jetstream.Msg) {
		*begun = append(*begun, time.Since(log.begin))
		_ = m.Ack()
	}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: reignWait}, new(memory), 1)
	r.reign = server.reign
	return r, server, log, begun
}

func redelivered(log *told, seq, deliveries uint64) *fakeMsg {
	return &fakeMsg{log: log, partition: 1, seq: seq, deliveries: deliveries, pin: "p1"}
}

// Prevents: beginning what a new leader has given out too early while another
// instance is at it, and holding up anything else.
func TestHoldsWhatIsDeliveredTooEarly(t *testing.T) {
	for name, c := range map[string]struct {
		times uint64
		led   time.Duration // the leader's age; 0: just elected, negative: it tells none
		first bool          // an earlier message has shown the pin an ack wait ago
		want  time.Duration
	}{
		"from a new leader":            {times: 2, want: reignWait},
		"from one elected a while ago": {times: 2, led: time.Second, want: reignWait - time.Second},
		"for the first time":           {times: 1},
		"from an old leader":           {times: 2, led: reignWait},
		"from one without others":      {times: 2, led: -1},
		"to an old pin":                {times: 2, led: reignWait, first: true, want: reignWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, server, log, begun := heldRunner(t)
				server.led = server.led.Add(-c.led)
				if c.led < 0 {
					server.led = time.Time{}
				}
				if c.first {
					r.deliver(redelivered(log, 1, 1))
					<-time.After(reignWait)
					*begun = nil
					r.reign = func(context.Context) (reign, error) { t.Error("the leader is asked"); return reign{}, nil }
				}
				r.deliver(redelivered(log, 2, c.times))
				if len(*begun) != 1 || (*begun)[0] < c.want || (*begun)[0] > c.want+2*holdLook {
					t.Errorf("begun at %v, want %v", *begun, c.want)
				}
				if c.want > 0 && !c.first && len(log.of("progress", 2)) < 2 {
					t.Errorf("more time was asked for %v: it comes again meanwhile", log.of("progress", 2))
				}
			})
		})
	}
}

// Prevents: running again what the other instance has finished meanwhile, and
// waiting longer than it does.
func TestLetsGoOfWhatIsHeld(t *testing.T) {
	t.Run("when it is settled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, server, log, begun := heldRunner(t)
			time.AfterFunc(time.Second, func() { server.set(func() { server.floor = 2 }) })
			r.deliver(redelivered(log, 2, 2))
			if took := time.Since(log.begin); len(*begun) > 0 || took > time.Second+reignWait/8 {
				t.Errorf("begun at %v, let go of after %v", *begun, took)
			}
		})
	})
	t.Run("when the session stops", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _, log, begun := heldRunner(t)
			time.AfterFunc(time.Second, func() { r.shut(intakeGiveBack); r.withdrawn() })
			r.deliver(redelivered(log, 2, 2))
			if took := time.Since(log.begin); len(*begun) > 0 || len(log.of("nak", 2)) != 1 || took > time.Second {
				t.Errorf("begun at %v, let go of after %v, given back %v", *begun, took, log.of("nak", 2))
			}
		})
	})
}

// Prevents: the same with many messages in flight, where the fence is lifted as
// soon as all of them are here, and a message that is run although it is gone.
func TestFenceStaysUpForWhatIsDeliveredTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var begun []uint64
		var first time.Duration
		b := newBench(t, jetstream.ConsumerConfig{AckWait: reignWait, MaxAckPending: 10}, 1, func(m jetstream.Msg) {
			if begun == nil {
				first = time.Since(begin)
			}
			_, seq := replyInfo(m.Reply())
			begun = append(begun, seq)
			_ = m.Ack()
		})
		defer b.close()
		b.r.reign = b.server.reign
		b.server.set(func() {
			b.server.led, b.server.inFlight, b.server.delivered = time.Now(), 3, 3
			b.server.heads[1], b.server.heads[2] = 1, 3
		})
		b.deliver(1, 1, 2)
		b.deliver(1, 2, 2)
		b.deliver(2, 3, 1)
		<-time.After(time.Second)
		b.server.set(func() { b.server.inFlight, b.server.missing = 2, map[uint64]bool{1: true} }) // settled by who had it
		b.until(func() bool { return b.r.held() == 0 && !b.r.working() })
		if len(begun) != 2 || begun[0] == 1 || begun[1] == 1 || first < reignWait || first > reignWait+time.Second {
			t.Errorf("began %v, the first at %v", begun, first)
		}
	})
}

// Prevents: a time misread, by which nothing or everything would be held.
func TestStoredAt(t *testing.T) {
	for reply, want := range map[string]int64{
		"$JS.ACK.S.C.2.7.9.1700.3":            1700,
		"$JS.ACK._.hash.S.C.2.7.9.1700.3":     1700,
		"$JS.ACK._.hash.S.C.2.7.9.1700.3.tok": 1700,
		"":                                    0,
		"$JS.ACK.S":                           0,
	} {
		if got := storedAt(reply); got != want {
			t.Errorf("%q: %d, want %d", reply, got, want)
		}
	}
}
