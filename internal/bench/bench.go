// Package bench measures pcgroups against the implementation whose protocol it
// speaks, github.com/synadia-io/orbit.go/pcgroups (the oracle), and where that
// says more, against a plain consumer. Everything runs in one process: the
// servers, the publishers and both sides.
//
// Speeds are compared by ratios of one interleaved run, because a machine is
// never as fast now as it was a minute ago: the sides take turns in the order
// ABBA within each round, a round gives one ratio, the first round is dropped, and
// the figure is the median of the others with a bootstrap interval. What the
// figures are expected to be is in bars.go, how they are computed in stats.go.
// Each other file is one experiment, or something that several of them need.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Options say what to measure and how thoroughly.
type Options struct {
	// Run selects rows by name; nil is all but those about load.
	Run *regexp.Regexp
	// Rounds is the number of rounds of each throughput row, the first of which
	// is dropped; 0 is the default.
	Rounds int
	// RoundTime is how long each side is measured in a round; 0 is the default.
	RoundTime time.Duration
	// Quick makes everything short: it shows that the benchmark works, not how
	// fast anything is.
	Quick bool
}

// plan is how much of everything there is.
type plan struct {
	rounds    int
	roundTime time.Duration // of each side
	abbas     int           // how often each side has its two turns in a round: see turn
	warmUp    time.Duration // before each of its windows

	takeovers       int // of ours, for each flavour
	oracleTakeovers int
	takeoverAckWait time.Duration

	flipABBAs   int           // how often each side has two blocks of flips
	flips       int           // of ours, in each block
	oracleFlips time.Duration // of the oracle, in each block

	handover, handoverMany handoverPlan

	rtts        []time.Duration // of the plot
	rttWindow   time.Duration   // of a turn
	load        []int           // members
	loadParts   uint
	loadChanges int // of the membership, at each size

	heals    int           // of ours, for each flavour
	healWait time.Duration // after which it is never

	cycles, oracleCycles int

	assignments int  // repetitions
	manyMembers uint // of the group with as many partitions, for information
}

func newPlan(o Options) plan {
	p := plan{
		rounds: 10, roundTime: 3 * time.Second, abbas: 4, warmUp: 100 * time.Millisecond,
		takeovers: 10, oracleTakeovers: 3, takeoverAckWait: 5 * time.Second,
		flipABBAs: 2, flips: 76, oracleFlips: 10 * time.Second,
		handover:     handoverPlan{groups: 8, flips: 39, every: 1500 * time.Millisecond, work: 500 * time.Millisecond, ackWait: 2 * time.Second, maxAckPending: 1, backlog: 24},
		handoverMany: handoverPlan{groups: 12, flips: 27, every: 800 * time.Millisecond, work: 50 * time.Millisecond, ackWait: 8 * time.Second, maxAckPending: 100, backlog: 200},
		rtts:         []time.Duration{0, 1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}, rttWindow: 750 * time.Millisecond,
		load: loadMembers, loadParts: 1000, loadChanges: 6,
		heals: 10, healWait: 10 * time.Second,
		cycles: 1000, oracleCycles: 50,
		assignments: 51, manyMembers: 10_000,
	}
	if o.Quick {
		p = plan{
			rounds: 3, roundTime: 300 * time.Millisecond, abbas: 1, warmUp: 20 * time.Millisecond,
			takeovers: 2, oracleTakeovers: 1, takeoverAckWait: time.Second,
			flipABBAs: 1, flips: 4, oracleFlips: 100 * time.Millisecond,
			handover:     handoverPlan{groups: 4, flips: 3, every: 400 * time.Millisecond, work: 50 * time.Millisecond, ackWait: time.Second, maxAckPending: 1, backlog: 24},
			handoverMany: handoverPlan{groups: 4, flips: 3, every: 400 * time.Millisecond, work: 20 * time.Millisecond, ackWait: 1500 * time.Millisecond, maxAckPending: 100, backlog: 50},
			rtts:         []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}, rttWindow: 200 * time.Millisecond,
			load: loadMembers, loadParts: 200, loadChanges: 2,
			heals: 2, healWait: 2 * time.Second,
			cycles: 30, oracleCycles: 6,
			assignments: 5, manyMembers: 1000,
		}
	}
	if o.Rounds > 0 {
		p.rounds = o.Rounds
	}
	if o.RoundTime > 0 {
		p.roundTime = o.RoundTime
	}
	return p
}

// run is one run of the benchmark.
type run struct {
	plan
	progress io.Writer

	points []Point // of the plot

	mu       sync.Mutex
	troubles []string // of the experiment under way
}

// say tells a person who waits what is being done.
func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.progress, "bench: "+format+"\n", args...)
}

// stopped takes the error of a session that was stopped. It is not the
// benchmark's, and what was measured before is good; so it is told with the
// result.
func (r *run) stopped(s side, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.troubles = append(r.troubles, fmt.Sprintf("a session of %s did not stop well: %v", s.name(), err))
}

// told returns the troubles since it was called last, not too many.
func (r *run) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.troubles
	r.troubles = nil
	const most = 3
	if len(all) > most {
		return append(all[:most:most], fmt.Sprintf("and %d times more", len(all)-most))
	}
	return all
}

// experiment measures one or more rows at once.
type experiment struct {
	rows []string
	do   func(*run, context.Context) ([]Row, error)
	// asked is for what takes place only if its rows are asked for.
	asked bool
}

// selects tells whether a row of the experiment is to be measured.
func (e experiment) selects(run *regexp.Regexp, row string) bool {
	if run == nil {
		return !e.asked
	}
	return run.MatchString(row)
}

func experiments() []experiment {
	list := append(throughputExperiments(), orderedExperiments()...)
	handovers := func(prefix string, plan func(*run) handoverPlan) experiment {
		return experiment{rows: handoverRows(prefix), do: func(r *run, ctx context.Context) ([]Row, error) { return r.handovers(ctx, prefix, plan(r)) }}
	}
	return append(list,
		experiment{rows: []string{"ordered_by_rtt"}, do: (*run).byRTT},
		experiment{rows: []string{"takeover_after_stop"}, do: (*run).takeover},
		experiment{rows: []string{"rebalance_p50", "rebalance_p95"}, do: (*run).rebalance},
		handovers("handover", func(r *run) handoverPlan { return r.handover }),
		handovers("handover_map100", func(r *run) handoverPlan { return r.handoverMany }),
		experiment{rows: []string{"selfheal_elastic"}, do: func(r *run, ctx context.Context) ([]Row, error) { return r.selfHeal(ctx, elastic) }},
		experiment{rows: []string{"selfheal_static_rejoin"}, do: func(r *run, ctx context.Context) ([]Row, error) { return r.selfHeal(ctx, static) }},
		experiment{rows: []string{"leak_goroutines", "leak_subscriptions", "leak_kv_consumers"}, do: (*run).leaks},
		experiment{rows: []string{"assignments_scaling", "assignments_10000_ms"}, do: (*run).assign},
		experiment{rows: loadRows(), do: (*run).loads, asked: true},
	)
}

// Names are the names of all rows, in the order in which they are measured.
func Names() []string {
	var names []string
	for _, e := range experiments() {
		names = append(names, e.rows...)
	}
	return names
}

// Run measures what the options select. Results are written to out as they
// come, with a table at the end; what is being done is told on progress. The
// error is about the measuring only: a bar that is missed is a result. After an
// error of one experiment the others still take place.
func Run(ctx context.Context, out, progress io.Writer, o Options) (*Report, error) {
	r := &run{plan: newPlan(o), progress: progress}
	if r.rounds < 2 {
		return nil, errors.New("at least two rounds are needed, as the first is dropped")
	}
	if r.roundTime < time.Millisecond {
		return nil, errors.New("a round must take at least a millisecond")
	}
	report := newReport(o, r.plan)
	report.writeHead(out)
	var errs []error
	for _, e := range experiments() {
		selected := func(name string) bool { return e.selects(o.Run, name) }
		if !slices.ContainsFunc(e.rows, selected) {
			continue
		}
		began := time.Now()
		r.say("%s …", e.rows[0])
		rows, err := e.do(r, ctx)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("measuring %s: %w", e.rows[0], err)
			for _, t := range r.told() {
				r.say("  %s", t)
			}
			r.say("%v", err)
			errs = append(errs, err)
			continue
		}
		rows[0].Details = append(rows[0].Details, r.told()...)
		r.say("%s took %s", e.rows[0], time.Since(began).Round(100*time.Millisecond))
		for _, row := range rows {
			if selected(row.Name) {
				report.add(row).write(out)
			}
		}
		// What an experiment leaves behind is no burden for the next one.
		runtime.GC()
	}
	if len(report.Rows) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("no row is called like that; there are %q", Names())
	}
	report.ByRTT = r.points
	report.writeTable(out)
	return report, errors.Join(errs...)
}
