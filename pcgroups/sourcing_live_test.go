//go:build cluster

package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// livePatience is how long a cluster may take for an election on a busy machine.
const livePatience = 60 * time.Second

// sourcingCluster is a cluster with an elastic group.
type sourcingCluster struct {
	t *testing.T
	*natstest.Cluster
	js  jetstream.JetStream
	ctx context.Context
}

// newSourcingCluster creates the group with its work queue on all three servers,
// and the origin on as many as asked for.
func newSourcingCluster(t *testing.T, originReplicas int) *sourcingCluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	c := &sourcingCluster{t: t, Cluster: natstest.StartCluster(t, 3), ctx: ctx}
	c.js = c.JetStream()
	c.ok(c.js.CreateStream(ctx, jetstream.StreamConfig{Name: "O", Subjects: []string{"o.*"}, Replicas: originReplicas}))
	c.ok(c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: ElasticBucket, Replicas: 3}))
	c.ok(CreateElastic(ctx, c.js, "O", "g", 4, []PartitioningFilter{{Filter: "o.*", PartitioningWildcards: []int{1}}}, -1, -1))
	s, err := c.js.Stream(ctx, "O-g")
	c.ok(s, err)
	config := s.CachedInfo().Config
	config.Replicas = 3
	c.ok(c.js.UpdateStream(ctx, config))
	c.WaitReady()
	c.eventually(func(info *jetstream.StreamInfo) error {
		if info.Cluster == nil || len(info.Cluster.Replicas) != 2 || info.Sources[0].Active < 0 {
			return fmt.Errorf("not on three servers or not connected yet: %+v %+v", info.Cluster, info.Sources[0])
		}
		for _, p := range info.Cluster.Replicas {
			if !p.Current {
				return fmt.Errorf("%s is not current", p.Name)
			}
		}
		return nil
	})
	return c
}

func (c *sourcingCluster) ok(_ any, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// eventually waits for what the work-queue stream's leader says.
func (c *sourcingCluster) eventually(cond func(*jetstream.StreamInfo) error) {
	c.t.Helper()
	natstest.Eventually(c.t, livePatience, func() error {
		ctx, cancel := context.WithTimeout(c.ctx, time.Second)
		defer cancel()
		s, err := c.js.Stream(ctx, "O-g")
		if err != nil {
			return err
		}
		return cond(s.CachedInfo())
	})
}

// send publishes n messages, each until it is acknowledged.
func (c *sourcingCluster) send(n int) {
	c.t.Helper()
	for i := range n {
		natstest.Eventually(c.t, livePatience, func() error {
			ctx, cancel := context.WithTimeout(c.ctx, time.Second)
			defer cancel()
			_, err := c.js.Publish(ctx, fmt.Sprintf("o.%d", i%7), nil)
			return err
		})
	}
}

func (c *sourcingCluster) arrived(n uint64) {
	c.t.Helper()
	c.eventually(func(info *jetstream.StreamInfo) error {
		if info.State.LastSeq < n {
			return fmt.Errorf("%d of %d arrived", info.State.LastSeq, n)
		}
		return nil
	})
}

// move makes a server the leader of a stream, and waits until it is.
func (c *sourcingCluster) move(stream string, node int) {
	c.t.Helper()
	body, _ := json.Marshal(map[string]any{"placement": map[string]string{"preferred": fmt.Sprint("node-", node)}})
	natstest.Eventually(c.t, livePatience, func() error {
		if c.StreamLeader(stream) == node {
			return nil
		}
		m, err := c.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, body, time.Second)
		if err == nil && strings.Contains(string(m.Data), `"error"`) {
			err = errors.New(string(m.Data))
		}
		return errors.Join(err, errors.New("not the leader yet"))
	})
}

// watch is a watch of the group, whose looks the test takes itself or that runs.
func (c *sourcingCluster) watch(tell func(any)) *sourceWatch {
	c.t.Helper()
	return newSourceWatch(c.js, "O", "g", func() bool { return true }, tell)
}

// restart has several programs restart sourcing at once, again and again until one
// has.
func (c *sourcingCluster) restart(programs int, opts ...RestartOption) *Restart {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, livePatience)
	defer cancel()
	succeeded := make(chan *Restart, programs)
	var wg sync.WaitGroup
	for range programs {
		js := c.JetStream()
		wg.Go(func() {
			for ctx.Err() == nil && len(succeeded) == 0 {
				r, err := RestartSourcing(ctx, js, "O", "g", opts...)
				switch {
				case err == nil:
					succeeded <- r
				case !errors.Is(err, ErrNotStalled) && ctx.Err() == nil:
					c.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(succeeded) == 0 {
		c.t.Fatal("sourcing was not restarted")
	}
	return <-succeeded
}

// TestSourcingStall makes the stall that users met: the work-queue stream gets a
// new leader while the origin has none. It must be told, by a watch and by
// DescribeElastic, and RestartSourcing must end it, but not while its rules do not
// hold, and exactly.
func TestSourcingStall(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	c := newSourcingCluster(t, 1)
	b := c.StreamLeader("O")
	first, second := (b+1)%3, (b+2)%3
	c.move("O-g", first)
	c.send(20)
	c.arrived(20)
	d, err := DescribeElastic(c.ctx, c.js, "O", "g")
	c.ok(d, err)
	if d.SourceStalled != nil || d.SourcePlaceLost || d.SourceSeq != 20 {
		t.Fatalf("before: %+v", d)
	}

	told := make(chan any, 10)
	watching, stop := context.WithCancel(c.ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	w := c.watch(func(what any) { told <- what })
	watches.Go(func() { w.run(watching) })

	// The one request that gets lost is seen on its way.
	asked, err := c.js.Conn().SubscribeSync("$JS.API.CONSUMER.CREATE.O.>")
	c.ok(asked, err)
	c.StopNode(b)
	c.move("O-g", second)
	_, err = asked.NextMsgWithContext(c.ctx)
	c.ok(nil, err)
	stood := time.Now()
	c.RestartNode(b)
	c.send(30)

	if _, err := RestartSourcing(c.ctx, c.js, "O", "g"); time.Since(stood) < 9*time.Second && !errors.Is(err, ErrNotStalled) {
		t.Errorf("restarted under a leader that is new: %v", err)
	}
	next := func() any {
		select {
		case what := <-told:
			return what
		case <-c.ctx.Done():
			t.Fatal("nothing was told")
			return nil
		}
	}
	stall, ok := next().(SourceStall)
	if !ok || stall.Last != 20 || stall.Next != 21 {
		t.Fatalf("told %+v", stall)
	}
	t.Logf("figure stall_told_after_ms %d", time.Since(stood).Milliseconds())
	d, err = DescribeElastic(c.ctx, c.js, "O", "g")
	c.ok(d, err)
	if d.SourceStalled == nil || d.SourceStalled.Next != 21 || d.SourceLag != 0 {
		t.Errorf("described as %+v, %+v", d, d.SourceStalled)
	}

	moves, err := c.js.Conn().SubscribeSync("$JS.API.STREAM.LEADER.STEPDOWN.O-g")
	c.ok(moves, err)
	done := c.restart(3, PreferServer(fmt.Sprint("node-", first)))
	if n, _, err := moves.Pending(); n != 1 || err != nil {
		t.Errorf("the leader was moved %d times by three at once, %v", n, err)
	}
	t.Logf("figure stall_ended_ms %d (by itself: 40000)", done.Took.Milliseconds())
	if done.Skip != nil || done.To != fmt.Sprint("node-", first) || time.Since(stood) > 38*time.Second {
		t.Errorf("%+v after %v", done, time.Since(stood))
	}
	if _, ok := next().(sourceRecovered); !ok {
		t.Error("the end was not told")
	}
	c.arrived(50)
	a, err := AuditElastic(c.ctx, c.js, "O", "g", 0, 0)
	c.ok(a, err)
	if !a.Complete() || a.Repeated > 0 || a.Sourced != 50 {
		t.Errorf("audit: %+v", a)
	}
	if _, err := RestartSourcing(c.ctx, c.js, "O", "g"); !errors.Is(err, ErrNotStalled) {
		t.Errorf("restarted again: %v", err)
	}
	if len(told) > 0 {
		t.Errorf("also told %+v", <-told)
	}
}

// Traffic that comes and goes while leaders are handed over in good order must
// alarm nobody, although the looks, far closer here than in a session, see every
// state in between: leaders that have not connected yet or are still catching up.
func TestSourcingWithoutFalseAlarms(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	c := newSourcingCluster(t, 3)
	w := c.watch(func(what any) {
		switch what := what.(type) {
		case SourceStall:
			t.Logf("told %+v", what)
		case sourceRecovered:
			// Now and then the server really stands still here, for some 40 s.
			if what.after < 20*time.Second {
				t.Errorf("told of a stall that was over after %v", what.after)
			}
		default:
			t.Errorf("told %+v", what)
		}
	})
	looking, stop := context.WithCancel(c.ctx)
	var looks sync.WaitGroup
	looks.Go(func() {
		n := 0
		for looking.Err() == nil {
			w.once(looking)
			n++
			_ = pause(looking, 20*time.Millisecond)
		}
		t.Logf("%d looks", n)
	})
	sent := uint64(0)
	for round := range 6 {
		c.send(100)
		sent += 100
		c.move("O-g", (c.StreamLeader("O-g")+1)%3)
		c.send(50)
		sent += 50
		if round%2 == 1 {
			c.move("O", (c.StreamLeader("O")+1)%3)
		}
		c.arrived(sent)
	}
	stop()
	looks.Wait()
	a, err := AuditElastic(c.ctx, c.js, "O", "g", 0, 0)
	c.ok(a, err)
	if !a.Complete() || a.Repeated > 0 {
		t.Errorf("audit: %+v", a)
	}
}
