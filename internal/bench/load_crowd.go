package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// crowd is the large group.
type crowd struct {
	lab    *lab
	group  group
	owners *owners
	conns  []*nats.Conn

	mu       sync.Mutex
	sessions []pcgroups.Session
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
	consume := pcgroups.ElasticConsume
	if c.group.flavour == static {
		consume = pcgroups.StaticConsume
	}
	s, err := consume(ctx, js, c.group.stream, c.group.name, member, func(msg jetstream.Msg) {
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
