package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// footprint is what sessions could leave behind.
type footprint struct {
	goroutines, subscriptions, consumers int
}

// leaks counts what is left after many sessions on one connection have come and
// gone, half of them static.
func (r *run) leaks(ctx context.Context) ([]Row, error) {
	mine, err := r.leakSide(ctx, ours{}, r.cycles)
	if err != nil {
		return nil, fmt.Errorf("ours: %w", err)
	}
	theirs, err := r.leakSide(ctx, oracle{}, r.oracleCycles)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	row := func(name, of string, ours, oracle int) Row {
		return Row{Name: name, Ours: Number(ours), Other: Number(oracle), Details: []string{
			fmt.Sprintf("%+d %s after %d sessions of ours on one connection; oracle %+d after %d, which would be %+d after as many",
				ours, of, r.cycles, oracle, r.oracleCycles, oracle*r.cycles/r.oracleCycles)}}
	}
	return []Row{
		row("leak_goroutines", "goroutines", mine.goroutines, theirs.goroutines),
		row("leak_subscriptions", "subscriptions", mine.subscriptions, theirs.subscriptions),
		row("leak_kv_consumers", "consumers on the configuration buckets", mine.consumers, theirs.consumers),
	}, nil
}

// leakSide lets sessions come and go. Goroutines are those of the whole process,
// server included, so the members' consumers have to be gone both before and
// after.
func (r *run) leakSide(ctx context.Context, s side, cycles int) (footprint, error) {
	var left footprint
	l, err := openLab()
	if err != nil {
		return left, err
	}
	defer l.close()
	groups := []group{
		{flavour: static, stream: "STATIC", name: "leaks", partitions: 4, members: []string{"m1"}},
		{flavour: elastic, stream: "ELASTIC", name: "leaks", partitions: 4, members: []string{"m1"}},
	}
	for _, g := range groups {
		if err := l.createStream(ctx, g); err != nil {
			return left, err
		}
		if err := s.create(ctx, l.admin, g); err != nil {
			return left, err
		}
	}
	nc, js, err := l.connect("members")
	if err != nil {
		return left, err
	}
	defer nc.Close()
	cycle := func(n int) error {
		sess, err := s.consume(ctx, js, groups[n%2], "m1", handler(func(jetstream.Msg) {}),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, MaxAckPending: 1})
		if err != nil {
			return err
		}
		sess.Stop()
		r.stopped(s, ended(sess))
		return nil
	}
	for n := range 2 { // what the first sessions set up for good is no leak
		if err := cycle(n); err != nil {
			return left, err
		}
	}
	if err := l.waitForNoConsumer(ctx, groups[1]); err != nil {
		return left, err
	}
	before, err := l.settled(ctx, nc, footprint{})
	if err != nil {
		return left, err
	}
	for n := range cycles {
		if err := cycle(n); err != nil {
			return left, fmt.Errorf("session %d: %w", n, err)
		}
		if (n+1)%250 == 0 {
			r.say("  %s: %d of %d sessions", s.name(), n+1, cycles)
		}
	}
	if err := l.waitForNoConsumer(ctx, groups[1]); err != nil {
		return left, err
	}
	after, err := l.settled(ctx, nc, before)
	return footprint{after.goroutines - before.goroutines, after.subscriptions - before.subscriptions, after.consumers - before.consumers}, err
}

// waitForNoConsumer waits until an elastic group's member has expired.
func (l *lab) waitForNoConsumer(ctx context.Context, g group) error {
	return await(ctx, patience, func() error {
		switch _, err := l.admin.Consumer(ctx, g.consumerStream(), g.consumer("m1")); {
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			return nil
		case err != nil:
			return err
		}
		return errors.New("the member's consumer does not expire")
	})
}

// settled is the footprint once it is no more than it was, or has not changed for
// a second.
func (l *lab) settled(ctx context.Context, nc *nats.Conn, was footprint) (footprint, error) {
	now, err := l.footprint(ctx, nc)
	since := time.Now()
	for err == nil && time.Since(since) < time.Second && (now.goroutines > was.goroutines || now.subscriptions > was.subscriptions || now.consumers > was.consumers) {
		if err = pause(ctx, poll.Interval); err != nil {
			break
		}
		var next footprint
		if next, err = l.footprint(ctx, nc); next != now {
			now, since = next, time.Now()
		}
	}
	return now, err
}

func (l *lab) footprint(ctx context.Context, nc *nats.Conn) (footprint, error) {
	f := footprint{goroutines: runtime.NumGoroutine(), subscriptions: nc.NumSubscriptions()}
	for _, bucket := range []string{pcgroups.StaticBucket, pcgroups.ElasticBucket} {
		s, err := l.admin.Stream(ctx, "KV_"+bucket)
		if err != nil {
			return f, err
		}
		f.consumers += s.CachedInfo().State.Consumers
	}
	return f, nil
}
