package pcgroups

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a message that is given back when a session ends, and acknowledged
// unhandled by the next one, which is at its last delivery and therefore run: with
// AckAll that acknowledges all before it.
func TestAckAllGivesBackNothingItAcknowledges(t *testing.T) {
	for name, c := range map[string]struct {
		maxDeliver int
		run        []uint64
		naked      int
	}{
		"limited deliveries":   {2, []uint64{1, 2}, 1},
		"unlimited deliveries": {-1, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			log := &told{begin: time.Now()}
			var run []uint64
			r := newRunner(func(m jetstream.Msg) {
				_, seq := replyInfo(m.Reply())
				run = append(run, seq)
			}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy, MaxAckPending: 100, MaxDeliver: c.maxDeliver, AckWait: time.Minute}, new(memory), 1)
			defer r.close()
			r.shut(intakeGiveBack)
			r.withdrawn()
			for seq, deliveries := range []uint64{1, 2, 1} {
				r.deliver(redelivered(log, uint64(seq+1), deliveries))
			}
			r.lastCame()
			if naked := len(log.of("nak", 0)); !slices.Equal(run, c.run) || naked != c.naked {
				t.Errorf("%v run and %d given back, want %v and %d", run, naked, c.run, c.naked)
			}
		})
	}
}

// Prevents: a message whose handler failed acknowledged by one that is run after it.
func TestAckAllRunsNothingBehindAFailure(t *testing.T) {
	log := &told{begin: time.Now()}
	r := newRunner(AutoAck(func(context.Context, *Msg) error { return errors.New("no") }),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy, MaxAckPending: 100, MaxDeliver: 2, AckWait: time.Minute}, new(memory), 1)
	defer r.close()
	r.withdrawn()
	for seq := range uint64(3) {
		r.deliver(redelivered(log, seq+1, seq))
	}
	r.lastCame()
	if acked := log.of("ack", 0); len(acked) > 0 || len(log.of("nak", 2)) != 1 {
		t.Errorf("acknowledged %v, given back %v", acked, log.of("nak", 0))
	}
}

// Prevents: a message left to another instance, that keeps it alive after a change of
// leader, acknowledged unhandled by the one behind it.
func TestAckAllLeavesNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &told{begin: time.Now()}
		r := newRunner(func(m jetstream.Msg) { _ = m.Ack() },
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy, MaxAckPending: 100, AckWait: 10 * time.Second}, new(memory), 1)
		defer r.close()
		r.keepAlive = time.Minute
		r.reign = (&fakeLookout{log: log, led: time.Now()}).reign
		r.deliver(redelivered(log, 5, 2))
		r.deliver(redelivered(log, 6, 1))
		if len(log.of("ack", 5)) != 1 || len(log.of("ack", 6)) != 1 {
			t.Errorf("said %v", log.list)
		}
	})
}

// ackAll is a runner of a consumer with limited deliveries whose handler acknowledges
// all, and what it has run.
func ackAll(t *testing.T, pending, deliveries int, handle func(seq uint64)) (r *runner, log *told, run *[]uint64) {
	t.Helper()
	log, run = &told{begin: time.Now()}, new([]uint64)
	r = newRunner(func(m jetstream.Msg) {
		_, seq := replyInfo(m.Reply())
		*run = append(*run, seq)
		handle(seq)
		_ = m.Ack()
	}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy, MaxAckPending: pending, MaxDeliver: deliveries, AckWait: reignWait}, new(memory), 1)
	return r, log, run
}

// Prevents: a message acknowledged unhandled by one at its last delivery, as it was
// held for another instance when its session stopped, or had waited behind a late
// handler.
func TestAckAllLastDeliveryTakesNothingAlong(t *testing.T) {
	t.Run("held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, log, run := ackAll(t, 100, 3, func(uint64) {})
			defer r.close()
			r.reign = (&fakeLookout{log: log, led: time.Now()}).reign
			time.AfterFunc(time.Second, func() { r.shut(intakeGiveBack); r.withdrawn() })
			r.deliver(redelivered(log, 5, 2))
			r.deliver(redelivered(log, 6, 3))
			r.lastCame()
			if !slices.Equal(*run, []uint64{5, 6}) {
				t.Errorf("run %v; %v", *run, log.list)
			}
		})
	})
	t.Run("behind a late handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, log, run := ackAll(t, 100, 2, func(seq uint64) {
				if seq == 4 {
					<-time.After(reignWait + time.Second)
				}
			})
			ended, over := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(over)
				r.shut(intakeGiveBack)
				r.drain(pullOf(ended), actDrain{unstarted: intakeGiveBack}, func(event) {}, nil)
			}()
			r.run(redelivered(log, 4, 1), 1, 4)
			r.deliver(redelivered(log, 5, 1))
			r.deliver(redelivered(log, 6, 2))
			close(ended)
			<-over
			if !slices.Equal(*run, []uint64{4, 5, 6}) {
				t.Errorf("run %v; %v", *run, log.list)
			}
		})
	})
}

// Prevents: a message at its last delivery run beside another instance that is at it,
// as a new leader gave it out too early to a session that stops.
func TestAckAllLastDeliveryIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log, run := ackAll(t, 1, 2, func(uint64) {})
		defer r.close()
		r.reign = (&fakeLookout{log: log, led: time.Now()}).reign
		r.shut(intakeGiveBack)
		r.withdrawn()
		r.deliver(redelivered(log, 5, 2))
		if held := time.Since(log.begin); held < reignWait || len(*run) != 1 {
			t.Errorf("run %v after %v", *run, held)
		}
	})
}
