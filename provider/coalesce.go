package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// coalescingWindow is how long the first change of a group's members waits for
// others. Every write makes all members of the group rebalance, so ten members
// that are added at once should be one write.
const coalescingWindow = 250 * time.Millisecond

// coalescer joins the changes of single members of a group that are asked for at
// about the same time into one write for those that are added and one for those
// that are dropped.
type coalescer struct {
	mu   sync.Mutex
	open map[[2]string]*batch // those that still wait for others
}

// batch is the changes that are written together.
type batch struct {
	add, drop []string
	waiting   int // callers that still want an answer
	cancel    context.CancelFunc
	done      chan struct{}
	failed    map[string]error // by member, when done is closed
}

// noRoomError refuses a member for want of a partition.
type noRoomError struct{ maxMembers uint }

func (e *noRoomError) Error() string {
	return fmt.Sprintf("the group has %s and as many members; another one would have nothing to do. Drop a member first", count(int(e.maxMembers), "partition"))
}

// mappedError refuses a single member of a group with an explicit assignment.
type mappedError struct{}

func (*mappedError) Error() string {
	return "the group uses member_mappings, which give every partition to one member, so no member can be added on its own. " +
		"Manage the mappings with pcgroups_elastic_membership, or clear them first"
}

// change adds or drops a member, together with what others ask for meanwhile.
func (c *coalescer) change(ctx context.Context, js jetstream.JetStream, group groupRef, member string, add bool) error {
	b := c.join(js, group, member, add)
	select {
	case <-b.done:
		return b.failed[member]
	case <-ctx.Done():
		c.leave(group, b, member)
		return context.Cause(ctx)
	}
}

func (c *coalescer) join(js jetstream.JetStream, group groupRef, member string, add bool) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{group.stream, group.name}
	b := c.open[key]
	if b == nil {
		ctx, cancel := context.WithCancel(context.Background())
		b = &batch{cancel: cancel, done: make(chan struct{}), failed: make(map[string]error)}
		if c.open == nil {
			c.open = make(map[[2]string]*batch)
		}
		c.open[key] = b
		time.AfterFunc(coalescingWindow, func() {
			c.mu.Lock()
			delete(c.open, key)
			c.mu.Unlock()
			b.write(ctx, js, group)
			cancel()
			close(b.done)
		})
	}
	b.waiting++
	if add {
		b.add = append(b.add, member)
	} else {
		b.drop = append(b.drop, member)
	}
	return b
}

// leave withdraws a change that is not being written yet, and ends a write that
// nobody waits for any more.
func (c *coalescer) leave(group groupRef, b *batch, member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.waiting--
	if c.open[[2]string{group.stream, group.name}] == b {
		left := func(m string) bool { return m == member }
		b.add, b.drop = slices.DeleteFunc(b.add, left), slices.DeleteFunc(b.drop, left)
		return // others may still join it
	}
	if b.waiting == 0 {
		b.cancel()
	}
}

// write adds before it drops, so that a group whose members all change is never
// without any.
func (b *batch) write(ctx context.Context, js jetstream.JetStream, group groupRef) {
	if len(b.add) != 0 {
		b.fail(b.add, b.writeAdded(ctx, js, group))
	}
	if len(b.drop) != 0 {
		b.fail(b.drop, writeDropped(ctx, js, group, b.drop))
	}
}

func (b *batch) fail(members []string, err error) {
	for _, m := range members {
		if err != nil && b.failed[m] == nil {
			b.failed[m] = err
		}
	}
}

func (b *batch) writeAdded(ctx context.Context, js jetstream.JetStream, group groupRef) error {
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
	if err != nil {
		return err
	}
	if len(c.MemberMappings) != 0 {
		return &mappedError{}
	}
	has := distinct(c.Members)
	var fit []string
	for _, m := range b.add {
		switch {
		case slices.Contains(has, m):
			continue
		case uint(len(has)) >= c.MaxMembers:
			b.failed[m] = &noRoomError{c.MaxMembers}
			continue
		}
		has, fit = append(has, m), append(fit, m)
	}
	if len(fit) == 0 {
		return nil
	}
	_, err = pcgroups.AddMembers(ctx, js, group.stream, group.name, fit)
	return err
}

// writeDropped succeeds for members that are gone already, with or without their
// group.
func writeDropped(ctx context.Context, js jetstream.JetStream, group groupRef, members []string) error {
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
	if err == nil && len(c.MemberMappings) == 0 {
		_, err = pcgroups.DeleteMembers(ctx, js, group.stream, group.name, members)
	}
	if errors.Is(err, pcgroups.ErrGroupNotFound) {
		return nil
	}
	return err
}
