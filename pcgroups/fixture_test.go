package pcgroups_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// patience is how long a test waits for what should take milliseconds.
const patience = 20 * time.Second

// strict is the consumer configuration of members that keep strict order.
func strict(ackWait time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: ackWait}
}

// fixture is a server with an ORDERS stream and what a test publishes to it.
type fixture struct {
	t     *testing.T
	srv   *natstest.Server
	js    jetstream.JetStream
	check *checker.Checker
	seq   map[string]uint64
}

func newFixture(t *testing.T, opts ...natstest.Option) *fixture {
	t.Helper()
	f := &fixture{t: t, srv: natstest.Start(t, opts...), check: checker.New(), seq: make(map[string]uint64)}
	f.js = f.srv.JetStream()
	return f
}

func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.t.Cleanup(cancel)
	return ctx
}

// stream creates a stream; with partitions it inserts the partition number that
// static groups need.
func (f *fixture) stream(name string, partitions int) {
	f.t.Helper()
	c := jetstream.StreamConfig{Name: name, Subjects: []string{"orders.*"}}
	if partitions > 0 {
		c.SubjectTransform = &jetstream.SubjectTransformConfig{
			Source: "orders.*",
			Destination: pcgroups.PartitioningTransformDestination(
				pcgroups.PartitioningFilter{Filter: "orders.*", PartitioningWildcards: []int{1}}, uint(partitions)),
		}
	}
	if _, err := f.js.CreateStream(f.ctx(), c); err != nil {
		f.t.Fatal(err)
	}
}

// elastic creates stream ORDERS with the elastic group "workers".
func (f *fixture) elastic(partitions uint, members ...string) {
	f.t.Helper()
	f.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", partitions,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers(members...))
	if err != nil {
		f.t.Fatal(err)
	}
}

// static creates stream ORDERS with the static group "workers".
func (f *fixture) static(partitions uint, members ...string) {
	f.t.Helper()
	f.stream("ORDERS", int(partitions))
	if _, err := pcgroups.CreateStatic(f.ctx(), f.js, "ORDERS", "workers", partitions, []string{"orders.*"}, members, nil); err != nil {
		f.t.Fatal(err)
	}
}

// publish sends n messages for each of the keys, one after the other.
func (f *fixture) publish(keys, n int) {
	f.t.Helper()
	for range n {
		for k := range keys {
			key := fmt.Sprintf("k%d", k)
			f.seq[key]++
			f.check.Published(key, f.seq[key])
			if _, err := f.js.Publish(f.ctx(), "orders."+key, []byte(strconv.FormatUint(f.seq[key], 10))); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// handler records a member's executions, works for a while and acknowledges.
func (f *fixture) handler(member string, work time.Duration) func(jetstream.Msg) {
	return pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			return err
		}
		end := f.check.Begin(member, m.Subject()[len("orders."):], seq)
		if work > 0 {
			select {
			case <-time.After(work):
			case <-ctx.Done():
			}
		}
		// The acknowledgement may let the next message start elsewhere before it
		// returns here.
		end(false)
		end(m.Ack() == nil)
		return nil
	})
}

// member joins the group as an instance of a member and stops it with the test.
func (f *fixture) member(name string, work time.Duration, c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) pcgroups.Session {
	f.t.Helper()
	return f.join(pcgroups.ElasticConsume, name, f.handler(name, work), c, opts...)
}

type consumeFunc func(context.Context, jetstream.JetStream, string, string, string, func(jetstream.Msg), jetstream.ConsumerConfig, ...pcgroups.ConsumeOption) (pcgroups.Session, error)

func (f *fixture) join(consume consumeFunc, name string, h func(jetstream.Msg), c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) pcgroups.Session {
	f.t.Helper()
	s, err := consume(f.ctx(), f.js, "ORDERS", "workers", name, h, c, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		s.Stop()
		if err := s.Wait(f.ctx()); err != nil && f.ctx().Err() == nil {
			f.t.Logf("%s ended with %v", name, err)
		}
	})
	return s
}

// allHandled waits until everything published has been handled, and fails unless
// it was exactly once, in order, and never two at a time for a key.
func (f *fixture) allHandled(n int) {
	f.t.Helper()
	if err := f.check.WaitHandled(f.ctx(), n); err != nil {
		f.t.Fatal(err, f.check.Verdict())
	}
	if v := f.check.Verdict(); !v.OK() {
		f.t.Fatal(v, v.Examples)
	}
}

// waiting waits until n pull requests wait at a consumer.
func (f *fixture) waiting(stream, consumer string, n int) {
	f.t.Helper()
	natstest.Eventually(f.t, patience, func() error {
		c, err := f.js.Consumer(f.ctx(), stream, consumer)
		if err != nil {
			return err
		}
		if got := c.CachedInfo().NumWaiting; got != n {
			return fmt.Errorf("%d pulls wait, want %d", got, n)
		}
		return nil
	})
}

func waitDone(t *testing.T, s pcgroups.Session) error {
	t.Helper()
	select {
	case err := <-s.Done():
		return err
	case <-time.After(patience):
		t.Fatal("the session did not end")
		return nil
	}
}
