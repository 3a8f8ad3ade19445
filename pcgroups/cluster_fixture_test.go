package pcgroups_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// clusterPatience covers two unlucky elections, of up to nine seconds each.
const clusterPatience = 90 * time.Second

// clusterFixture is a cluster of three.
type clusterFixture struct {
	t       *testing.T
	cluster *natstest.Cluster
	js      jetstream.JetStream
}

func newClusterFixture(t *testing.T) *clusterFixture {
	t.Helper()
	c := natstest.StartCluster(t, 3)
	return &clusterFixture{t: t, cluster: c, js: c.JetStream()}
}

func (f *clusterFixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), clusterPatience)
	f.t.Cleanup(cancel)
	return ctx
}

// origin creates a stream of subjects <name>.*, for a static group with the
// partition in front.
func (f *clusterFixture) origin(name string, replicas int, storage jetstream.StorageType, static bool) {
	f.t.Helper()
	c := jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}, Replicas: replicas, Storage: storage}
	if static {
		c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: name + ".*", Destination: pcgroups.PartitioningTransformDestination(byKeyOf(name)[0], 4)}
	}
	_, err := f.js.CreateStream(f.ctx(), c)
	must(f.t, err)
}

func byKeyOf(stream string) []pcgroups.PartitioningFilter {
	return []pcgroups.PartitioningFilter{{Filter: stream + ".*", PartitioningWildcards: []int{1}}}
}

func (f *clusterFixture) elastic(stream string, members ...string) {
	f.t.Helper()
	f.elasticOf(4, stream, members...)
}

func (f *clusterFixture) elasticOf(partitions uint, stream string, members ...string) {
	f.t.Helper()
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, stream, "workers", partitions, byKeyOf(stream), -1, -1, pcgroups.WithMembers(members...))
	must(f.t, err)
}

func (f *clusterFixture) config(stream string) jetstream.StreamConfig {
	f.t.Helper()
	s, err := f.js.Stream(f.ctx(), stream)
	must(f.t, err)
	return s.CachedInfo().Config
}

// stepDown has a leader hand over. During an election nobody answers, or the answer
// is that there is no leader.
func (f *clusterFixture) stepDown(what string) {
	f.t.Helper()
	natstest.Eventually(f.t, clusterPatience, func() error {
		answer, err := f.js.Conn().Request("$JS.API."+what, nil, time.Second)
		if err != nil {
			return err
		}
		if len(answer.Data) == 0 || bytes.Contains(answer.Data, []byte(`"error"`)) {
			return fmt.Errorf("%s: %s", what, answer.Data)
		}
		return nil
	})
}

// flow is traffic on one group, and what its handlers make of it.
type flow struct {
	f      *clusterFixture
	stream string
	dial   func(...nats.Option) jetstream.JetStream // for the members
	config jetstream.ConsumerConfig
	work   time.Duration // of a handler
	every  time.Duration // a message of each key is published

	check *checker.Checker
	quit  chan struct{}
	wg    sync.WaitGroup

	joined int // instances

	mu       sync.Mutex
	stored   []uint64           // the sequences of what was published
	arrivals []pcgroups.Arrival // of what was acknowledged, for elastic groups
}

func (f *clusterFixture) newFlow(stream string) *flow {
	w := &flow{f: f, stream: stream, config: strict(2 * time.Second), every: 100 * time.Millisecond, check: checker.New(), quit: make(chan struct{})}
	if f.cluster != nil {
		w.dial = f.cluster.JetStream
	}
	return w
}

// startFlow makes a flow and has it publish.
func (f *clusterFixture) startFlow(stream string, keys int) *flow {
	w := f.newFlow(stream)
	w.start(keys)
	return w
}

// start publishes until stopped. A publish that fails is repeated, with an id
// by which it is stored once, so that no failure of it counts as a loss.
func (w *flow) start(keys int) {
	for k := range keys {
		w.wg.Go(func() { w.publish(fmt.Sprintf("k%d", k)) })
	}
	w.f.t.Cleanup(w.stop)
}

func (w *flow) publish(key string) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		var stored *jetstream.PubAck
		for stored == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			ack, err := w.f.js.Publish(ctx, w.stream+"."+key, []byte(strconv.FormatUint(n, 10)), jetstream.WithMsgID(fmt.Sprintf("%s-%s-%d", w.stream, key, n)))
			cancel()
			if err == nil {
				stored = ack
				break
			}
			select {
			case <-w.quit: // whether it arrived is not known, so it is not counted
				return
			case <-tick.C:
			}
		}
		w.check.Published(key, n)
		w.mu.Lock()
		w.stored = append(w.stored, stored.Sequence)
		w.mu.Unlock()
	}
}

func (w *flow) stop() {
	select {
	case <-w.quit:
	default:
		close(w.quit)
	}
	w.wg.Wait()
}

// more waits until n more messages were handled.
func (w *flow) more(n int) {
	w.f.t.Helper()
	if err := w.check.WaitHandled(w.f.ctx(), w.check.Verdict().Handled+n); err != nil {
		w.f.t.Fatal(w.stream, err)
	}
}

// handler records an instance's executions, works for a while and acknowledges.
func (w *flow) handler(instance string) func(jetstream.Msg) {
	return pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			return err
		}
		end := w.check.Begin(instance, m.Subject()[len(w.stream)+1:], seq)
		if w.work > 0 {
			select {
			case <-time.After(w.work):
			case <-ctx.Done():
			}
		}
		end(false)
		acked := m.Ack() == nil
		end(acked)
		if a, ok := pcgroups.ArrivalOf(m); ok && acked {
			w.mu.Lock()
			w.arrivals = append(w.arrivals, a)
			w.mu.Unlock()
		}
		return nil
	})
}

// member joins as an instance with a connection of its own.
func (w *flow) member(consume consumeFunc, name string, opts ...pcgroups.ConsumeOption) pcgroups.Session {
	w.f.t.Helper()
	w.joined++
	s, err := consume(w.f.ctx(), w.dial(), w.stream, "workers", name, w.handler(fmt.Sprintf("%s/%d", name, w.joined)), w.config, opts...)
	must(w.f.t, err)
	w.f.t.Cleanup(func() {
		s.Stop()
		if err := s.Wait(w.f.ctx()); err != nil {
			w.f.t.Errorf("%s of %s ended with %v", name, w.stream, err)
		}
	})
	return s
}

// finish stops publishing and waits until everything is handled, in order and by
// one at a time. An acknowledgement may get lost with the server it was sent to,
// so a message may be handled twice.
func (w *flow) finish() {
	w.f.t.Helper()
	w.stop()
	natstest.Eventually(w.f.t, clusterPatience, func() error {
		if v := w.check.Verdict(); v.Lost > 0 {
			return fmt.Errorf("%s: %v %q", w.stream, v, v.Examples)
		}
		return nil
	})
	v := w.check.Verdict()
	if v.OutOfOrder > 0 || v.Overlapping > 0 {
		w.f.t.Errorf("%s: %v %q", w.stream, v, v.Examples)
	}
	w.f.t.Logf("%s: %d messages, %v", w.stream, v.Published, v)
}
