package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

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
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, stream, "workers", 4, byKeyOf(stream), -1, -1, pcgroups.WithMembers(members...))
	must(f.t, err)
}

func (f *clusterFixture) config(stream string) jetstream.StreamConfig {
	f.t.Helper()
	s, err := f.js.Stream(f.ctx(), stream)
	must(f.t, err)
	return s.CachedInfo().Config
}

// stepDown has a leader hand over and waits for the next one. During an election
// nobody answers.
func (f *clusterFixture) stepDown(what string) {
	f.t.Helper()
	natstest.Eventually(f.t, clusterPatience, func() error {
		answer, err := f.js.Conn().Request("$JS.API."+what, nil, time.Second)
		if err != nil {
			return err
		}
		if string(answer.Data) == "" {
			return errors.New("no answer")
		}
		return nil
	})
}

// flow is traffic on one group, and what its handlers make of it.
type flow struct {
	f      *clusterFixture
	stream string
	check  *checker.Checker
	quit   chan struct{}
	wg     sync.WaitGroup
	mu     sync.Mutex
	sent   int
}

// startFlow publishes until stopped. A publish that fails is repeated, with an id
// by which it is stored once, so that no failure of it counts as a loss.
func (f *clusterFixture) startFlow(stream string, keys int) *flow {
	w := &flow{f: f, stream: stream, check: checker.New(), quit: make(chan struct{})}
	for k := range keys {
		w.wg.Go(func() { w.publish(fmt.Sprintf("k%d", k)) })
	}
	f.t.Cleanup(w.stop)
	return w
}

func (w *flow) publish(key string) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_, err := w.f.js.Publish(ctx, w.stream+"."+key, []byte(strconv.FormatUint(n, 10)), jetstream.WithMsgID(fmt.Sprintf("%s-%s-%d", w.stream, key, n)))
			cancel()
			if err == nil {
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
		w.sent++
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

// member joins as an instance with a connection of its own.
func (w *flow) member(consume consumeFunc, name string, opts ...pcgroups.ConsumeOption) pcgroups.Session {
	w.f.t.Helper()
	s, err := consume(w.f.ctx(), w.f.cluster.JetStream(), w.stream, "workers", name, pcgroups.HandlerFunc(func(_ context.Context, m *pcgroups.Msg) error {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			return err
		}
		end := w.check.Begin(name, m.Subject()[len(w.stream)+1:], seq)
		end(false)
		end(m.Ack() == nil)
		return nil
	}), strict(2*time.Second), opts...)
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
