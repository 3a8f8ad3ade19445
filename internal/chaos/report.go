package chaos

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

type sessionStatus = pcgroups.Status

const (
	shownViolations = 3
	// before and after a violation the timeline shows the faults.
	before, after = 12 * time.Second, time.Second
)

// counts are a group's figures, over all its epochs.
type counts struct {
	published, handled, executions      int
	explained, unexplained, sourceTwice int
	order, overlap, late, early         int
	slowest                             time.Duration
}

func (j *judge) counts() counts {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := counts{late: j.late, slowest: j.slowest.took}
	for _, v := range j.bad {
		if v.kind == "overlap" {
			c.overlap++
		}
	}
	for _, all := range j.published {
		c.published += len(all)
	}
	for _, e := range j.epochs {
		v := e.check.Verdict()
		c.handled += v.Handled
		c.executions += v.Executions
		c.order += v.OutOfOrder
		c.early += e.early
		c.explained += e.explained
		c.unexplained += e.unexplained
		c.sourceTwice += e.sourcedTwice
	}
	return c
}

// report prints the outcome and returns ErrViolated if there is something to
// complain of.
func (r *run) report(results map[*group]audited) error {
	for _, g := range r.groups {
		a := results[g]
		for _, m := range a.lost {
			fate := "was never begun"
			if m.begun {
				fate = "was begun, and no execution was acknowledged"
			}
			g.judge.mu.Lock()
			g.judge.bad = append(g.judge.bad, violation{kind: "lost", group: g.String(), key: m.key, seq: m.seq, at: m.published, text: fmt.Sprintf("%d %s", m.seq, fate)})
			g.judge.mu.Unlock()
		}
		r.crossCheck(g)
	}
	r.violations()
	if r.options.Explain {
		r.slowest()
		r.again()
	}
	r.table(results)
	for _, g := range r.groups {
		for _, v := range g.judge.bad {
			if g.counts(v) {
				return fmt.Errorf("%w: repeat the run with -seed=%d", ErrViolated, r.options.Seed)
			}
		}
	}
	return nil
}

// counts tells whether a violation counts against the run. The oracle's members
// do not drain, so in their group only losses do.
func (g *group) counts(v violation) bool {
	return len(g.oracles) == 0 || v.kind == "lost" || v.kind == "stuck" || v.kind == "harness" || v.kind == "audit"
}

// crossCheck compares what the judge has explained with what the checker has
// found: if the two disagree the harness is wrong.
func (r *run) crossCheck(g *group) {
	g.judge.mu.Lock()
	var v checker.Verdict
	dups := 0
	for _, e := range g.judge.epochs {
		ev := e.check.Verdict()
		v.OutOfOrder += ev.OutOfOrder
		v.Duplicated += ev.Duplicated
		dups += e.explained + e.unexplained + e.sourcedTwice
	}
	order := 0
	for _, b := range g.judge.bad {
		if b.kind == "order" {
			order++
		}
	}
	g.judge.mu.Unlock()
	if order != v.OutOfOrder || dups != v.Duplicated {
		g.judge.fail("harness", "the judge counts %d out of order and %d duplicates, the checker %d and %d", order, dups, v.OutOfOrder, v.Duplicated)
	}
}

// violations prints the first few of each kind, with what led to them.
func (r *run) violations() {
	shown := map[string]int{}
	for _, g := range r.groups {
		for _, v := range g.judge.bad {
			if !g.counts(v) {
				continue
			}
			if shown[v.kind]++; shown[v.kind] > shownViolations {
				continue
			}
			fmt.Fprintf(r.out, "\n%s in %s at %s (seed %d): key %q: %s\n", strings.ToUpper(v.kind), g, r.journal.offset(v.at), r.options.Seed, v.key, v.text)
			r.timeline(g, v.at.Add(-before), v.at.Add(after), append(g.judge.around(v.key, v.seq, v.at), r.records.lines(r.journal, v.about...)...))
		}
	}
}

// slowest prints what led to the longest wait of each group.
func (r *run) slowest() {
	for _, g := range r.groups {
		s := g.judge.slowest
		if s.by == nil {
			continue
		}
		fmt.Fprintf(r.out, "\nSLOWEST in %s (seed %d): key %q: %d was accepted at %s and handled %s later at %s\n",
			g, r.options.Seed, s.by.key, s.by.seq, r.journal.offset(s.published), s.took.Round(10*time.Millisecond), s.by.instance)
		r.timeline(g, s.published.Add(-2*time.Second), s.by.begun.Add(after), g.judge.around(s.by.key, s.by.seq, s.by.begun))
	}
}

// again prints what led to the first few bursts of duplicates.
func (r *run) again() {
	for _, g := range r.groups {
		for n, x := range g.judge.again {
			if n == shownViolations {
				break
			}
			fmt.Fprintf(r.out, "\nMANY DUPLICATES in %s (seed %d): key %q: %d again at %s, at %s\n", g, r.options.Seed, x.key, x.seq, x.instance, r.journal.offset(x.begun))
			r.timeline(g, x.begun.Add(-before), x.begun.Add(after), g.judge.around(x.key, x.seq, x.begun))
		}
	}
}

// timeline prints what happened in a time, together with lines of the same form.
func (r *run) timeline(g *group, from, to time.Time, lines []string) {
	var others []string
	for _, other := range r.groups {
		others = append(others, other.String())
	}
	about := strings.Join(lines, " ")
	lines = append(lines, r.journal.around(from, to, func(e entry) bool {
		switch e.what {
		case "VIOLATION":
			return false // each has a timeline of its own
		case "session", "server": // of the members that had to do with it
			name, _, _ := strings.Cut(e.text, " ")
			return strings.Contains(about, name[:strings.LastIndex(name, "/")+1])
		}
		return !slices.ContainsFunc(others, func(o string) bool { return o != g.String() && strings.Contains(e.text, o) })
	})...)
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprintln(r.out, "  "+l)
	}
	if n := r.records.missing(); n > 0 {
		fmt.Fprintf(r.out, "  (%d records of what instances got and said are missing, for want of room)\n", n)
	}
}

// around are the executions of a message and its neighbours at about a time.
func (j *judge) around(key string, seq uint64, at time.Time) []string {
	const (
		nearSeq = 2
		near    = 10 * time.Second
	)
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for life, e := range j.epochs {
		k := e.keys[key]
		if k == nil {
			continue
		}
		for n, runs := range k.runs {
			if n+nearSeq < seq || n > seq+nearSeq {
				continue
			}
			for _, x := range runs {
				end := x.finished
				if end.IsZero() {
					end = time.Now()
				}
				if end.Before(at.Add(-near)) || x.begun.After(at.Add(near)) {
					continue
				}
				state := "settled"
				if !x.settled {
					state = "not settled " + x.note
				}
				lines = append(lines, fmt.Sprintf("%9.3fs  %-16s %d of %s at %s until %s, stored %d, delivery %d, life %d, %s", x.begun.Sub(j.journal.began).Seconds(), "handler",
					x.seq, x.key, x.instance, j.journal.offset(end), x.stored, x.times, life, state))
			}
		}
	}
	return lines
}

func (r *run) table(results map[*group]audited) {
	kinds, faults := r.journal.faults()
	slices.Sort(kinds)
	fmt.Fprintf(r.out, "\nseed %d: faults for %s, settled %s later\n", r.options.Seed, r.options.Duration,
		time.Since(time.Unix(0, r.ended.Load())).Round(time.Second))
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		fmt.Fprintf(w, "  %s\t%d\n", k, faults[k])
	}
	w.Flush()
	fmt.Fprintln(r.out)
	fmt.Fprintln(w, strings.Join([]string{"GROUP", "MESSAGES", "HANDLED", "EXECUTIONS", "DUPLICATES EXPLAINED", "UNEXPLAINED", "LOST", "STUCK", "ORDER", "OVERLAPS", "IN PARTITION", "ENDED", "NOT SOURCED BY SERVER", "SOURCED TWICE", "GIVEN OUT EARLY BY SERVER", "LATE", "SLOWEST"}, "\t"))
	for _, g := range r.groups {
		c, a := g.judge.counts(), results[g]
		ended, partition := 0, 0
		for _, v := range g.judge.bad {
			switch v.kind {
			case "ended":
				ended++
			case "partition":
				partition++
			}
		}
		name := g.String()
		if n := len(g.judge.epochs); n > 1 {
			name += fmt.Sprintf(" (%d lives)", n)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", name, c.published, c.handled, c.executions,
			c.explained, c.unexplained, len(a.lost), a.stuck, c.order, c.overlap, partition, ended, len(a.notSourced), c.sourceTwice, c.early, c.late, c.slowest.Round(10*time.Millisecond))
	}
	w.Flush()
	for _, line := range slices.Concat(r.journal.all("sourced twice"), r.journal.all("many again"), r.journal.all(givenOutEarly)) {
		fmt.Fprintln(r.out, line)
	}
	for _, g := range r.groups {
		if a := results[g]; len(a.notSourced) > 0 {
			first, last := a.notSourced[0], a.notSourced[len(a.notSourced)-1]
			fmt.Fprintf(r.out, "%s: the server never sourced %d messages, published from %s to %s; every message that %s did hold was handled\n",
				g, len(a.notSourced), r.journal.offset(first.published), r.journal.offset(last.published), g.consumerStream())
		}
	}
}
