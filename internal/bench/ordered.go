package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	orderedPartitions = 16
	manyInFlight      = 1000 // MaxAckPending
	// orderedAckWait is more than a thousand messages take one after the other.
	orderedAckWait = 10 * time.Second
	// orderedMost is the number of messages a second that nobody reaches.
	orderedMost = 80_000
	nakEvery    = 50
)

// The contenders of an ordered experiment.
const (
	orderedOurs      = iota // many in flight, partitions in parallel
	orderedOracle1          // one in flight: strict
	orderedOracle           // many in flight: in order as long as nothing is delivered twice
	orderedRaw              // the same, without a group
	orderedContender        // how many there are
)

// ordered is one comparison of what a member handles a second that is some way
// from its server, while a checker looks at the order.
type ordered struct {
	name string
	rtt  time.Duration // added
	work time.Duration // of the handler
	than int           // the contender that the bar is about
	naks bool          // one of nakEvery is refused at its first delivery
}

func orderedExperiments() []experiment {
	list := []ordered{
		{name: "ordered_rtt10ms", rtt: 10 * time.Millisecond, than: orderedOracle1},
		{name: "ordered_rtt1ms_work2ms", rtt: time.Millisecond, work: 2 * time.Millisecond, than: orderedOracle},
		{name: "ordered_naks", rtt: time.Millisecond, than: orderedOracle, naks: true},
	}
	out := make([]experiment, len(list))
	for i, o := range list {
		for _, s := range o.rates() {
			out[i].rows = append(out[i].rows, o.row(s))
		}
		out[i].rows = append(out[i].rows, o.name+"_violations")
		out[i].do = o.measure
	}
	return out
}

// rates are the contenders whose rates are compared with ours, the one with the
// bar first.
func (o ordered) rates() []int {
	switch {
	case o.naks:
		return nil // it is about the order
	case o.than == orderedOracle1:
		return []int{orderedOracle1, orderedOracle, orderedRaw}
	default:
		return []int{orderedOracle, orderedOracle1, orderedRaw}
	}
}

func (o ordered) row(contender int) string {
	if contender == o.than {
		return o.name
	}
	return o.name + map[int]string{orderedOracle1: "_vs_map1", orderedOracle: "_vs_map1000", orderedRaw: "_vs_raw"}[contender]
}

// orderedContenders are in the order of the constants. The time of those whose
// rates only inform is shorter.
func orderedContenders(window time.Duration, short map[int]time.Duration) []contender {
	list := make([]contender, orderedContender)
	list[orderedOurs] = contender{side: ours{options: []pcgroups.ConsumeOption{pcgroups.WithConcurrency(orderedPartitions)}}, label: "ours@1000", maxAckPending: manyInFlight}
	list[orderedOracle1] = contender{side: oracle{}, label: "oracle@1", maxAckPending: 1}
	list[orderedOracle] = contender{side: oracle{}, label: "oracle@1000", maxAckPending: manyInFlight}
	list[orderedRaw] = contender{side: raw{}, label: "raw@1000", maxAckPending: manyInFlight}
	for i := range list {
		list[i].window = window
		if w, ok := short[i]; ok {
			list[i].window = w
		}
	}
	return list
}

// measure takes the rounds, each of one ABBA: with one message in flight a turn
// has to be long to see some.
func (o ordered) measure(r *run, ctx context.Context) ([]Row, error) {
	l, err := openLab()
	if err != nil {
		return nil, err
	}
	defer l.close()
	g := group{flavour: static, stream: "BENCH", partitions: orderedPartitions, members: []string{"m1"}}
	if err := l.createStream(ctx, g); err != nil {
		return nil, err
	}
	trip, err := l.farAway(o.rtt)
	if err != nil {
		return nil, err
	}
	window := r.roundTime / 2
	short := map[int]time.Duration{}
	for s := orderedOracle1; s < orderedContender; s++ {
		if s != o.than && !o.naks {
			short[s] = window / 6
		}
	}
	c := contest{run: r, lab: l, group: g, warmUp: r.warmUp, backlog: int((window + r.warmUp).Seconds() * orderedMost), ackWait: orderedAckWait,
		contenders: orderedContenders(window, short)}
	if err := l.fill(ctx, g, c.backlog); err != nil {
		return nil, err
	}
	seen := make([]checker.Verdict, len(c.contenders))
	var checks []func()
	c.work = func(ctx context.Context, s int, count *counter) func(jetstream.Msg) {
		check := checker.New()
		checks = append(checks, func() { seen[s] = plus(seen[s], check.Verdict()) })
		return o.handler(ctx, check, count)
	}
	r.say("  round trip %.3g ms", milliseconds(trip))
	var rounds [][]sample
	if o.naks {
		rounds, err = c.once(ctx)
	} else {
		rounds, err = c.rounds(ctx, 1)
	}
	if err != nil {
		return nil, err
	}
	for _, look := range checks {
		look() // every session has ended
	}
	return o.rows(c, rounds, seen, trip), nil
}

// once takes a single round, for counts that no other side's have to be divided by.
func (c *contest) once(ctx context.Context) ([][]sample, error) {
	sums := make([]sample, len(c.contenders))
	if err := c.abba(ctx, 0, sums); err != nil {
		return nil, err
	}
	c.run.say("  %s", c.line(sums))
	out := make([][]sample, len(sums))
	for s, sum := range sums {
		out[s] = []sample{sum}
	}
	return out, nil
}

// handler works on a message, and says when.
func (o ordered) handler(ctx context.Context, check *checker.Checker, count *counter) func(jetstream.Msg) {
	return func(msg jetstream.Msg) {
		end := check.Begin("m1", msg.Subject(), numbered(msg))
		if o.work > 0 && pause(ctx, o.work) != nil {
			end(false)
			return
		}
		if o.naks {
			if m, err := msg.Metadata(); err == nil && m.NumDelivered == 1 && m.Sequence.Stream%nakEvery == 0 {
				end(false)
				_ = msg.Nak()
				return
			}
		}
		end(false)
		err := msg.Ack()
		end(err == nil)
		count.settled(err)
	}
}

// rows compares rates, and counts what was out of order or at the same time as
// another message of its key.
func (o ordered) rows(c contest, rounds [][]sample, seen []checker.Verdict, trip time.Duration) []Row {
	var rows []Row
	what := fmt.Sprintf("round trip %.3g ms, measured; handlers of %s, %d partitions, ours with MaxAckPending %d and WithConcurrency(%d); @ is MaxAckPending",
		milliseconds(trip), o.work, orderedPartitions, manyInFlight, orderedPartitions)
	for _, s := range o.rates() {
		row := ratesRow(o.row(s), c.contenders[s].label, rounds[orderedOurs], rounds[s])
		row.Details = append([]string{what}, row.Details...)
		rows = append(rows, row)
	}
	if o.naks {
		what += fmt.Sprintf("; one message of %d was refused once", nakEvery)
	}
	violations := func(v checker.Verdict) int { return v.OutOfOrder + v.Overlapping }
	row := Row{Name: o.name + "_violations", Ours: Number(violations(seen[orderedOurs])), Other: Number(violations(seen[orderedOracle])),
		Than: c.contenders[orderedOracle].label, Details: []string{what}}
	for s, v := range seen {
		row.Details = append(row.Details, fmt.Sprintf("%s: %d executions, %d out of order, %d at the same time as another of their key",
			c.contenders[s].label, v.Executions, v.OutOfOrder, v.Overlapping))
	}
	for _, e := range seen[orderedOurs].Examples {
		row.Details = append(row.Details, "ours: "+e)
	}
	return append(rows, row)
}

// plus adds up what checkers of different groups found.
func plus(a, b checker.Verdict) checker.Verdict {
	a.Published += b.Published
	a.Executions += b.Executions
	a.Lost += b.Lost
	a.Duplicated += b.Duplicated
	a.OutOfOrder += b.OutOfOrder
	a.Overlapping += b.Overlapping
	a.Examples = append(a.Examples, b.Examples...)
	return a
}
