// Package chaos runs consumer groups on a real cluster of three, breaks one thing
// after another, and tells whether the groups kept their promises: nothing lost,
// every partition in order, no two handlers of a partition at once.
//
// The servers are processes of their own (the program runs itself again), so that
// killing one is a kill -9 and not a polite request. The instances of the members
// are in this process, each with a connection of its own through a proxy, so that
// all their handlers report to one [checker.Checker] by one clock.
//
// Faults come from three lanes at once: servers, clients, groups. Each lane's are
// drawn from the seed beforehand (see schedule), so that a seed is a list of
// faults; the instants differ from run to run. Of the servers, one at a time is
// down, and the next fault waits until all is caught up.
//
// # What is not a violation
//
// The schedule avoids what design promises do not cover: no handler takes longer
// than its ack deadline, no process is frozen, everything has three replicas.
//
//   - A duplicate that is explained: the first acknowledgement was sent through a
//     connection that was cut, or while a server was down or a leader changed, or
//     its consumer was deleted. At-least-once delivery means just that. One that
//     nothing explains is a violation.
//   - Messages that the server never sourced, or sourced twice, into the
//     work-queue stream of an elastic group at a change of leaders. They are
//     counted, by the proof in audit.go, and AuditElastic has to find the same.
//   - Messages that the server gave out again although nobody had given them back
//     and their ack deadline was not near, and what follows from that. They are
//     counted, by the proof in early.go: what every instance got and said.
//   - With oracle members in the fleet, duplicates, overlaps and wrong order: its
//     members do not drain. They are counted; only losses count against the run.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say what to run.
type Options struct {
	// Duration is how long faults are made; what is under way at its end is
	// finished, and then everything must be handled.
	Duration time.Duration
	// Seed decides the faults; 0 is one by chance.
	Seed uint64
	// Mixed has members of the oracle in the fleet, too.
	Mixed bool
	// Only names the faults to make, separated by commas; empty: all. See [Faults].
	Only string
	// Explain prints the timelines of the longest wait of each group and of bursts
	// of duplicates, which the faults may explain or not. It decides nothing.
	Explain bool
	// Keep leaves the servers' folders and logs behind.
	Keep bool
}

// ErrViolated is returned by [Run] when a promise was broken.
var ErrViolated = errors.New("violations were found")

// run is one run.
type run struct {
	options Options
	lanes   []lane
	out     io.Writer
	journal *journal
	records *records
	cluster *cluster
	conn    *nats.Conn // an administrator's
	js      jetstream.JetStream
	groups  []*group
	fleet   *fleet
	traffic *traffic
	ended   atomic.Int64 // of the lanes, when faults stopped, in Unix nanoseconds
}

// Run makes faults for a while and prints what came of it. The error is about
// the run itself, or [ErrViolated].
func Run(ctx context.Context, out io.Writer, o Options) error {
	lanes, err := lanesOf(o.Only)
	if err != nil {
		return err
	}
	if o.Seed == 0 {
		o.Seed = 1 + rand.Uint64N(1_000_000)
	}
	dir, err := os.MkdirTemp("", "pcgroups-chaos-")
	if err != nil {
		return fmt.Errorf("making a work folder: %w", err)
	}
	if o.Keep {
		fmt.Fprintf(out, "servers keep their files in %s\n", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	fleetName := "ours"
	if o.Mixed {
		fleetName = "mixed"
	}
	repeat := fmt.Sprintf("-seed=%d", o.Seed)
	if o.Only != "" {
		repeat += " -only=" + o.Only
	}
	fmt.Fprintf(out, "chaos: seed %d, %s, fleet %s; a run is repeated by %s\n", o.Seed, o.Duration, fleetName, repeat)
	r := &run{options: o, lanes: lanes, out: out, journal: newJournal(), records: newRecords(), groups: groups(o.Mixed)}
	for _, g := range r.groups {
		g.judge = newJudge(g, r.journal)
		g.judge.records = r.records
	}
	if r.cluster, err = startCluster(ctx, dir); err != nil {
		return err
	}
	defer r.cluster.close()
	if r.conn, err = r.cluster.connect("administrator"); err != nil {
		return err
	}
	defer r.conn.Close()
	if r.js, err = jetstream.New(r.conn); err != nil {
		return err
	}
	heard, err := followAdvisories(r.cluster, r.journal, r.groups)
	if err != nil {
		return err
	}
	defer heard.close()
	for _, g := range r.groups {
		// The servers may only just have met.
		if err := r.insist(ctx, func(ctx context.Context) error { return g.setUp(ctx, r.js) }); err != nil {
			return err
		}
	}
	return r.play(ctx)
}

// play is the run once everything is there.
func (r *run) play(ctx context.Context) (err error) {
	r.fleet = &fleet{cluster: r.cluster}
	defer func() { err = errors.Join(err, r.fleet.close(context.WithoutCancel(ctx))) }()
	if err := r.fleet.open(ctx, r.groups); err != nil {
		return err
	}
	if r.traffic, err = startTraffic(ctx, r.cluster, r.groups); err != nil {
		return err
	}
	defer r.traffic.close()
	stopProgress := r.progress(ctx)
	defer stopProgress()
	if err := r.faults(ctx); err != nil {
		return err
	}
	results, err := r.settle(ctx)
	stopProgress()
	if err != nil {
		return err
	}
	return r.report(results)
}

// faults runs the lanes until the time is up.
func (r *run) faults(ctx context.Context) error {
	r.journal.began = time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(r.options.Duration)
	hit := []func(context.Context, step) error{r.hitServers, r.hitClient, r.hitGroup}
	var wg sync.WaitGroup
	for n, l := range r.lanes {
		if len(l.faults) == 0 {
			continue
		}
		s := newSchedule(r.options.Seed, n, l)
		wg.Go(func() {
			for {
				next := s.next()
				if time.Until(end) < next.after {
					return
				}
				err := pause(ctx, next.after)
				if err == nil {
					err = hit[n](ctx, next)
				}
				if err != nil {
					cancel(fmt.Errorf("lane %s: %w", l.name, err))
					return
				}
			}
		})
	}
	wg.Wait()
	r.ended.Store(time.Now().UnixNano())
	return context.Cause(ctx)
}

// progress prints a line every few seconds.
func (r *run) progress(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for pause(ctx, 5*time.Second) == nil {
			t := r.totals()
			fmt.Fprintf(r.out, "  %4.0fs  %d faults, %d published, %d handled, %d violations seen\n",
				time.Since(r.journal.began).Seconds(), t.faults, t.published, t.handled, t.violations)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

type totals struct{ faults, published, handled, violations int }

func (r *run) totals() (t totals) {
	_, counts := r.journal.faults()
	for _, n := range counts {
		t.faults += n
	}
	for _, g := range r.groups {
		g.judge.mu.Lock()
		for _, all := range g.judge.published {
			t.published += len(all)
		}
		t.handled += g.judge.handled
		t.violations += len(g.judge.bad)
		g.judge.mu.Unlock()
	}
	return t
}
