package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var errNotConnected = errors.New("not connected")

// firstError is the first of two errors that is one.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// hitGroup carries out what an administrator may do.
func (r *run) hitGroup(ctx context.Context, s step) error {
	rng := rand.New(rand.NewPCG(s.pick, 0))
	switch s.kind {
	case stepDownMember:
		g, member := r.member(s.pick, func(*group) bool { return true })
		r.journal.fault(s.kind, "%s member %s", g, member)
		ask := pcgroups.ElasticMemberStepDown
		if g.static {
			ask = pcgroups.StaticMemberStepDown
		}
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := ask(once, r.js, g.stream, g.name, member); err != nil {
			r.journal.note("refused", "%v", err) // it may not be one at present
		}
		return nil
	case changeMembers:
		g := r.one(s.pick, func(g *group) bool { return g.flips })
		members := subset(rng, g.allMembers())
		r.journal.fault(s.kind, "%s: %s", g, strings.Join(members, " "))
		return r.insist(ctx, func(ctx context.Context) error {
			_, err := pcgroups.SetMembers(ctx, r.js, g.stream, g.name, members)
			return err
		})
	case changeMappings:
		g := r.one(s.pick, func(g *group) bool { return g.flips })
		mappings := deal(rng, subset(rng, g.allMembers()))
		r.journal.fault(s.kind, "%s: %v", g, mappings)
		return r.insist(ctx, func(ctx context.Context) error {
			return pcgroups.SetMemberMappings(ctx, r.js, g.stream, g.name, mappings)
		})
	case deleteConsumer:
		// A static member's durable is its progress: without it the group starts
		// over, or its sessions end, by design. There is no fault in that to find.
		// With many messages in flight the instance that had them goes on with those
		// for a moment, while the server, which knows nothing of them any more, gives
		// them to another.
		g, member := r.member(s.pick, func(g *group) bool { return !g.static && g.pending == 1 && len(g.oracles) == 0 })
		r.journal.fault(s.kind, "%s member %s", g, member)
		return r.deleteConsumer(ctx, g, member)
	case replaceGroup:
		g := r.one(s.pick, func(g *group) bool { return g.replaced })
		gap := time.Duration(s.size * float64(1500*time.Millisecond))
		r.journal.fault(s.kind, "%s, with %s in between", g, gap.Round(time.Millisecond))
		return r.replace(ctx, g, gap)
	}
	return nil
}

// deleteConsumer deletes the consumer under a member. What its handler was at is
// delivered again at once and its acknowledgement goes nowhere: the server knows
// of neither any more.
func (r *run) deleteConsumer(ctx context.Context, g *group, member string) error {
	over := r.journal.disturb(g.String(), "")
	defer over()
	done := g.judge.forget(member)
	defer done()
	once, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.js.DeleteConsumer(once, g.consumerStream(), g.consumer(member)); err != nil {
		r.journal.note("refused", "%v", err)
	}
	return nil
}

// replace deletes the group and creates it again, as Terraform does to change
// what can not be changed.
func (r *run) replace(ctx context.Context, g *group, gap time.Duration) error {
	over := r.journal.disturb(g.String(), "")
	defer over()
	if err := r.insist(ctx, func(ctx context.Context) error {
		return pcgroups.DeleteElastic(ctx, r.js, g.stream, g.name)
	}); err != nil {
		return err
	}
	if err := pause(ctx, gap); err != nil {
		return err
	}
	fresh := true
	if err := r.insist(ctx, func(ctx context.Context) error {
		if fresh {
			g.judge.newEpoch(time.Now())
		}
		err := g.create(ctx, r.js)
		if err != nil {
			// A failed attempt may have made the stream and taken it back, and some of
			// it may have been handled in between: the next one is a life of its own.
			_, gone := r.js.Stream(ctx, g.consumerStream())
			fresh = errors.Is(gone, jetstream.ErrStreamNotFound)
		}
		return err
	}); err != nil {
		return err
	}
	r.journal.note("group created", "%s", g)
	return nil
}

// insist repeats a call until it succeeds: a server may be down.
func (r *run) insist(ctx context.Context, call func(context.Context) error) error {
	return await(ctx, 2*patience, func() error {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err := call(once)
		if err != nil && ctx.Err() == nil {
			r.journal.note("call failed", "%v", err)
			_ = pause(ctx, 100*time.Millisecond)
		}
		return err
	})
}

// one is a group that suits.
func (r *run) one(n uint64, suits func(*group) bool) *group {
	var fit []*group
	for _, g := range r.groups {
		if suits(g) {
			fit = append(fit, g)
		}
	}
	return fit[n%uint64(len(fit))]
}

// member is a member of a group that suits.
func (r *run) member(n uint64, suits func(*group) bool) (*group, string) {
	g := r.one(n, suits)
	all := g.allMembers()
	return g, all[(n>>32)%uint64(len(all))]
}

// subset is some of the names, at least one.
func subset(rng *rand.Rand, names []string) []string {
	order := rng.Perm(len(names))
	var some []string
	for _, i := range order[:1+rng.IntN(len(names))] {
		some = append(some, names[i])
	}
	return some
}

// deal gives every partition to one of the members, and each of them at least
// one.
func deal(rng *rand.Rand, members []string) []pcgroups.MemberMapping {
	mappings := make([]pcgroups.MemberMapping, len(members))
	for i, p := range rng.Perm(partitions) {
		m := i
		if i >= len(members) {
			m = rng.IntN(len(members))
		}
		mappings[m].Member = members[m]
		mappings[m].Partitions = append(mappings[m].Partitions, p)
	}
	return mappings
}

// stored is how many messages the consumers' stream holds and what its last
// sequence is.
func (r *run) stored(ctx context.Context, g *group) (state jetstream.StreamState, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := r.js.Stream(ctx, g.consumerStream())
	if err != nil {
		return state, err
	}
	return s.CachedInfo().State, nil
}
