package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// WithAutoMembership makes a session of [ElasticConsume] look after its group's
// membership, so that nobody else needs to:
//
//   - It adds its member when it joins.
//   - Stop lets the running handlers finish, waits for what they have not settled
//     (at most until the ack deadline), deletes the member's consumer and drops the
//     member, so that its partitions move within milliseconds. If another instance
//     of the member runs, it only hands over to that. A session that ends in any
//     other way leaves its member in the group, to be started again or evicted.
//   - While it runs it evicts members that are gone for good. The server deletes a
//     crashed member's consumer after one AckWait if it was idle, and after up to
//     3.5 if it had a message in flight (measured); evictAfter after that one of the
//     sessions drops the member.
//
// A member is evicted only if mayEvict accepts its name, it has partitions, its
// consumer is gone, and no other consumer holds its partitions; if all others
// (but those evicted with it) have their consumers with exactly their partitions;
// and if that, the group's configuration, and this session's own consuming have
// not been interrupted for evictAfter, or three times the longest effective
// AckWait of the members' consumers if that is longer. So nobody is evicted during
// a rebalance; a member that mayEvict refuses and that does not run holds up all
// evictions, until it runs or an administrator drops it. The write is refused by
// the server if the configuration has changed since, so several sessions may try
// at once. If nobody consumes at all, because all partitions belong to members
// that are gone, a member that waits for partitions evicts them after twice the
// time.
//
// mayEvict must accept only names whose sessions can be dropped: those of
// programs that use this option, as they come back by themselves; a member of
// another program that is evicted waits until it is added again. It is called by
// a goroutine of the session and must return soon.
//
// A member that is dropped while its session runs, by an administrator or by
// mistake, is added again: the first time at once, then after evictAfter, and
// twice as long each time up to 8 times evictAfter, until it has stayed for 16
// times evictAfter. To make a member leave, stop its sessions. All instances of a
// member should use the option.
//
// The group may have more members than partitions. Only the first max_members
// names in byte order have partitions; the others are in the group, wait for their
// turn, and are not evicted while they wait, as nothing tells whether they run. One
// that has crashed meanwhile is evicted after its turn has come, evictAfter later.
//
// Whatever else manages the membership of the group must leave these members
// alone (in Terraform, do not set members or member_mappings).
//
// Five AckWaits and four seconds, or more, are a good evictAfter (the server adds
// up to a second to each of its waits): the members that have partitions are then
// those that run within twice that after the last one came, went or crashed.
//
// Joining fails with [ErrInvalidConfig] for a static group, without mayEvict, if
// evictAfter is less than three times the effective AckWait of the configuration
// (BackOff overrides AckWait), and for a group that uses member mappings.
//
// The session needs permission to change the group's configuration, and for
// CONSUMER.LIST, CONSUMER.NAMES and CONSUMER.DELETE of the group's stream. It looks
// at both about every quarter of evictAfter, by two requests.
func WithAutoMembership(evictAfter time.Duration, mayEvict func(name string) bool) ConsumeOption {
	return func(o *consumeOptions) { o.auto = &autoMembership{evictAfter, mayEvict} }
}

// autoMembership is the option as given.
type autoMembership struct {
	evictAfter time.Duration
	mayEvict   func(name string) bool
}

// check refuses what can not work.
func (m *autoMembership) check(fl *flavour, c jetstream.ConsumerConfig) error {
	if m == nil {
		return nil
	}
	if fl.mustBeMember {
		return badField("auto_membership", "is for elastic groups: the members of a %s group are fixed", fl.kind)
	}
	if m.mayEvict == nil {
		return badField("may_evict", "a function must be given that tells which members may be evicted")
	}
	c.AckWait = deriveTimers(c.AckWait).ackWait
	if wait := effectiveAckWait(c); m.evictAfter < 3*min(wait, longestPatience) {
		return badField("evict_after", "must be at least three times the AckWait, %v, as a member may need that long to take over its partitions", 3*min(wait, longestPatience))
	}
	return nil
}

var errMapped = errors.New("the group uses member mappings")

// enroll adds the member to the group, and returns the configuration then.
func (b *natsBackend) enroll(ctx context.Context) (now evConfig, added bool, err error) {
	c, err := changeMembership(ctx, b.js, b.stream, b.group, nil, true, nil, func(c *ElasticConsumerGroupConfig) error {
		if len(c.MemberMappings) != 0 {
			return errors.Join(badField("auto_membership", "%v, which fix who has what; remove them with DeleteMemberMappings, or join without it", errMapped), errMapped)
		}
		if added = !slices.Contains(c.Members, b.member); added {
			c.Members = sortedSet(append(slices.Clone(c.Members), b.member))
		}
		return nil
	})
	if err != nil {
		return now, false, err
	}
	v, err := b.fl.view(marshal(*c), b.member)
	return evConfig{view: v, revision: c.revision}, added, err
}

// resign drops the member from the group. If the group is gone, or not one that
// the member could have added itself to, there is nothing to do.
func (b *natsBackend) resign(ctx context.Context) (dropped bool, err error) {
	_, err = changeMembership(ctx, b.js, b.stream, b.group, nil, true, nil, func(c *ElasticConsumerGroupConfig) error {
		dropped = false
		if len(c.MemberMappings) != 0 {
			return errMapped
		}
		if left := slices.DeleteFunc(sortedSet(c.Members), func(m string) bool { return m == b.member }); len(left) != len(sortedSet(c.Members)) {
			c.Members, dropped = left, true
		}
		return nil
	})
	if errors.Is(err, ErrGroupNotFound) || errors.Is(err, errMapped) {
		return false, nil
	}
	return dropped && err == nil, err
}

// vacate deletes the member's consumer if it is the one created then and no other
// instance of the member uses it, and tells whether it is gone. Our pull is
// stopped and our pin given up.
func (b *natsBackend) vacate(ctx context.Context, created time.Time, pin string) (gone bool, err error) {
	for begun := time.Now(); ; {
		info, err := b.info(ctx)
		switch {
		case isGone(err):
			return true, nil
		case err != nil:
			return false, err
		case info.NumWaiting != 0:
			return false, nil
		}
		holder := pinOf(info)
		ours := info.Created.Equal(created) && (holder == "" && info.NumAckPending == 0 || holder != "" && holder == pin)
		if ours || b.deserted(info) {
			return true, deleteConsumer(ctx, b.js, b.consumerStream(), b.consumerName())
		}
		// Either another instance uses it and is between two pulls, or it was made or
		// pinned for us, and we were never told.
		if time.Since(begun) > 4*desertion {
			return false, nil
		}
		if err := jitter(ctx, 10); err != nil {
			return false, err
		}
	}
}

// leave gives up the consumer and drops the member, unless another instance of it
// runs.
func (l *loop) leave(ctx context.Context, mem *memory, a actLeave) (left evLeft) {
	l.auto.stop() // it would add the member again
	refused := func(err error) evLeft {
		left.err = fmt.Errorf("the member stays in the group, to be evicted by the others: %w", err)
		return left
	}
	b := l.auto.b
	if !b.connected() {
		return refused(errors.New("the connection is down"))
	}
	if err := l.handOver(ctx, mem); err != nil {
		return refused(err)
	}
	var err error
	if left.released, err = b.vacate(ctx, a.created, mem.pinID()); err != nil {
		left.released = false
		return refused(err)
	}
	if !left.released {
		return left // to the other instance
	}
	if left.dropped, err = b.resign(ctx); err != nil {
		return refused(err)
	}
	return left
}

// undo takes back what enroll did for a session that could not begin.
func (b *natsBackend) undo(enrolled bool) {
	if !enrolled || !b.connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = b.resign(ctx) // if it fails the others evict the member
}
