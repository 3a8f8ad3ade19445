package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
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
	return rows
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

// loads has one large elastic group on one server, at several sizes.
func (r *run) loads(ctx context.Context) ([]Row, error) {
	defer profileHeap()()
	var results []loadResult
	for _, n := range r.load {
		got, err := r.loadAt(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("%d members: %w", n, err)
		}
		results = append(results, got)
		r.say("  %d members: %s", n, got)
	}
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
	return rows, nil
}

func (l loadResult) String() string {
	return fmt.Sprintf("%.0f sessions joined in %.0f ms and every partition had an owner after %.0f; %d rebalances of %.0f to %.0f ms, median %.0f; "+
		"%.1f KiB of heap a session and %.1f of the server, %.2f goroutines a session and %.2f of the server, %.2f subscriptions a session; stopped in %.0f ms",
		l.sessions, milliseconds(l.join), milliseconds(l.owned), len(l.rebalances), percentile(l.rebalances, 0), percentile(l.rebalances, 100), median(l.rebalances),
		l.use.heap/1024/l.sessions, l.use.serverHeap/1024/l.sessions, l.use.goroutines/l.sessions, l.use.serverGoroutines/l.sessions, l.use.subscriptions/l.sessions, milliseconds(l.stop))
}

// crowd is the large group.
type crowd struct {
	lab    *lab
	group  group
	owners *owners
	conns  []*nats.Conn

	mu       sync.Mutex
	sessions []pcgroups.Session
}

func (r *run) loadAt(ctx context.Context, members int) (loadResult, error) {
	out := loadResult{members: members, sessions: float64(members * loadInstances)}
	l, err := openLab()
	if err != nil {
		return out, err
	}
	defer l.close()
	g := group{flavour: elastic, stream: "BENCH", name: "load", partitions: r.loadParts}
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
	for n := range r.loadChanges {
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

// join has all instances join at once, as after a deployment, and waits until all
// consume.
func (c *crowd) join(ctx context.Context, js []jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	errs := make(chan error, len(c.group.members)*len(js))
	for _, member := range c.group.members {
		for _, j := range js {
			go func() { errs <- c.instance(ctx, j, member) }()
		}
	}
	var all []error
	for range cap(errs) {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (c *crowd) instance(ctx context.Context, js jetstream.JetStream, member string) error {
	s, err := pcgroups.ElasticConsume(ctx, js, c.group.stream, c.group.name, member, func(msg jetstream.Msg) {
		c.owners.handled(msg.Subject(), member)
		_ = msg.Ack()
	}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 10 * time.Second, MaxAckPending: 1})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.sessions = append(c.sessions, s)
	c.mu.Unlock()
	return s.WaitForConsuming(ctx, true)
}

// change drops a member from the middle, so that nearly all partitions move, or
// adds it again, and tells how long that took.
func (c *crowd) change(ctx context.Context, n int) (time.Duration, error) {
	at := len(c.group.members) / 2
	began := time.Now()
	if n%2 == 1 {
		if err := (ours{}).add(ctx, c.lab.admin, c.group, c.group.members[at]); err != nil {
			return 0, err
		}
		err := c.rule(ctx, c.group.members)
		return time.Since(began), err
	}
	rest := append(append([]string(nil), c.group.members[:at]...), c.group.members[at+1:]...)
	if err := (ours{}).drop(ctx, c.lab.admin, c.group, c.group.members[at]); err != nil {
		return 0, err
	}
	err := c.rule(ctx, rest)
	return time.Since(began), err
}

// rule returns when each partition had a message at its owner among these members.
// Where the owner before still takes it, another one is published.
func (c *crowd) rule(ctx context.Context, members []string) error {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	c.owners.expect(pcgroups.Assignments(c.group.partitions, members, nil))
	tick := time.NewTicker(loadTick)
	defer tick.Stop()
	for {
		for _, subject := range c.owners.silent() {
			if _, err := c.lab.admin.PublishAsync(subject, nil, jetstream.WithStallWait(patience)); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-c.owners.all():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%d of %d partitions have no owner: %w", c.owners.missing(), c.group.partitions, ctx.Err())
		}
	}
}

// stop ends all sessions at once.
func (c *crowd) stop(r *run) error {
	for _, s := range c.sessions {
		s.Stop()
	}
	var late error
	for _, s := range c.sessions {
		ctx, cancel := context.WithTimeout(context.Background(), loadPatience)
		err := s.Wait(ctx)
		if late = ctx.Err(); late != nil {
			err = fmt.Errorf("a session does not stop: %w", late)
		}
		cancel()
		r.stopped(ours{}, err)
	}
	c.sessions = nil
	return late
}

// close ends what is left after an error.
func (c *crowd) close() {
	for _, nc := range c.conns {
		nc.Close()
	}
}
