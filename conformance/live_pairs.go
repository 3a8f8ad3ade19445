package conformance

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// pairCases put two implementations side by side, as two members and as two
// instances of one.
func pairCases(x, y Implementation) []Case {
	roles, names := []Implementation{x, y}, []string{"first", "second"}
	var out []Case
	for _, flavour := range []string{Elastic, Static} {
		out = append(out,
			liveCase(flavour, "mixed-members", nil, roles, names, func(p *play) {
				p.started(x, "m1", "m2")
				p.joins(x, "m1", 0)
				p.joins(y, "m2", 0)
				p.settled(assigned("m1", "m2"))
				p.phase(assigned("m1", "m2"))
				p.phase(assigned("m1", "m2"))
			}),
			liveCase(flavour, "takeover-stop", nil, roles, names, func(p *play) { takeover(p, x, y, p.leaves) }),
			liveCase(flavour, "takeover-crash", nil, roles, names, func(p *play) { takeover(p, x, y, p.crashes) }),
			liveCase(flavour, "step-down", []string{FeatureStepDown}, roles, names, func(p *play) { stepDown(p, x, y) }),
		)
	}
	return append(out, liveCase(Elastic, "rebalance-under-load", nil, roles, names, func(p *play) { rebalance(p, x, y) }))
}

// started makes a group with members.
func (p *play) started(creator Implementation, names ...string) *actor {
	a := p.enter(creator, "admin")
	if p.flavour == Static {
		p.founded(a, staticRequest(livePartitions, nil, names, nil))
		return a
	}
	p.founded(a, elasticRequest(livePartitions, oneFilter, -1, -1))
	p.ask(a, Request{Op: OpAddMembers, Members: names})
	return a
}

// takeover has instances of one member follow each other: x, then y, then x
// again.
func takeover(p *play, x, y Implementation, goes func(*actor)) {
	p.started(y, "m1")
	all := assigned("m1")
	one := p.joins(x, "m1", 0)
	p.settled(all)
	p.phase(all)
	two := p.joins(y, "m1", 0)
	p.phase(all)
	goes(one)
	p.phase(all)
	three := p.joins(x, "m1", 0)
	p.phase(all)
	goes(two)
	p.phase(all)
	p.leaves(three)
}

// stepDown takes the pin from the instance that has it.
func stepDown(p *play, x, y Implementation) {
	for _, admin := range []Implementation{x, y} {
		if p.actors == nil {
			p.started(admin, "m1")
			p.joins(x, "m1", 0)
			p.settled(assigned("m1"))
			p.phase(assigned("m1"))
			p.joins(y, "m1", 0)
		}
		a := p.enter(admin, "admin "+admin.ID())
		before := p.pin()
		p.ask(a, Request{Op: OpStepDown, Member: "m1"})
		p.phase(assigned("m1"))
		if after := p.pin(); !p.over() && (after == "" || after == before) {
			p.wrong(a, "the pin is still %s after step down", before)
		}
	}
}

// pin is the pin id of m1's consumer.
func (p *play) pin() string {
	if p.over() {
		return ""
	}
	on, name := memberOn(p.flavour)
	c, err := p.js.Consumer(p.ctx, on, name)
	p.harness(err)
	if err != nil {
		return ""
	}
	for _, g := range c.CachedInfo().PriorityGroups {
		return g.PinnedClientID
	}
	return ""
}

// rebalance changes the membership while both members are busy. The reference
// may handle a message twice then; none may be lost or overtaken.
func rebalance(p *play, x, y Implementation) {
	a := p.started(x, "m1", "m2")
	p.joins(x, "m1", 3*time.Millisecond)
	p.joins(y, "m2", 3*time.Millisecond)
	p.settled(assigned("m1", "m2"))
	for range 2 {
		p.publish(8)
		p.ask(a, Request{Op: OpDeleteMembers, Members: []string{"m2"}})
		p.publish(8)
		p.ask(a, Request{Op: OpAddMembers, Members: []string{"m2"}})
	}
	p.allHandled()
	p.settled(assigned("m1", "m2"))
}

// endCases end the sessions of a running member from outside.
func endCases(admin, member Implementation) []Case {
	roles, names := []Implementation{admin, member}, []string{"admin", "members"}
	var out []Case
	for _, flavour := range []string{Elastic, Static} {
		out = append(out, liveCase(flavour, "delete-while-running", nil, roles, names, func(p *play) {
			a := p.started(admin, "m1", "m2")
			m1, m2 := p.joins(member, "m1", 5*time.Millisecond), p.joins(member, "m2", 5*time.Millisecond)
			p.settled(assigned("m1", "m2"))
			p.publish(20)
			p.handledSoon(10)
			p.ask(a, Request{Op: OpDelete})
			p.normalEnds(m1, m2)
		}))
	}
	for _, w := range []struct {
		name string
		list []int
	}{{"null", nil}, {"empty", []int{}}} {
		filters := []PartitioningFilter{{Filter: "orders.*", Wildcards: w.list}}
		c := liveCase(Elastic, "survives-admin/wildcards-"+w.name, []string{FeatureWholeSubject, FeatureMappings}, roles, names, func(p *play) {
			survive(p, admin, member, elasticRequest(livePartitions, filters, 0, 0))
		})
		c.WholeSubject = true
		out = append(out, c)
	}
	return append(out, liveCase(Elastic, "survives-admin/limits", []string{FeatureMappings}, roles, names, func(p *play) {
		survive(p, admin, member, elasticRequest(livePartitions, oneFilter, -1, 1<<20))
	}))
}

// survive does everything to a group that its members must live through. A
// rewrite that confuses null with an empty list, or drops a limit, ends the
// reference's.
func survive(p *play, admin, member Implementation, create Request) {
	a := p.enter(admin, "admin")
	p.founded(p.enter(Oracle(), "creator"), create)
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m1"}})
	p.joins(member, "m1", 0)
	p.settled(assigned("m1"))
	p.ask(a, create)
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m2"}})
	p.ask(a, Request{Op: OpDeleteMembers, Members: []string{"m2"}})
	p.ask(a, Request{Op: OpSetMappings, Mappings: []MemberMapping{{Member: "m1", Partitions: []int{0, 1, 2, 3}}}})
	p.ask(a, Request{Op: OpDeleteMappings})
	p.ask(a, Request{Op: OpAddMembers, Members: []string{"m1"}})
	p.settled(assigned("m1"))
	p.publish(2)
	p.allHandled()
}

// soloCases do to a member what no administrator of the protocol does.
func soloCases(member Implementation) []Case {
	roles, names := []Implementation{member}, []string{"members"}
	changes := map[string]string{
		Elastic: `{"max_members":5,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"max_buffered_msg":-1,"max_buffered_bytes":-1,"members":["m1"]}`,
		Static:  `{"max_members":5,"members":["m1"]}`,
	}
	var out []Case
	for _, flavour := range []string{Elastic, Static} {
		bucket := map[string]string{Elastic: elasticBucket, Static: staticBucket}[flavour]
		ended := func(do func(*play, jetstream.KeyValue) error) func(*play) (*actor, string) {
			return func(p *play) (*actor, string) {
				p.started(Oracle(), "m1")
				m := p.joins(member, "m1", 0)
				p.settled(assigned("m1"))
				p.phase(assigned("m1"))
				if !p.over() {
					kv, err := p.js.KeyValue(p.ctx, bucket)
					p.harness(err)
					if err == nil {
						p.harness(do(p, kv))
					}
				}
				return m, p.ends(m)
			}
		}
		purged := ended(func(p *play, kv jetstream.KeyValue) error { return kv.Purge(p.ctx, stream+"."+group) })
		changed := ended(func(p *play, kv jetstream.KeyValue) error {
			_, err := kv.Put(p.ctx, stream+"."+group, []byte(changes[flavour]))
			return err
		})
		out = append(out,
			liveCase(flavour, "purged", nil, roles, names, func(p *play) {
				if m, reason := purged(p); reason != "" {
					p.wrong(m, "ended with an error after its configuration was purged: %s", reason)
				}
			}),
			liveCase(flavour, "changed", nil, roles, names, func(p *play) {
				if m, reason := changed(p); reason == "" && !p.over() {
					p.wrong(m, "ended without an error after the fixed part of its configuration changed")
				}
			}))
	}
	return out
}
