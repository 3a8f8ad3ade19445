package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	movedRate = 1500 // messages a second on the partition that moves
	keptRate  = 300  // and on the one that stays
	// flipPatience is for the oracle, which may take its AckWait and more.
	flipPatience = 2 * patience
)

// rebalance measures how long a partition is without an owner when the membership
// changes: from the write of the configuration to the first message at the new
// owner. A second member is added and dropped again and again.
func (r *run) rebalance(ctx context.Context) ([]Row, error) {
	var slowest float64
	times := map[string]*flipTimes{"ours": {}, "oracle": {}}
	sides := []side{ours{}, oracle{}}
	for n := range r.flipABBAs {
		for _, i := range order(len(sides), n) {
			s := sides[i]
			limit := flipLimit{count: r.flips}
			if s.name() == "oracle" {
				limit = flipLimit{time: r.oracleFlips}
			}
			rate, err := r.flipBlock(ctx, s, limit, times[s.name()])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name(), err)
			}
			if slowest == 0 || rate < slowest {
				slowest = rate
			}
			r.say("  %s: %d flips so far, median %.1f ms", s.name(), len(times[s.name()].strata().all()), median(times[s.name()].strata().all()))
		}
	}
	a, b := times["ours"], times["oracle"]
	what := fmt.Sprintf("write of the configuration to the first message at the new owner, MaxAckPending 1, AckWait 5 s, no-op handler, at least %.0f msg/s on the moved partition",
		slowest*movedRate/(movedRate+keptRate))
	p50 := timesRow("rebalance_p50", a.strata(), b.strata(), 50, what)
	p50.Details = append(p50.Details, fmt.Sprintf("median of adding: ours %.3g ms, oracle %.4g ms; of dropping: ours %.3g ms, oracle %.4g ms",
		median(a.added), median(b.added), median(a.dropped), median(b.dropped)))
	return []Row{p50, timesRow("rebalance_p95", a.strata(), b.strata(), 95, what)}, nil
}

// flipTimes are milliseconds.
type flipTimes struct{ added, dropped []float64 }

func (t *flipTimes) strata() strata { return strata{t.added, t.dropped} }

// flipLimit ends a block, by whichever is set. Both are followed by the second
// half of a pair, so that there are as many drops as adds.
type flipLimit struct {
	count int
	time  time.Duration
}

// flipper is one group whose second partition moves.
type flipper struct {
	lab    *lab
	side   side
	group  group
	first  *flipMember // always in the group
	second *flipMember // added and dropped
	rng    *rand.Rand
}

// flipMember is what the handler of a member tells.
type flipMember struct {
	moved   *alarm       // a message of the partition that moves
	handled atomic.Int64 // of that partition
	kept    *alarm       // a message of the other
}

func (m *flipMember) message(msg jetstream.Msg, keptSubject string) {
	if msg.Subject() == keptSubject {
		m.kept.message()
		return
	}
	m.moved.message()
	m.handled.Add(1)
}

// flipBlock flips until the limit and tells how many messages a second there
// were.
func (r *run) flipBlock(ctx context.Context, s side, limit flipLimit, times *flipTimes) (rate float64, err error) {
	l, err := openLab()
	if err != nil {
		return 0, err
	}
	defer l.close()
	f := flipper{lab: l, side: s, group: group{flavour: elastic, stream: "BENCH", name: "flips", partitions: 2, members: []string{"m1"}},
		first:  &flipMember{moved: newAlarm(), kept: newAlarm()},
		second: &flipMember{moved: newAlarm(), kept: newAlarm()},
		rng:    rand.New(rand.NewPCG(5, 6)),
	}
	if err := l.createStream(ctx, f.group); err != nil {
		return 0, err
	}
	if err := s.create(ctx, l.admin, f.group); err != nil {
		return 0, err
	}
	subjects, err := f.subjects()
	if err != nil {
		return 0, err
	}
	kept := subjects[0]
	for name, m := range map[string]*flipMember{"m1": f.first, "m2": f.second} {
		i, err := join(ctx, l, s, f.group, name, handler(func(msg jetstream.Msg) { m.message(msg, kept) }),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxAckPending: 1})
		if err != nil {
			return 0, err
		}
		defer func() { r.stopped(s, i.leave()) }()
	}
	t, err := l.startTraffic(ctx, movedRate+keptRate, subjects...)
	if err != nil {
		return 0, err
	}
	if err = f.settle(ctx, f.first); err == nil {
		err = f.flips(ctx, limit, times)
	}
	rate, errTraffic := t.stop()
	return rate, errors.Join(err, errTraffic)
}
