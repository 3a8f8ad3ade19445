package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// CreateStatic creates a static group on a stream whose subjects already carry
// the partition number as their first token, put there by the stream's own
// subject transform (see [PartitioningTransformDestination] and
// [CheckStaticStream]).
//
// maxNumMembers is the number of partitions, from 1 to 2³¹−1. filters are
// subject filters without the partition token, none for all subjects. The
// members are given either as names, or as mappings that together hold every
// partition exactly once. All of it is fixed for the life of the group.
//
// Creating a group that exists with the same configuration succeeds and writes
// nothing, whatever mixture of nil and empty slices the two have. The group's
// bucket is created with the first group (oracle: CreateStatic).
//
// Errors: [ErrInvalidConfig] with a [*ConfigError], [ErrStreamNotFound],
// [ErrGroupExists], [ErrServerTooOld], [ErrLegacyConfig], [ErrJetStreamDisabled].
// Nothing is written when one is returned.
func CreateStatic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, maxNumMembers uint, filters []string, members []string, memberMappings []MemberMapping, opts ...CreateOption) (*StaticConsumerGroupConfig, error) {
	c := &StaticConsumerGroupConfig{MaxMembers: maxNumMembers, Filters: filters, Members: members, MemberMappings: memberMappings}
	c, err := createStatic(ctx, js, streamName, consumerGroupName, c, createOpts(opts))
	return c, failed("create static group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func createStatic(ctx context.Context, js jetstream.JetStream, stream, group string, c *StaticConsumerGroupConfig, o createOptions) (*StaticConsumerGroupConfig, error) {
	if o.membership {
		return nil, badField("members", "give a static group's members as arguments, not as options")
	}
	if err := c.ValidateNew(stream, group); err != nil {
		return nil, err
	}
	ctx, cancel := call(ctx, js)
	defer cancel()
	if err := requireLevel(ctx, js, levelPinned, "pinning one instance of a member", "2.11"); err != nil {
		return nil, err
	}
	sc, err := origin(ctx, js, stream)
	if err != nil {
		return nil, err
	}
	s, err := createStore(ctx, js, staticFlavour, sc.Replicas)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		stored, err := s.getStatic(ctx, stream, group)
		if err == nil {
			if o.failIfExists {
				return nil, because(ErrGroupExists, nil, "delete it first, or use it as it is")
			}
			if !sameStatic(stored, c) {
				return nil, because(ErrGroupExists, otherConfig(stored.fixed(), c.fixed()), "delete it first, as a static group can not be changed")
			}
			return stored, nil
		}
		if !errors.Is(err, ErrGroupNotFound) {
			return nil, err
		}
		if err := s.checkNoSharedConsumer(ctx, stream, group, memberNames(c.Members, c.MemberMappings)); err != nil {
			return nil, err
		}
		c.revision, err = s.create(ctx, stream, group, marshal(c))
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, ErrConflict) || jitter(ctx, attempt) != nil {
			return nil, err
		}
	}
}

// GetStaticConsumerGroupConfig reads a static group's configuration. Errors:
// [ErrGroupNotFound], [ErrInvalidConfig], [ErrLegacyConfig]
// (oracle: GetStaticConsumerGroupConfig).
func GetStaticConsumerGroupConfig(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) (*StaticConsumerGroupConfig, error) {
	c, err := readStatic(ctx, js, streamName, consumerGroupName)
	return c, failed("get static group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func readStatic(ctx context.Context, js jetstream.JetStream, stream, group string) (*StaticConsumerGroupConfig, error) {
	ctx, cancel := call(ctx, js)
	defer cancel()
	s, err := openStore(ctx, js, staticFlavour)
	if err != nil {
		return nil, err
	}
	return s.getStatic(ctx, stream, group)
}

func (s *store) getStatic(ctx context.Context, stream, group string) (*StaticConsumerGroupConfig, error) {
	e, err := s.get(ctx, stream, group)
	if err != nil {
		return nil, err
	}
	c, err := decodeStatic(e.value)
	if err != nil {
		return nil, err
	}
	c.revision = e.revision
	return c, nil
}

// DeleteStatic deletes a static group: first its configuration, which ends its
// members' sessions, then the members' consumers by their exact names. It may be
// repeated, and works when the stream is gone. When the configuration is gone
// already, the consumers left behind by the group are removed, but none that
// another group of the stream claims; so [ErrGroupNotFound] is never returned.
// Errors: [ErrConflict] with IfRevision, if the group has another revision
// (oracle: DeleteStatic, which removes every consumer that has the group's name
// as a prefix).
func DeleteStatic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, opts ...WriteOption) error {
	ctx, cancel := call(ctx, js)
	defer cancel()
	err := deleteStatic(ctx, js, streamName, consumerGroupName, writeOpts(opts))
	return failed("delete static group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func deleteStatic(ctx context.Context, js jetstream.JetStream, stream, group string, o writeOptions) error {
	s, err := openStore(ctx, js, staticFlavour)
	if errors.Is(err, ErrGroupNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	e, err := s.get(ctx, stream, group)
	if errors.Is(err, ErrGroupNotFound) {
		return s.sweepStatic(ctx, stream, group)
	}
	if err != nil {
		return err
	}
	if err := s.delete(ctx, stream, group, o.revision); err != nil {
		return err
	}
	var c StaticConsumerGroupConfig
	if json.Unmarshal(e.value, &c) != nil {
		return s.sweepStatic(ctx, stream, group)
	}
	mine := make(map[string]bool)
	for _, m := range memberNames(c.Members, c.MemberMappings) {
		mine[ComposeStaticConsumerName(group, m)] = true
	}
	// Those of an older implementation have another priority group.
	return s.deleteDurables(ctx, stream, func(info *jetstream.ConsumerInfo) bool { return mine[info.Name] })
}

// sweepStatic removes the consumers of a group whose members are not known any
// more: those of PCG named <group>-… that belong to no other group.
func (s *store) sweepStatic(ctx context.Context, stream, group string) error {
	claimed, unreadable, err := s.claimedConsumers(ctx, stream, group)
	if err != nil {
		return err
	}
	return s.deleteDurables(ctx, stream, func(info *jetstream.ConsumerInfo) bool {
		others := claimed[info.Name] != "" || slices.ContainsFunc(unreadable, func(g string) bool { return strings.HasPrefix(info.Name, g+"-") })
		return strings.HasPrefix(info.Name, group+"-") && !others && samePinning(info.Config)
	})
}

// deleteDurables deletes those of these consumers that are pinned durables, as
// static members' are: another kind may happen to have the name of one. They are
// listed first: asking for each would cost as many requests again.
func (s *store) deleteDurables(ctx context.Context, stream string, these func(*jetstream.ConsumerInfo) bool) error {
	consumers, err := listConsumers(ctx, s.js, stream)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range consumers {
		if these(c) && c.Config.Durable != "" && c.Config.PriorityPolicy == jetstream.PriorityPolicyPinned {
			errs = append(errs, deleteConsumer(ctx, s.js, stream, c.Name))
		}
	}
	return errors.Join(errs...)
}

// claimedConsumers maps the names of consumers to the group that claims them,
// for those of the stream's other static groups that can have one in common with
// this group. What an unreadable one claims can not be told.
func (s *store) claimedConsumers(ctx context.Context, stream, group string) (claimed map[string]string, unreadable []string, err error) {
	groups, err := s.list(ctx, stream)
	if err != nil {
		return nil, nil, err
	}
	claimed = make(map[string]string)
	for _, g := range groups {
		if g == group || !strings.HasPrefix(g+"-", group+"-") && !strings.HasPrefix(group+"-", g+"-") {
			continue
		}
		e, err := s.get(ctx, stream, g)
		if errors.Is(err, ErrGroupNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if _, err := decodeStatic(e.value); err != nil {
			unreadable = append(unreadable, g)
		}
		var c StaticConsumerGroupConfig
		_ = json.Unmarshal(e.value, &c) // as much of it as can be read
		for _, m := range memberNames(c.Members, c.MemberMappings) {
			claimed[ComposeStaticConsumerName(g, m)] = g
		}
	}
	return claimed, unreadable, nil
}

// checkNoSharedConsumer refuses a group one of whose members would use the same
// consumer as a member of another group: x with y-z, and x-y with z.
func (s *store) checkNoSharedConsumer(ctx context.Context, stream, group string, members []string) error {
	claimed, _, err := s.claimedConsumers(ctx, stream, group)
	if err != nil {
		return err
	}
	for _, m := range members {
		name := ComposeStaticConsumerName(group, m)
		if other := claimed[name]; other != "" {
			return badField("members", "member %q would use the consumer %s, which belongs to group %q", m, name, other)
		}
	}
	return nil
}

// ListStaticConsumerGroups returns the names of the static groups on a stream,
// sorted; none if there is no bucket yet, or no such stream. Errors:
// [ErrJetStreamDisabled] (oracle: ListStaticConsumerGroups).
func ListStaticConsumerGroups(ctx context.Context, js jetstream.JetStream, streamName string) ([]string, error) {
	return listGroups(ctx, js, staticFlavour, streamName)
}

// ListStaticActiveMembers returns the members with an instance that is ready to
// consume: its consumer has a waiting pull request. The order is that of the
// configuration. Errors: those of [GetStaticConsumerGroupConfig];
// [ErrStreamNotFound] if the group has members but its stream is gone
// (oracle: ListStaticActiveMembers).
func ListStaticActiveMembers(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) ([]string, error) {
	c, err := readStatic(ctx, js, streamName, consumerGroupName)
	var active []string
	if err == nil {
		active, err = activeMembers(ctx, js, staticFlavour, streamName, consumerGroupName, memberNames(c.Members, c.MemberMappings))
	}
	return active, failed("list active members of static group", streamName, consumerGroupName, "", withRefusal(js, err))
}

// StaticMemberStepDown makes the pinned instance of a member give way: the
// server drops its pin and pins whichever instance pulls next. Errors:
// [ErrMemberNotInGroup] if the member has no consumer, also for want of the
// group, whose configuration is not read; [ErrStreamNotFound] (oracle:
// StaticMemberStepDown).
func StaticMemberStepDown(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberName string) error {
	return stepDown(ctx, js, staticFlavour, streamName, consumerGroupName, memberName)
}
