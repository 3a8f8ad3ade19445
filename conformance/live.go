package conformance

import (
	"context"
	"slices"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// eventually looks at a condition until it holds.
func (p *play) eventually(cond func() error) error {
	return poll.Until(patience, func() error {
		if p.err != nil || p.ctx.Err() != nil {
			return nil //nolint:nilerr // no use waiting: what follows fails, or counts what is missing
		}
		return cond()
	})
}

// liveCases are all live cases. For each subject and partner every role is taken
// by each of the two; the control plays all of them alone.
func liveCases(subjects, partners []Implementation) []Case {
	var out []Case
	if len(partners) == 0 {
		return nil
	}
	out = append(out, casesOf([]Implementation{partners[0]})...)
	for _, s := range subjects {
		for _, p := range partners {
			if s.ID() == p.ID() {
				continue
			}
			for _, c := range casesOf([]Implementation{s, p}) {
				// Those that the partner plays alone are the control's, or another run's.
				if slices.ContainsFunc(c.roles, func(i Implementation) bool { return i.ID() == s.ID() }) && !listed(out, c.Name) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

func listed(cases []Case, name string) bool {
	return slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name })
}

// casesOf are the live cases with every combination of these implementations.
func casesOf(sides []Implementation) []Case {
	var out []Case
	for _, creator := range sides {
		for _, admin := range sides {
			for _, member := range sides {
				out = append(out, roleCases(creator, admin, member)...)
			}
		}
	}
	for _, first := range sides {
		for _, admin := range sides {
			out = append(out, endCases(admin, first)...)
		}
		for _, second := range sides {
			out = append(out, pairCases(first, second)...)
		}
		out = append(out, soloCases(first)...)
	}
	return out
}

// liveCase names a case by what it is about and who plays it.
func liveCase(flavour, name string, needs []string, roles []Implementation, names []string, run func(*play)) Case {
	full := "live/" + flavour + "/" + name
	for i, r := range roles {
		if i == 0 {
			full += "/"
		} else {
			full += ","
		}
		full += names[i] + "=" + r.ID()
	}
	return Case{Name: full, Needs: append(needs, flavour), roles: distinct(roles), live: func(_ context.Context, p *play) {
		p.flavour = flavour
		run(p)
	}}
}

func distinct(roles []Implementation) []Implementation {
	var out []Implementation
	for _, r := range roles {
		if !has(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// livePartitions is the number of partitions of the live cases' groups.
const livePartitions = 4

// founded makes the origin, and the group by its creator.
func (p *play) founded(creator *actor, r Request) {
	p.n = livePartitions
	origin := plainOrigin
	if p.flavour == Static {
		origin = partitionedOrigin
		transform := *origin.SubjectTransform
		transform.Destination = "{{Partition(4,2)}}.{{Wildcard(1)}}.{{Wildcard(2)}}"
		origin.SubjectTransform = &transform
	}
	if p.err != nil {
		return
	}
	origin.Name = stream
	_, err := p.js.CreateStream(p.ctx, origin)
	p.harness(err)
	p.ask(creator, r)
}

func assigned(names ...string) map[string][]int {
	return pcgroups.Assignments(livePartitions, names, nil)
}

func mapped(m []MemberMapping) map[string][]int {
	out := map[string][]int{}
	for _, e := range m {
		out[e.Member] = e.Partitions
	}
	return out
}
