package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// ownership is who owns which partition, as stored on the server.
type ownership struct {
	owner  []string // by partition; empty if nobody does
	stored time.Time
}

// newOwnership turns member → partitions around.
func newOwnership(partitions int, assignments map[string][]int) ownership {
	o := ownership{owner: make([]string, partitions)}
	for member, list := range assignments {
		for _, p := range list {
			if p >= 0 && p < partitions {
				o.owner[p] = member
			}
		}
	}
	return o
}

// ownership reads the group back from the server, rather than to believe what
// Terraform says about it.
func (d *demo) ownership(ctx context.Context) (ownership, error) {
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, d.js, stream, d.group)
	if err != nil {
		return ownership{}, err
	}
	o := newOwnership(int(c.MaxMembers), c.Assignments())
	kv, err := d.js.KeyValue(ctx, pcgroups.ElasticBucket)
	if err != nil {
		return ownership{}, fmt.Errorf("opening bucket %s: %w", pcgroups.ElasticBucket, err)
	}
	entry, err := kv.Get(ctx, pcgroups.ComposeKey(stream, d.group))
	if err != nil {
		return ownership{}, fmt.Errorf("reading the group's entry in bucket %s: %w", pcgroups.ElasticBucket, err)
	}
	o.stored = entry.Created()
	return o, nil
}

func (o ownership) has(member string) bool { return slices.Contains(o.owner, member) }

// partitions of the member, ascending.
func (o ownership) partitions(member string) []int {
	var list []int
	for p, owner := range o.owner {
		if owner == member {
			list = append(list, p)
		}
	}
	return list
}

// members are those that own something, sorted.
func (o ownership) members() []string {
	set := make(map[string]bool)
	for _, m := range o.owner {
		if m != "" {
			set[m] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// move is a partition that changes hands.
type move struct {
	partition int
	from, to  string
}

func moves(before, after ownership) []move {
	var list []move
	for p, to := range after.owner {
		if from := before.owner[p]; from != to {
			list = append(list, move{p, from, to})
		}
	}
	return list
}

// owners records who really handles a partition's orders, and since when.
type owners struct {
	mu      sync.Mutex
	since   map[int]reign
	changed chan struct{} // closed and replaced at every change
}

type reign struct {
	member string
	began  time.Time
}

func newOwners() *owners {
	return &owners{since: make(map[int]reign), changed: make(chan struct{})}
}

// note is called for every order that a member begins.
func (o *owners) note(partition int, member string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since[partition].member == member {
		return
	}
	o.since[partition] = reign{member, time.Now()}
	close(o.changed)
	o.changed = make(chan struct{})
}

// seen leaves out the partitions without traffic: no customer may belong to
// them, and then nobody can be seen to take them over.
func (o *owners) seen(list []move) []move {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(list, func(m move) bool { return o.since[m.partition].member == "" })
}

// wait returns when every move has been seen to happen, with the times.
func (o *owners) wait(ctx context.Context, list []move) ([]time.Time, error) {
	for {
		o.mu.Lock()
		var times []time.Time
		var missing []int
		for _, m := range list {
			if r := o.since[m.partition]; r.member == m.to {
				times = append(times, r.began)
			} else {
				missing = append(missing, m.partition)
			}
		}
		changed := o.changed
		o.mu.Unlock()
		if len(missing) == 0 {
			return times, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("partitions %s", ranges(missing)), ctx.Err())
		}
	}
}
