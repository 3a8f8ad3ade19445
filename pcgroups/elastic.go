package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// CreateElastic creates an elastic group: its configuration, and the work-queue
// stream <stream>-<group> that sources the origin stream and puts the partition
// number in front of every subject.
//
// maxNumMembers is the number of partitions, from 1 to 2³¹−1 (up to about 1,000
// is advisable). Without partitioningFilters the group covers the whole stream,
// keyed by the whole subject. maxBufferedMessages and maxBufferedBytes bound the
// work-queue stream, 0 or -1 for no limit; a full one pauses sourcing for about
// 2.1 s at a time, so hold at least 2.5 s of peak traffic. All of these are fixed
// for the life of the group. Its membership is empty unless given as an option.
//
// Creating a group that exists with the same configuration succeeds, whatever
// mixture of nil and empty slices the two have, and creates the work-queue
// stream if that is missing. If the stream can not be created the configuration
// is removed again (oracle: CreateElastic).
//
// Errors: [ErrInvalidConfig] with a [*ConfigError], [ErrStreamNotFound],
// [ErrGroupExists], [ErrNotGroupStream], [ErrServerTooOld], [ErrLegacyConfig],
// [ErrJetStreamDisabled].
func CreateElastic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, maxNumMembers uint, partitioningFilters []PartitioningFilter, maxBufferedMessages int64, maxBufferedBytes int64, opts ...CreateOption) (*ElasticConsumerGroupConfig, error) {
	o := createOpts(opts)
	c := &ElasticConsumerGroupConfig{
		MaxMembers:          maxNumMembers,
		PartitioningFilters: partitioningFilters,
		MaxBufferedMsgs:     maxBufferedMessages,
		MaxBufferedBytes:    maxBufferedBytes,
		Members:             withoutEmpty(sortedSet(o.members)),
		MemberMappings:      o.mappings,
	}
	c, err := createElastic(ctx, js, streamName, consumerGroupName, c, o)
	return c, failed("create elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func createElastic(ctx context.Context, js jetstream.JetStream, stream, group string, c *ElasticConsumerGroupConfig, o createOptions) (*ElasticConsumerGroupConfig, error) {
	if err := c.ValidateNew(stream, group); err != nil {
		return nil, err
	}
	ctx, cancel := call(ctx, js)
	defer cancel()
	level, what, version := levelPinned, "pinning one instance of a member", "2.11"
	if wholeSubject(c) {
		level, what, version = levelWholeSubject, "partitioning by the whole subject", "2.12"
	}
	if err := requireLevel(ctx, js, level, what, version); err != nil {
		return nil, err
	}
	sc, err := origin(ctx, js, stream)
	if err != nil {
		return nil, err
	}
	state, err := inspectGroupStream(ctx, js, stream, group, c)
	if err != nil {
		return nil, err
	}
	if state == streamForeign {
		// The stream may be that of this very group with other settings. To tell,
		// the bucket is looked into, but not created.
		if _, err := openStore(ctx, js, elasticFlavour); errors.Is(err, ErrGroupNotFound) {
			return nil, foreignStream(stream, group)
		}
	}
	s, err := createStore(ctx, js, elasticFlavour, sc.Replicas)
	if err != nil {
		return nil, err
	}
	stored, created, err := s.claimElastic(ctx, stream, group, c, state, o)
	if err != nil || state == streamOurs {
		return stored, err
	}
	if _, err := js.CreateStream(ctx, deriveGroupStream(stream, group, stored, sc)); err != nil {
		err = fmt.Errorf("create the work-queue stream %s: %w", ComposeGroupStreamName(stream, group), err)
		if err := s.rollBack(ctx, stream, group, stored, created, err); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// claimElastic writes the configuration or finds the same one. Having written it
// is what entitles to create the stream.
func (s *store) claimElastic(ctx context.Context, stream, group string, c *ElasticConsumerGroupConfig, state groupStreamState, o createOptions) (_ *ElasticConsumerGroupConfig, created bool, err error) {
	for attempt := 1; ; attempt++ {
		stored, err := s.getElastic(ctx, stream, group)
		switch {
		case err == nil && o.failIfExists:
			return nil, false, because(ErrGroupExists, nil, "delete it first, or use it as it is")
		case err == nil && !sameElasticShape(stored, c):
			return nil, false, because(ErrGroupExists, otherConfig(stored.fixed(), c.fixed()), "delete it first, as these settings can not be changed")
		case err != nil && !errors.Is(err, ErrGroupNotFound):
			return nil, false, err
		case state == streamForeign:
			return nil, false, foreignStream(stream, group)
		case err == nil:
			return stored, false, nil
		}
		c.revision, err = s.create(ctx, stream, group, marshal(c))
		if err == nil {
			return c, true, nil
		}
		if !errors.Is(err, ErrConflict) || jitter(ctx, attempt) != nil {
			return nil, false, err
		}
	}
}

// rollBack undoes the configuration, if it was created just now, after its
// stream could not be. It looks first, as a request that timed out may have been
// carried out: then there is no error. A configuration that someone else changed
// meanwhile is left.
func (s *store) rollBack(ctx context.Context, stream, group string, c *ElasticConsumerGroupConfig, created bool, cause error) error {
	if ctx.Err() != nil {
		// The caller gave up and should not wait for long, but get a last try.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	state, err := inspectGroupStream(ctx, s.js, stream, group, c)
	if err == nil && state == streamOurs {
		return nil // another creator of the same group made it, or we did
	}
	if err == nil && state == streamForeign {
		cause = foreignStream(stream, group)
	}
	if !created {
		return cause
	}
	if err := s.delete(ctx, stream, group, c.revision); err != nil {
		return errors.Join(cause, fmt.Errorf("the configuration was left in place, so create the group again, or delete it: %w", err))
	}
	return cause
}

// GetElasticConsumerGroupConfig reads an elastic group's configuration. Errors:
// [ErrGroupNotFound], [ErrInvalidConfig], [ErrLegacyConfig]
// (oracle: GetElasticConsumerGroupConfig).
func GetElasticConsumerGroupConfig(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) (*ElasticConsumerGroupConfig, error) {
	c, err := readElastic(ctx, js, streamName, consumerGroupName)
	return c, failed("get elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func readElastic(ctx context.Context, js jetstream.JetStream, stream, group string) (*ElasticConsumerGroupConfig, error) {
	ctx, cancel := call(ctx, js)
	defer cancel()
	s, err := openStore(ctx, js, elasticFlavour)
	if err != nil {
		return nil, err
	}
	return s.getElastic(ctx, stream, group)
}

func (s *store) getElastic(ctx context.Context, stream, group string) (*ElasticConsumerGroupConfig, error) {
	e, err := s.get(ctx, stream, group)
	if err != nil {
		return nil, err
	}
	c, err := decodeElastic(e.value)
	if err != nil {
		return nil, err
	}
	c.revision = e.revision
	return c, nil
}

// DeleteElastic deletes an elastic group: first its configuration, which ends
// its members' sessions, then its work-queue stream with the messages in it. It
// may be repeated, and works when the origin stream is gone: what is left of the
// group is deleted, and [ErrGroupNotFound] is never returned. A stream of that
// name that is not an elastic group's is left alone ([ErrNotGroupStream]).
// Errors: also [ErrConflict] with IfRevision, if the group has another revision
// (oracle: DeleteElastic, which deletes whatever stream has that name).
func DeleteElastic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, opts ...WriteOption) error {
	ctx, cancel := call(ctx, js)
	defer cancel()
	err := deleteElastic(ctx, js, streamName, consumerGroupName, writeOpts(opts))
	return failed("delete elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func deleteElastic(ctx context.Context, js jetstream.JetStream, stream, group string, o writeOptions) error {
	state, err := inspectGroupStream(ctx, js, stream, group, nil)
	if err != nil {
		return err
	}
	if state == streamForeign {
		return foreignStream(stream, group)
	}
	s, err := openStore(ctx, js, elasticFlavour)
	if err == nil {
		_, err = s.get(ctx, stream, group)
	}
	if err == nil {
		err = s.delete(ctx, stream, group, o.revision)
	}
	if err != nil && !errors.Is(err, ErrGroupNotFound) {
		return err
	}
	if state == streamMissing {
		return nil
	}
	err = js.DeleteStream(ctx, ComposeGroupStreamName(stream, group))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// ListElasticConsumerGroups returns the names of the elastic groups on a stream,
// sorted; none if there is no bucket yet, or no such stream. Errors:
// [ErrJetStreamDisabled] (oracle: ListElasticConsumerGroups).
func ListElasticConsumerGroups(ctx context.Context, js jetstream.JetStream, streamName string) ([]string, error) {
	return listGroups(ctx, js, elasticFlavour, streamName)
}

// ListElasticActiveMembers returns the members that have a consumer, in the
// order of the configuration. Errors: those of [GetElasticConsumerGroupConfig];
// [ErrStreamNotFound] if the group has members but its work-queue stream is
// missing (oracle: ListElasticActiveMembers).
func ListElasticActiveMembers(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) ([]string, error) {
	c, err := readElastic(ctx, js, streamName, consumerGroupName)
	var active []string
	if err == nil {
		active, err = activeMembers(ctx, js, elasticFlavour, streamName, consumerGroupName, memberNames(c.Members, c.MemberMappings))
	}
	return active, failed("list active members of elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}

// ElasticMemberStepDown makes the pinned instance of a member give way: the
// server drops its pin and pins whichever instance pulls next. Errors:
// [ErrMemberNotInGroup] if the member has no consumer; [ErrStreamNotFound] if
// there is no work-queue stream, and so for want of the group, whose
// configuration is not read (oracle: ElasticMemberStepDown).
func ElasticMemberStepDown(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberName string) error {
	return stepDown(ctx, js, elasticFlavour, streamName, consumerGroupName, memberName)
}

// ElasticIsInMembershipAndActive tells whether the member is in the group, and
// whether this member has a consumer. Errors: those of
// [GetElasticConsumerGroupConfig]; [ErrStreamNotFound] if the work-queue stream
// is missing (oracle: ElasticIsInMembershipAndActive, whose second answer is
// about any member).
func ElasticIsInMembershipAndActive(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberName string) (bool, bool, error) {
	c, err := readElastic(ctx, js, streamName, consumerGroupName)
	var active []string
	if err == nil {
		active, err = activeMembers(ctx, js, elasticFlavour, streamName, consumerGroupName, []string{memberName})
	}
	if err != nil {
		return false, false, failed("look for member", streamName, consumerGroupName, memberName, withRefusal(js, err))
	}
	return c.IsInMembership(memberName), len(active) != 0, nil
}

// marshal encodes a configuration as the oracle does. It can not fail: the types
// hold only strings, integers and slices of them.
func marshal(config any) []byte {
	b, _ := json.Marshal(config)
	return b
}
