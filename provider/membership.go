package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// membership is who is in a group: either members or mappings, or neither.
type membership struct {
	members  []string
	mappings []pcgroups.MemberMapping
}

// membershipOf reads the two attributes. A membership of which both are null is
// not managed.
func membershipOf(members collection, mappings types.Map) (m membership, managed bool) {
	if members.IsNull() && mappings.IsNull() {
		return membership{}, false
	}
	m.members, m.mappings = stringsOf(members), mappingsOf(mappings)
	return m, true
}

// same compares what a membership means: the order of members and of partitions
// means nothing, nor do repeated names.
func (m membership) same(other membership) bool {
	return slices.Equal(distinct(m.members), distinct(other.members)) &&
		slices.EqualFunc(sortedMappings(m.mappings), sortedMappings(other.mappings), func(a, b pcgroups.MemberMapping) bool {
			return a.Member == b.Member && slices.Equal(a.Partitions, b.Partitions)
		})
}

// names are the members, sorted.
func (m membership) names() []string {
	out := distinct(m.members)
	for _, x := range m.mappings {
		out = append(out, x.Member)
	}
	return distinct(out)
}

// difference tells whom a change to another membership drops and adds.
func (m membership) difference(to membership) string {
	without := func(all, these []string) []string {
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(these, name) })
	}
	dropped, added := without(m.names(), to.names()), without(to.names(), m.names())
	switch {
	case len(dropped) == 0 && len(added) == 0:
		return "the same members get other partitions"
	case len(dropped) == 0:
		return fmt.Sprintf("%v will be added and nobody dropped", added)
	case len(added) == 0:
		return fmt.Sprintf("%v will be dropped and nobody added", dropped)
	}
	return fmt.Sprintf("%v will be dropped and %v added", dropped, added)
}

func (m membership) empty() bool { return len(m.members) == 0 && len(m.mappings) == 0 }

// String shows the membership in a message.
func (m membership) String() string {
	if len(m.mappings) == 0 {
		return "[" + strings.Join(distinct(m.members), " ") + "]"
	}
	var out []string
	for _, x := range sortedMappings(m.mappings) {
		out = append(out, fmt.Sprintf("%s:%v", x.Member, x.Partitions))
	}
	return "[" + strings.Join(out, " ") + "]"
}

func distinct(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedMappings(in []pcgroups.MemberMapping) []pcgroups.MemberMapping {
	out := make([]pcgroups.MemberMapping, len(in))
	for i, m := range in {
		out[i] = pcgroups.MemberMapping{Member: m.Member, Partitions: slices.Sorted(slices.Values(m.Partitions))}
	}
	slices.SortFunc(out, func(a, b pcgroups.MemberMapping) int { return strings.Compare(a.Member, b.Member) })
	return out
}

// staleError says that the group was changed after the plan was made.
type staleError struct{ were, are membership }

func (e *staleError) Error() string {
	return fmt.Sprintf("changed since the plan was made (members were %v, are now %v)", e.were, e.are)
}

// writeMembership makes the membership of an elastic group the wanted one, for
// a resource that owns all of it. planned is what the plan was made from, nil if
// it did not look: when that is not what is there any more, a person has to
// decide again. Content decides, not the revision: a write that changed nothing,
// or was undone, is no reason to refuse.
func writeMembership(ctx context.Context, js jetstream.JetStream, stream, group string, planned *membership, want membership) error {
	for {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, stream, group)
		if err != nil {
			return err
		}
		have := membership{c.Members, c.MemberMappings}
		if have.same(want) {
			return nil
		}
		if planned != nil && !have.same(*planned) {
			return &staleError{were: *planned, are: have}
		}
		unchanged := pcgroups.IfRevision(c.Revision())
		switch {
		case want.empty():
			err = pcgroups.ClearMembership(ctx, js, stream, group, unchanged)
		case len(want.mappings) != 0:
			err = pcgroups.SetMemberMappings(ctx, js, stream, group, want.mappings, unchanged)
		default:
			_, err = pcgroups.SetMembers(ctx, js, stream, group, want.members, unchanged)
		}
		if !errors.Is(err, pcgroups.ErrConflict) {
			return err
		}
		// Someone wrote between the two, or the read was answered by a follower
		// that is a little behind: look again.
		pause := time.NewTimer(conflictPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// conflictPause keeps a writer that has to look again from asking all the time.
const conflictPause = 20 * time.Millisecond
