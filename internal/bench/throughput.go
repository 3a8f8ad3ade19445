package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// throughput is one comparison of how many messages a second one member handles
// that only acknowledges them.
type throughput struct {
	flavour       flavour
	maxAckPending int
	raw           bool // a plain consumer takes part
	most          int  // messages a second that nobody reaches, for the backlog
}

func throughputExperiments() []experiment {
	list := []throughput{
		{flavour: static, maxAckPending: 1, most: 40_000},
		{flavour: elastic, maxAckPending: 1, most: 40_000},
		{flavour: static, maxAckPending: 1000, raw: true, most: 200_000},
		{flavour: elastic, maxAckPending: 1000, most: 110_000},
	}
	out := make([]experiment, len(list))
	for i, t := range list {
		out[i] = experiment{rows: []string{t.row()}, do: t.measure}
		if t.raw {
			out[i].rows = append(out[i].rows, t.row()+"_vs_raw")
		}
	}
	return out
}

func (t throughput) row() string {
	return fmt.Sprintf("throughput_%s_map%d", t.flavour, t.maxAckPending)
}

// measure takes the rounds. Each turn of a side has a group of its own, so that
// all begin alike, and an equal part of the round's time. Static groups read the same
// stream from its beginning; an elastic group has its own copy of it.
func (t throughput) measure(r *run, ctx context.Context) ([]Row, error) {
	l, err := openLab()
	if err != nil {
		return nil, err
	}
	defer l.close()
	g := group{flavour: t.flavour, stream: "BENCH", partitions: 16, members: []string{"m1"}}
	if err := l.createStream(ctx, g); err != nil {
		return nil, err
	}
	window := r.roundTime / time.Duration(2*r.abbas)
	w := turn{throughput: t, run: r, lab: l, window: window, warmUp: r.warmUp, backlog: int((window + r.warmUp).Seconds() * float64(t.most))}
	if err := l.fill(ctx, g, w.backlog); err != nil {
		return nil, err
	}
	sides := []side{ours{}, oracle{}}
	if t.raw {
		sides = append(sides, raw{})
	}
	rounds := make([][]sample, len(sides)) // by side
	for round := range r.rounds {
		var turns []int
		for n := range r.abbas {
			turns = append(turns, order(len(sides), round*r.abbas+n)...)
		}
		sums := make([]sample, len(sides))
		for i, s := range turns {
			g.name = fmt.Sprintf("round%d-%d", round, i)
			got, err := w.take(ctx, sides[s], g)
			if err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", round+1, sides[s].name(), err)
			}
			sums[s] = sums[s].plus(got)
		}
		line := ""
		for s, sum := range sums {
			if sum.messages == 0 {
				return nil, fmt.Errorf("round %d, %s: %w", round+1, sides[s].name(), errSilent)
			}
			rounds[s] = append(rounds[s], sum)
			line += fmt.Sprintf("  %s %.0f", sides[s].name(), sum.rate())
		}
		r.say("  round %d of %d:%s msg/s, ours/oracle %.3f", round+1, r.rounds, line, sums[0].rate()/sums[1].rate())
	}
	rows := []Row{t.result(t.row(), "", rounds[0], rounds[1])}
	if t.raw {
		rows = append(rows, t.result(t.row()+"_vs_raw", "raw", rounds[0], rounds[2]))
	}
	return rows, nil
}

// result compares rounds, of which the first is dropped.
func (t throughput) result(name, than string, ours, other []sample) Row {
	mine, theirs := each(ours, sample.rate), each(other, sample.rate)
	a, b, q := estimate(strata{mine[1:]}, 50), estimate(strata{theirs[1:]}, 50), estimate(strata{ratios(mine, theirs)}, 50)
	label := than
	if label == "" {
		label = "oracle"
	}
	row := Row{
		Name: name, Unit: "msg/s", Ours: Number(a.Value), Other: Number(b.Value), Than: than, Ratio: &q,
		Details: []string{fmt.Sprintf("ours %.0f msg/s (%.0f to %.0f), %s %.0f msg/s (%.0f to %.0f); ratio %.3f [%.3f, %.3f], rounds from %.3f to %.3f, %d of them",
			a.Value, a.Min, a.Max, label, b.Value, b.Min, b.Max, q.Value, q.Low, q.High, q.Min, q.Max, q.N)},
	}
	mine, theirs = each(ours, sample.cost), each(other, sample.cost)
	if c := estimate(strata{ratios(mine, theirs)}, 50); c.Value > 0 {
		row.Details = append(row.Details, fmt.Sprintf("processor time of a message, server and all: ours %.1f µs, %s %.1f µs; ratio %.3f [%.3f, %.3f]",
			median(mine[1:]), label, median(theirs[1:]), c.Value, c.Low, c.High))
	}
	return row
}

// turn is how one side is measured once. The shorter it is, the more alike is
// what else the machine is doing in the turns that are compared.
type turn struct {
	throughput
	run            *run
	lab            *lab
	window, warmUp time.Duration
	backlog        int
}

// take measures one side. The time starts when the warm-up after the first
// message is over, and ends with the window or with the backlog.
func (w turn) take(ctx context.Context, s side, g group) (got sample, err error) {
	if err := s.create(ctx, w.lab.admin, g); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.remove(ctx, w.lab.admin, g)) }()
	if err := w.lab.waitForMessages(ctx, g, w.backlog); err != nil {
		return got, err
	}
	runtime.GC() // nobody pays for what came before
	c := newCounter(w.backlog)
	// In a profile the side can be told by its label.
	pprof.Do(ctx, pprof.Labels("side", s.name()), func(ctx context.Context) {
		var i *instance
		i, err = join(ctx, w.lab, s, g, "m1", c.handle, jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxAckPending: w.maxAckPending,
		})
		if err != nil {
			return
		}
		got, err = c.watch(ctx, i.session, w.warmUp, w.window)
		w.run.stopped(s, i.leave())
	})
	return got, err
}
