package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// stake is what destroying a group would cost right now.
type stake struct {
	buffered  uint64   // messages that no member has processed, in a stream that goes with the group
	connected []string // members with an instance that would be stopped
	progress  []string // members whose position is lost while messages before it are still there
	replay    uint64   // messages that a new group of the same name would get again, at most
}

// high tells whether the cost is one to be consented to.
func (s stake) high() bool { return s.buffered != 0 || len(s.connected) != 0 || len(s.progress) != 0 }

// appraise looks at the group on the server. It goes by what is there, not by
// state, so that a group which is half gone can always be destroyed.
func appraise(ctx context.Context, js jetstream.JetStream, group groupRef) (stake, error) {
	if group.kind == "static" {
		return appraiseStatic(ctx, js, group)
	}
	return appraiseElastic(ctx, js, group)
}

// appraiseElastic needs no configuration: whatever consumes the group's own
// stream is a member.
func appraiseElastic(ctx context.Context, js jetstream.JetStream, group groupRef) (stake, error) {
	var s stake
	queue, err := js.Stream(ctx, pcgroups.ComposeGroupStreamName(group.stream, group.name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.buffered = queue.CachedInfo().State.Msgs
	consumers := queue.ListConsumers(ctx)
	for info := range consumers.Info() {
		if connected(info) {
			s.connected = append(s.connected, info.Name)
		}
	}
	if err := consumers.Err(); err != nil {
		return s, err
	}
	slices.Sort(s.connected)
	origin, err := streamState(ctx, js, group.stream)
	if origin != nil {
		s.replay = origin.Msgs
	}
	return s, err
}

func appraiseStatic(ctx context.Context, js jetstream.JetStream, group groupRef) (stake, error) {
	var s stake
	config, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, group.stream, group.name)
	if errors.Is(err, pcgroups.ErrGroupNotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	origin, err := streamState(ctx, js, group.stream)
	if err != nil || origin == nil {
		return s, err
	}
	for _, member := range slices.Sorted(maps.Keys(config.Assignments())) {
		consumer, err := js.Consumer(ctx, group.stream, pcgroups.ComposeStaticConsumerName(group.name, member))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue // it never joined
		}
		if err != nil {
			return s, err
		}
		info := consumer.CachedInfo()
		if info.Config.PriorityPolicy != jetstream.PriorityPolicyPinned {
			continue // not a member's: it only has the name, and will be left alone
		}
		if connected(info) {
			s.connected = append(s.connected, member)
		}
		if info.AckFloor.Consumer != 0 && origin.Msgs != 0 && info.AckFloor.Stream >= origin.FirstSeq {
			s.progress = append(s.progress, member)
		}
	}
	return s, nil
}

// connected tells whether an instance of the member is there now. That the
// consumer exists says little: it outlives its instances.
func connected(info *jetstream.ConsumerInfo) bool {
	return info.NumWaiting != 0 || slices.ContainsFunc(info.PriorityGroups, func(g jetstream.PriorityGroupState) bool {
		return g.PinnedClientID != ""
	})
}

// streamState returns nil if there is no such stream.
func streamState(ctx context.Context, js jetstream.JetStream, name string) (*jetstream.StreamState, error) {
	s, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &s.CachedInfo().State, nil
}

// cost tells in words what is at stake.
func (s stake) cost() string {
	var parts []string
	if s.buffered != 0 {
		parts = append(parts, "drop "+count(int(s.buffered), "unprocessed message"))
	}
	if n := len(s.connected); n != 0 {
		parts = append(parts, fmt.Sprintf("stop %s (%s)", count(n, "connected member"), strings.Join(s.connected, ", ")))
	}
	if n := len(s.progress); n != 0 {
		parts = append(parts, fmt.Sprintf("lose the position of %s (%s), whose processed messages are still in the stream", count(n, "member"), strings.Join(s.progress, ", ")))
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// replayed tells what a new group of the same name would get again.
func (s stake) replayed(group groupRef) string {
	switch {
	case group.kind == "elastic" && s.replay != 0:
		return fmt.Sprintf(" The new group starts at the beginning of stream %s: up to %s, processed ones too, will be delivered again.", group.stream, count(int(s.replay), "message"))
	case len(s.progress) != 0:
		return " The members of the new group start anew, so those messages may be delivered again."
	}
	return ""
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
