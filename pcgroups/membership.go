package pcgroups

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// AddMembers adds members to an elastic group and returns the members it then
// has, sorted. Names that are in the group already, and empty ones, are skipped;
// if that leaves none, nothing is written. Changes by others at the same moment
// are not lost: the change is tried again until ctx ends.
//
// Errors: [ErrGroupNotFound]; [ErrInvalidConfig] for names that can not work, no
// names, or a group that uses mappings; [ErrLegacyConfig]; [ErrConflict]
// (oracle: AddMembers).
func AddMembers(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberNamesToAdd []string, opts ...WriteOption) ([]string, error) {
	add := withoutEmpty(sortedSet(memberNamesToAdd))
	err := checkMembership(streamName, consumerGroupName, add, nil)
	if err == nil && len(memberNamesToAdd) == 0 {
		err = badField("members", "name at least one member to add")
	}
	return changeMembers(ctx, js, "add members to", streamName, consumerGroupName, err, true, opts, func(have []string) []string {
		return slices.Concat(have, add)
	})
}

// DeleteMembers drops members from an elastic group and returns the members it
// then has, sorted. Names that are not in the group are skipped; if that leaves
// none, nothing is written. Changes by others at the same moment are not lost:
// the change is tried again until ctx ends.
//
// Errors: as for [AddMembers] (oracle: DeleteMembers).
func DeleteMembers(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberNamesToDrop []string, opts ...WriteOption) ([]string, error) {
	var err error
	if len(memberNamesToDrop) == 0 {
		err = badField("members", "name at least one member to drop")
	}
	return changeMembers(ctx, js, "drop members from", streamName, consumerGroupName, err, true, opts, func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(m string) bool { return slices.Contains(memberNamesToDrop, m) })
	})
}

// SetMembers replaces the members of an elastic group, and its mappings if it
// has any, and returns the members it then has, sorted. Empty names are skipped.
// If that changes nothing, nothing is written. A change by someone else at the
// same moment makes it fail with [ErrConflict].
//
// Errors: also those of [AddMembers], but for a group with mappings.
func SetMembers(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, members []string, opts ...WriteOption) ([]string, error) {
	want := withoutEmpty(sortedSet(members))
	err := checkMembership(streamName, consumerGroupName, want, nil)
	return changeMembers(ctx, js, "set members of", streamName, consumerGroupName, err, false, opts, func([]string) []string {
		return want
	})
}

// SetMemberMappings replaces the membership of an elastic group by an explicit
// assignment, which must give every partition to exactly one member. If it is
// the one stored, nothing is written. A change by someone else at the same
// moment makes it fail with [ErrConflict].
//
// Errors: also [ErrGroupNotFound], [ErrInvalidConfig], [ErrLegacyConfig]
// (oracle: SetMemberMappings, which overwrites whatever is there).
func SetMemberMappings(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberMappings []MemberMapping, opts ...WriteOption) error {
	err := checkMembership(streamName, consumerGroupName, nil, memberMappings)
	if err == nil && len(memberMappings) == 0 {
		err = badField("member_mappings", "map at least one member")
	}
	_, err = changeMembership(ctx, js, streamName, consumerGroupName, err, false, opts, func(c *ElasticConsumerGroupConfig) error {
		c.Members, c.MemberMappings = nil, memberMappings
		return nil
	})
	return failed("set member mappings of", streamName, consumerGroupName, "", withRefusal(js, err))
}

// DeleteMemberMappings removes the mappings of an elastic group, which then has
// no members. Without mappings nothing is written. Errors: [ErrGroupNotFound],
// [ErrInvalidConfig] if what is stored can not be read, [ErrLegacyConfig],
// [ErrConflict] (oracle: DeleteMemberMappings).
func DeleteMemberMappings(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, opts ...WriteOption) error {
	_, err := changeMembership(ctx, js, streamName, consumerGroupName, nil, false, opts, func(c *ElasticConsumerGroupConfig) error {
		c.MemberMappings = nil
		return nil
	})
	return failed("delete member mappings of", streamName, consumerGroupName, "", withRefusal(js, err))
}

// ClearMembership removes the members and mappings of an elastic group, so that
// nobody consumes. If there are none, nothing is written. Errors:
// [ErrGroupNotFound], [ErrInvalidConfig] if what is stored can not be read,
// [ErrLegacyConfig], [ErrConflict].
func ClearMembership(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, opts ...WriteOption) error {
	_, err := changeMembership(ctx, js, streamName, consumerGroupName, nil, false, opts, func(c *ElasticConsumerGroupConfig) error {
		c.Members, c.MemberMappings = nil, nil
		return nil
	})
	return failed("clear membership of", streamName, consumerGroupName, "", withRefusal(js, err))
}

// checkMembership refuses a membership that no member could ever consume by.
func checkMembership(stream, group string, members []string, mappings []MemberMapping) error {
	if err := checkNames(elasticFlavour, stream, group); err != nil {
		return err
	}
	return checkNewMembers(elasticFlavour, group, members, mappings)
}

// changeMembers changes the list of members. A commutative change is repeated
// when someone else was faster, and refuses a group with mappings.
func changeMembers(ctx context.Context, js jetstream.JetStream, op, stream, group string, bad error, commutes bool, opts []WriteOption, change func([]string) []string) ([]string, error) {
	c, err := changeMembership(ctx, js, stream, group, bad, commutes, opts, func(c *ElasticConsumerGroupConfig) error {
		if commutes && len(c.MemberMappings) != 0 {
			return badField("members", "the group uses member mappings; replace them with SetMemberMappings, or remove them first")
		}
		// As stored, so that a change that is none leaves even the order alone.
		after := withoutEmpty(sortedSet(change(c.Members)))
		if !slices.Equal(after, sortedSet(c.Members)) {
			c.Members = after
		}
		c.MemberMappings = nil
		return nil
	})
	if err != nil {
		return nil, failed(op, stream, group, "", withRefusal(js, err))
	}
	return withoutEmpty(sortedSet(c.Members)), nil
}

// changeMembership reads the configuration, lets change edit its membership and
// writes it back if the result differs, keeping every other byte of the value.
func changeMembership(ctx context.Context, js jetstream.JetStream, stream, group string, bad error, commutes bool, opts []WriteOption, change func(*ElasticConsumerGroupConfig) error) (*ElasticConsumerGroupConfig, error) {
	o := writeOpts(opts)
	if bad != nil {
		return nil, bad
	}
	ctx, cancel := call(ctx, js)
	defer cancel()
	s, err := openStore(ctx, js, elasticFlavour)
	if err != nil {
		return nil, err
	}
	for conflicts := 0; ; {
		c, err := s.tryChange(ctx, stream, group, o.revision, change)
		if errors.Is(err, ErrConflict) && commutes && o.revision == 0 {
			conflicts++
			err = jitter(ctx, conflicts)
			if err == nil {
				continue
			}
		}
		if conflicts > 0 && err != nil && ctx.Err() != nil {
			return nil, because(ErrConflict, err, "others changed the group again and again until the time was up; try again later")
		}
		return c, err
	}
}

func (s *store) tryChange(ctx context.Context, stream, group string, revision uint64, change func(*ElasticConsumerGroupConfig) error) (*ElasticConsumerGroupConfig, error) {
	e, err := s.get(ctx, stream, group)
	if err != nil {
		return nil, err
	}
	c, err := decodeElastic(e.value)
	if err != nil {
		return nil, err
	}
	c.revision = e.revision
	if revision != 0 && revision != e.revision {
		return nil, because(ErrConflict, nil, "read the group again and decide anew")
	}
	before := *c
	if err := change(c); err != nil {
		return nil, err
	}
	if slices.Equal(before.Members, c.Members) && slices.EqualFunc(before.MemberMappings, c.MemberMappings, sameMapping) {
		return c, nil
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := validateShare(c.MaxMembers, c.Members); err != nil {
		return nil, err
	}
	value, err := editMembership(e.value, c.Members, c.MemberMappings)
	if err != nil {
		return nil, err
	}
	c.revision, err = s.update(ctx, stream, group, value, e.revision)
	return c, err
}
