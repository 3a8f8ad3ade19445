package pcgroups

import (
	"slices"
	"testing"
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
		"limited deliveries":   {2, []uint64{1, 2, 3}, 0},
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
			if naked := len(log.of("nak", 0)); !slices.Equal(run, c.run) || naked != c.naked {
				t.Errorf("%v run and %d given back, want %v and %d", run, naked, c.run, c.naked)
			}
		})
	}
}
