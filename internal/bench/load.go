package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// loadMembers are the sizes of the group under load; each member runs
// loadInstances instances.
var loadMembers = []int{10, 50, 100}

const (
	loadInstances = 3
	loadPatience  = 4 * patience
	// loadTick is how often a partition is looked at that nobody has.
	loadTick = 2 * time.Millisecond
)

// loadMetrics are measured at every size. Those of a session must not grow with
// the number of sessions.
var loadMetrics = []struct {
	name, unit string
	growth     bool // a row says how it grew
	of         func(loadResult) float64
}{
	{"join", "ms", true, func(l loadResult) float64 { return milliseconds(l.join) }},
	{"rebalance", "ms", true, func(l loadResult) float64 { return median(l.rebalances) }},
	{"heap", "KiB a session", true, func(l loadResult) float64 { return l.use.heap / 1024 / l.sessions }},
	{"goroutines", "a session", true, func(l loadResult) float64 { return l.use.goroutines / l.sessions }},
	{"subscriptions", "a session", true, func(l loadResult) float64 { return l.use.subscriptions / l.sessions }},
}

func loadRow(metric string, members int) string { return fmt.Sprintf("load_%s_%d", metric, members) }

func loadRows() []string {
	var rows []string
	for _, m := range loadMetrics {
		for _, n := range loadMembers {
			rows = append(rows, loadRow(m.name, n))
		}
	}
	for _, m := range loadMetrics {
		rows = append(rows, "load_growth_"+m.name)
	}
	for _, m := range loadMetrics {
		if m.name != "rebalance" {
			rows = append(rows, loadStaticRow(m.name))
		}
	}
	return rows
}

// loadStaticRow is about a static group of the largest size, which nobody can
// change.
func loadStaticRow(metric string) string {
	return loadRow("static_"+metric, loadMembers[len(loadMembers)-1])
}

// loadResult is what was measured at one size.
type loadResult struct {
	members    int
	sessions   float64
	join       time.Duration // of all sessions
	owned      time.Duration // until every partition was
	rebalances []float64     // milliseconds
	use        usage         // of all sessions
	stop       time.Duration
}

// loads has one large elastic group on one server, at several sizes, and then a
// static one.
func (r *run) loads(ctx context.Context) ([]Row, error) {
	defer profileHeap()()
	var results []loadResult
	for _, n := range r.load {
		got, err := r.loadAt(ctx, elastic, n)
		if err != nil {
			return nil, fmt.Errorf("%d members: %w", n, err)
		}
		results = append(results, got)
		r.say("  %d members: %s", n, got)
	}
	fixed, err := r.loadAt(ctx, static, r.load[len(r.load)-1])
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	r.say("  static, %d members: %s", fixed.members, fixed)
	var rows []Row
	for _, m := range loadMetrics {
		for _, l := range results {
			rows = append(rows, Row{Name: loadRow(m.name, l.members), Unit: m.unit, Ours: Number(m.of(l)), Other: Number(nan)})
		}
	}
	rows[0].Details = append(rows[0].Details, fmt.Sprintf("an elastic group of %d partitions; every member has %d instances, all in one process on %d connections; a join is until every session consumes, a rebalance is from the call that drops or adds one member until every partition had a message at its new owner",
		r.loadParts, loadInstances, loadInstances))
	for i, l := range results {
		rows[i].Details = append(rows[i].Details, l.String())
	}
	first, last := results[0], results[len(results)-1]
	for _, m := range loadMetrics {
		growth, what := m.of(last)/m.of(first), "for each session"
		switch m.name {
		case "join":
			growth /= last.sessions / first.sessions
		case "rebalance":
			what = "in all"
		}
		rows = append(rows, Row{Name: "load_growth_" + m.name, Ours: Number(growth), Other: Number(nan), Details: []string{
			fmt.Sprintf("%s with %d members over that with %d, %s", m.name, last.members, first.members, what)}})
	}
	for _, m := range loadMetrics {
		if m.name != "rebalance" {
			rows = append(rows, Row{Name: loadStaticRow(m.name), Unit: m.unit, Ours: Number(m.of(fixed)), Other: Number(nan)})
		}
	}
	rows[len(rows)-1].Details = append(rows[len(rows)-1].Details, "a static group: "+fixed.String())
	return rows, nil
}

func (l loadResult) String() string {
	rebalances := ""
	if len(l.rebalances) > 0 {
		rebalances = fmt.Sprintf("%d rebalances of %.0f to %.0f ms, median %.0f; ", len(l.rebalances), percentile(l.rebalances, 0), percentile(l.rebalances, 100), median(l.rebalances))
	}
	return fmt.Sprintf("%.0f sessions joined in %.0f ms and every partition had an owner after %.0f; %s"+
		"%.1f KiB of heap a session and %.1f of the server, %.2f goroutines a session and %.2f of the server, %.2f subscriptions a session; stopped in %.0f ms",
		l.sessions, milliseconds(l.join), milliseconds(l.owned), rebalances,
		l.use.heap/1024/l.sessions, l.use.serverHeap/1024/l.sessions, l.use.goroutines/l.sessions, l.use.serverGoroutines/l.sessions, l.use.subscriptions/l.sessions, milliseconds(l.stop))
}

func (r *run) loadAt(ctx context.Context, f flavour, members int) (loadResult, error) {
	out := loadResult{members: members, sessions: float64(members * loadInstances)}
	l, err := openLab()
	if err != nil {
		return out, err
	}
	defer l.close()
	g := group{flavour: f, stream: "BENCH", name: "load", partitions: r.loadParts}
	for i := range members {
		g.members = append(g.members, fmt.Sprintf("m%03d", i))
	}
	c := &crowd{lab: l, group: g}
	if c.owners, err = newOwners(g); err != nil {
		return out, err
	}
	if err := l.createStream(ctx, g); err != nil {
		return out, err
	}
	if err := (ours{}).create(ctx, l.admin, g); err != nil {
		return out, err
	}
	defer c.close()
	var js []jetstream.JetStream
	for i := range loadInstances {
		nc, j, err := l.connect("instances " + strconv.Itoa(i))
		if err != nil {
			return out, err
		}
		c.conns, js = append(c.conns, nc), append(js, j)
	}
	before := measureUsage(c.conns)
	began := time.Now()
	if err := c.join(ctx, js); err != nil {
		return out, err
	}
	out.join = time.Since(began)
	if err := c.rule(ctx, g.members); err != nil {
		return out, err
	}
	out.owned = time.Since(began)
	out.use = measureUsage(c.conns).minus(before)
	changes := r.loadChanges
	if f == static {
		changes = 0
	}
	for n := range changes {
		took, err := c.change(ctx, n)
		if err != nil {
			return out, fmt.Errorf("change %d of the membership: %w", n+1, err)
		}
		out.rebalances = append(out.rebalances, milliseconds(took))
	}
	began = time.Now()
	err = c.stop(r)
	out.stop = time.Since(began)
	return out, err
}
