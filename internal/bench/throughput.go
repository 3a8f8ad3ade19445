package bench

import (
	"context"
	"fmt"
	"time"
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

// measure takes the rounds. Static groups read the same stream from its
// beginning; an elastic group has its own copy of it.
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
	c := contest{run: r, lab: l, group: g, warmUp: r.warmUp, backlog: int((window + r.warmUp).Seconds() * float64(t.most)), ackWait: 5 * time.Second,
		contenders: []contender{{side: ours{}, label: "ours", maxAckPending: t.maxAckPending, window: window},
			{side: oracle{}, label: "oracle", maxAckPending: t.maxAckPending, window: window}}}
	if t.raw {
		c.contenders = append(c.contenders, contender{side: raw{}, label: "raw", maxAckPending: t.maxAckPending, window: window})
	}
	if err := l.fill(ctx, g, c.backlog); err != nil {
		return nil, err
	}
	rounds, err := c.rounds(ctx, r.abbas)
	if err != nil {
		return nil, err
	}
	rows := []Row{ratesRow(t.row(), "", rounds[0], rounds[1])}
	if t.raw {
		rows = append(rows, ratesRow(t.row()+"_vs_raw", "raw", rounds[0], rounds[2]))
	}
	return rows, nil
}

// ratesRow compares rounds, of which the first is dropped.
func ratesRow(name, than string, ours, other []sample) Row {
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
