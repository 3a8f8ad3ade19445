package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
)

var roleNames = []string{"creator", "admin", "members"}

// roleCases are the walks through a group's life, with each role played by one
// implementation.
func roleCases(creator, admin, member Implementation) []Case {
	roles := []Implementation{creator, admin, member}
	return []Case{
		liveCase(Elastic, "walk", nil, roles, roleNames, func(p *play) { elasticWalk(p, creator, admin, member) }),
		liveCase(Elastic, "mappings", []string{FeatureMappings}, roles, roleNames, func(p *play) { mappingsWalk(p, creator, admin, member) }),
		liveCase(Static, "walk", nil, roles, roleNames, func(p *play) {
			staticWalk(p, creator, admin, member, staticRequest(livePartitions, nil, []string{"m1", "m2"}, nil), assigned("m1", "m2"))
		}),
		liveCase(Static, "mappings", []string{FeatureMappings}, roles, roleNames, func(p *play) {
			m := []MemberMapping{{Member: "m2", Partitions: []int{0, 3}}, {Member: "m1", Partitions: []int{2, 1}}}
			staticWalk(p, creator, admin, member, staticRequest(livePartitions, []string{"orders.*"}, nil, m), mapped(m))
		}),
	}
}

// elasticWalk creates, creates again, grows, shrinks, inspects and deletes.
func elasticWalk(p *play, creator, admin, member Implementation) {
	c, a := p.enter(creator, "creator"), p.enter(admin, "admin")
	create := elasticRequest(livePartitions, oneFilter, -1, -1)
	p.founded(c, create)
	p.ask(a, create) // the same again
	other := create
	other.MaxMembers++
	p.refuse(a, other)

	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m1"}})
	m1, m2 := p.joins(member, "m1", 0), p.joins(member, "m2", 0)
	walk := func(names ...string) {
		p.settled(assigned(names...))
		p.phase(assigned(names...))
	}
	walk("m1")
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m2"}})
	walk("m1", "m2")
	p.ask(a, Request{Op: OpDeleteMembers, Members: []string{"m1"}})
	walk("m2")
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m1"}})
	walk("m1", "m2")

	p.names(a, Request{Op: OpList}, group)
	p.names(a, Request{Op: OpActive}, "m1", "m2")
	if r := p.ask(a, Request{Op: OpMembership, Member: "m1"}); !p.over() && (!r.Member || !r.Active) {
		p.wrong(a, "m1 is a member and active, but it says %v and %v", r.Member, r.Active)
	}
	p.reads(a, c)
	p.ask(a, Request{Op: OpDelete})
	p.normalEnds(m1, m2)
	p.names(c, Request{Op: OpList})
}

// mappingsWalk sets mappings, changes them, removes them and goes back to
// members.
func mappingsWalk(p *play, creator, admin, member Implementation) {
	c, a := p.enter(creator, "creator"), p.enter(admin, "admin")
	p.founded(c, elasticRequest(livePartitions, oneFilter, -1, -1))
	first := []MemberMapping{{Member: "m1", Partitions: []int{0, 3}}, {Member: "m2", Partitions: []int{2, 1}}}
	second := []MemberMapping{{Member: "m1", Partitions: []int{1}}, {Member: "m2", Partitions: []int{0, 2, 3}}}
	p.ask(a, Request{Op: OpSetMappings, Mappings: first})
	m1, m2 := p.joins(member, "m1", 0), p.joins(member, "m2", 0)
	p.settled(mapped(first))
	p.phase(mapped(first))
	p.ask(a, Request{Op: OpSetMappings, Mappings: second})
	p.settled(mapped(second))
	p.phase(mapped(second))
	p.refuse(a, Request{Op: OpAddMembers, Members: []string{"m3"}})
	p.reads(a, c)
	p.ask(a, Request{Op: OpDeleteMappings})
	p.settled(nil)
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m2"}})
	p.settled(assigned("m2"))
	p.phase(assigned("m2"))
	p.leaves(m1)
	p.leaves(m2)
}

func staticWalk(p *play, creator, admin, member Implementation, create Request, owners map[string][]int) {
	c, a := p.enter(creator, "creator"), p.enter(admin, "admin")
	p.founded(c, create)
	p.ask(a, create)
	other := create
	other.Filters = []string{"returns.*"}
	p.refuse(a, other)
	p.reads(a, c)
	m1, m2 := p.joins(member, "m1", 0), p.joins(member, "m2", 0)
	p.settled(owners)
	p.phase(owners)
	p.names(a, Request{Op: OpList}, group)
	p.names(a, Request{Op: OpActive}, "m1", "m2")
	p.ask(a, Request{Op: OpDelete})
	p.normalEnds(m1, m2)
	p.names(c, Request{Op: OpList})
}

// names checks an answer that is a list of names, in any order.
func (p *play) names(a *actor, r Request, want ...string) {
	got := slices.Sorted(slices.Values(p.ask(a, r).Names))
	if !p.over() && !slices.Equal(got, want) {
		p.wrong(a, "%s says %v, not %v", r.Op, got, want)
	}
}

// reads checks that two actors read the same configuration, if both can show it.
func (p *play) reads(a, b *actor) {
	if !a.shows || !b.shows {
		return
	}
	x, y := p.ask(a, Request{Op: OpGet}), p.ask(b, Request{Op: OpGet})
	if p.over() {
		return
	}
	if !json.Valid(x.Config) || !json.Valid(y.Config) {
		p.wrong(a, "get does not give JSON: %s and %s", x.Config, y.Config)
		return
	}
	diffs, err := compareJSON(string(y.Config), string(x.Config), false)
	if err != nil || len(diffs) > 0 {
		p.wrong(a, "reads the configuration differently from the %s: %v", b.name, diffs)
	}
}

// normalEnds checks that sessions end, and without an error.
func (p *play) normalEnds(actors ...*actor) {
	for _, a := range actors {
		if reason := p.ends(a); reason != "" {
			p.wrong(a, "ended with an error after its group was deleted: %s", reason)
		}
	}
	if p.flavour == Elastic && !p.over() {
		if err := p.eventually(func() error {
			if _, err := p.js.Stream(p.ctx, workQueue); err == nil {
				return fmt.Errorf("%s is still there", workQueue)
			}
			return nil
		}); err != nil {
			p.blame("%v", err)
		}
	}
}
