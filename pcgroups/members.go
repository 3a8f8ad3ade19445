package pcgroups

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// memberNames returns the names of a group's members, in the order stored.
func memberNames(members []string, mappings []MemberMapping) []string {
	if len(members) != 0 {
		return unique(append([]string(nil), members...))
	}
	names := make([]string, len(mappings))
	for i, m := range mappings {
		names[i] = m.Member
	}
	return names
}

func withoutEmpty(names []string) []string {
	if len(names) > 0 && names[0] == "" { // they are sorted
		return names[1:]
	}
	return names
}

func listGroups(ctx context.Context, js jetstream.JetStream, fl *flavour, stream string) ([]string, error) {
	ctx, cancel := call(ctx, js)
	defer cancel()
	s, err := openStore(ctx, js, fl)
	if errors.Is(err, ErrGroupNotFound) {
		return nil, nil
	}
	var groups []string
	if err == nil {
		groups, err = s.list(ctx, stream)
	}
	return groups, failed("list "+fl.kind+" groups of", stream, "", "", withRefusal(js, err))
}

// listConsumers returns all consumers of a stream. Unlike ranging over the
// client's lister it does not mistake a failure for the end of the list.
func listConsumers(ctx context.Context, js jetstream.JetStream, stream string) ([]*jetstream.ConsumerInfo, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	var out []*jetstream.ConsumerInfo
	lister := s.ListConsumers(ctx)
	for info := range lister.Info() {
		out = append(out, info)
	}
	return out, lister.Err()
}

// activeMembers returns those of the members that have an instance: for static
// groups, whose consumers are durable, one that has a waiting pull; for elastic
// ones a consumer is enough, as it goes with its instances.
func activeMembers(ctx context.Context, js jetstream.JetStream, fl *flavour, stream, group string, members []string) ([]string, error) {
	active := []string{}
	if len(members) == 0 {
		return active, nil
	}
	ctx, cancel := call(ctx, js)
	defer cancel()
	consumers, err := listConsumers(ctx, js, fl.groupStream(stream, group))
	if err != nil {
		return nil, groupStreamError(fl, stream, group, err)
	}
	up := make(map[string]bool, len(consumers))
	for _, info := range consumers {
		up[info.Name] = !fl.durable || info.NumWaiting != 0
	}
	for _, m := range members {
		if up[fl.consumerName(group, m)] {
			active = append(active, m)
		}
	}
	return active, nil
}

func stepDown(ctx context.Context, js jetstream.JetStream, fl *flavour, stream, group, member string) error {
	ctx, cancel := call(ctx, js)
	defer cancel()
	err := groupStreamError(fl, stream, group, unpin(ctx, js, fl, stream, group, member))
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrInvalidConsumerName) {
		err = because(ErrMemberNotInGroup, err, "the member has no running instance, or its name is misspelt")
	}
	return failed("step down in "+fl.kind+" group", stream, group, member, withRefusal(js, err))
}

func unpin(ctx context.Context, js jetstream.JetStream, fl *flavour, stream, group, member string) error {
	s, err := js.Stream(ctx, fl.groupStream(stream, group))
	if err != nil {
		return err
	}
	return s.UnpinConsumer(ctx, fl.consumerName(group, member), PriorityGroup)
}

// deleteConsumer deletes a consumer that may be gone already, with or without
// its stream.
func deleteConsumer(ctx context.Context, js jetstream.JetStream, stream, name string) error {
	if err := js.DeleteConsumer(ctx, stream, name); err != nil && !isGone(err) {
		return fmt.Errorf("delete consumer %s of %s: %w", name, stream, err)
	}
	return nil
}

// isGone tells whether a consumer or its stream does not exist, or never could.
func isGone(err error) bool {
	for _, gone := range []error{
		jetstream.ErrConsumerNotFound, jetstream.ErrInvalidConsumerName,
		jetstream.ErrStreamNotFound, jetstream.ErrInvalidStreamName, jetstream.ErrStreamNameRequired,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// groupStreamError tells, if the stream that holds the group's consumers is
// missing and is not the origin, which one that is and how to get it back.
func groupStreamError(fl *flavour, stream, group string, err error) error {
	name := fl.groupStream(stream, group)
	if name == stream || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return because(ErrStreamNotFound, err, "the group's work-queue stream "+name+" is missing: check the names, or create the group again")
}
