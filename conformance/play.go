package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// liveAckWait is the AckWait of all live cases. All timers follow from it; below
// 2 s the pin of an idle group may move.
const liveAckWait = 2 * time.Second

// play is a live case as it runs: a server and the actors on it. Like a stage, it
// does nothing more after the first error.
type play struct {
	*bench
	ctx     context.Context
	flavour string
	n       uint // partitions
	actors  []*actor
	sent    map[string]int // key → how many messages
	found   []finding
	err     error
}

// actor is one running instance of an implementation, an administrator or an
// instance of a member.
type actor struct {
	impl    string
	shows   bool   // configurations
	name    string // how it is called in what is found
	member  string
	peer    Peer
	events  *events
	stopped bool // its end is no surprise any more
}

// playLive runs a live case and returns what is wrong.
func playLive(ctx context.Context, lab *Lab, c Case) ([]finding, error) {
	ctx, cancel := context.WithTimeout(ctx, 8*patience)
	defer cancel()
	b, err := lab.bench(ctx, max(1, c.Nodes))
	if err != nil {
		return nil, err
	}
	defer b.close()
	p := &play{bench: b, ctx: ctx, sent: map[string]int{}}
	c.live(ctx, p)
	p.verify()
	for _, a := range p.actors {
		p.harness(a.peer.Close())
	}
	return p.found, p.err
}

func (p *play) harness(err error) {
	if err != nil && p.err == nil {
		if !errors.Is(err, ErrHarness) && !errors.Is(err, ErrUnsupported) {
			err = fmt.Errorf("%w: %w", ErrHarness, err)
		}
		p.err = err
	}
}

// wrong notes that an actor did something wrong.
func (p *play) wrong(a *actor, format string, args ...any) {
	p.found = append(p.found, finding{a.impl, a.name + ": " + fmt.Sprintf(format, args...)})
}

// over tells whether to play on: not after an error, nor after a finding that
// would only have others in its wake.
func (p *play) over() bool { return p.err != nil || len(p.found) > 0 }

// enter brings an instance on stage. Its name tells its role.
func (p *play) enter(i Implementation, role string) *actor {
	a := &actor{impl: i.ID(), shows: i.Has(FeatureGet), name: role, events: newEvents()}
	if p.err != nil {
		return a
	}
	var err error
	a.peer, err = i.Open(p.ctx, p.url, a.events.add)
	if err != nil {
		p.harness(err)
		return a
	}
	p.actors = append(p.actors, a)
	return a
}

// ask has an actor carry out an operation on the group. It must succeed.
func (p *play) ask(a *actor, r Request) Answer {
	out, err := p.try(a, r)
	if err != nil && p.err == nil {
		p.wrong(a, "%s failed: %v", r.Op, err)
	}
	return out
}

// refuse has an actor carry out an operation that must not succeed.
func (p *play) refuse(a *actor, r Request) {
	if _, err := p.try(a, r); err == nil && !p.over() {
		p.wrong(a, "%s succeeded, and should have been refused", r.Op)
	}
}

func (p *play) try(a *actor, r Request) (Answer, error) {
	if p.over() {
		return Answer{}, nil
	}
	r.Flavour, r.Stream, r.Group = p.flavour, stream, group
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	out, err := a.peer.Call(ctx, r)
	if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrHarness) {
		p.harness(err)
	}
	return out, err
}

// joins has a new instance of a member consume.
func (p *play) joins(i Implementation, member string, work time.Duration) *actor {
	a := p.enter(i, "member "+member)
	a.member = member
	r := joinRequest(p.flavour, member, liveAckWait)
	r.Work = work
	p.ask(a, r)
	return a
}

// settled waits until every member that has partitions has its consumer, with
// exactly its filters, and nobody else has one.
func (p *play) settled(assigned map[string][]int) {
	if p.over() {
		return
	}
	on := stream
	if p.flavour == Elastic {
		on = workQueue
	}
	err := poll.Until(patience, func() error {
		s, err := p.js.Stream(p.ctx, on)
		if err != nil {
			return err
		}
		have := map[string]string{}
		list := s.ListConsumers(p.ctx)
		for info := range list.Info() {
			name := strings.TrimPrefix(info.Name, group+"-")
			if info.Config.PriorityPolicy == jetstream.PriorityPolicyPinned && info.NumWaiting > 0 {
				have[name] = fmt.Sprint(partitionsOf(info.Config))
			}
		}
		for m, parts := range assigned {
			if len(parts) == 0 {
				continue
			}
			if want := fmt.Sprint(slices.Sorted(slices.Values(parts))); have[m] != want {
				return fmt.Errorf("%s has partitions %s, not %s", m, have[m], want)
			}
			delete(have, m)
		}
		if len(have) > 0 {
			return fmt.Errorf("consumers of nobody: %v", have)
		}
		return list.Err()
	})
	if err != nil {
		p.blame("consumers are not as the membership says: %v", err)
	}
}

func partitionsOf(c jetstream.ConsumerConfig) []int {
	var out []int
	for _, f := range append(slices.Clone(c.FilterSubjects), c.FilterSubject) {
		var n int
		if _, err := fmt.Sscanf(f, "%d.", &n); err == nil && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// blame notes what is wrong with the members together. It is put down to the
// first one that is not the reference, if there is one.
func (p *play) blame(format string, args ...any) {
	members := slices.DeleteFunc(slices.Clone(p.actors), func(a *actor) bool { return a.member == "" })
	if len(members) == 0 {
		p.harness(fmt.Errorf(format, args...))
		return
	}
	// Whatever has the reference's version is the reference, its CLI included.
	i := slices.IndexFunc(members, func(a *actor) bool { return !strings.HasSuffix(a.impl, "@"+OracleVersion) })
	p.found = append(p.found, finding{members[max(i, 0)].impl, "members: " + fmt.Sprintf(format, args...)})
}

// partition is the one that a subject of the live cases falls into.
func (p *play) partition(key string) int {
	n, err := pcgroups.PartitionFor("orders."+key, "orders.*", []int{1}, p.n)
	p.harness(err)
	return n
}
