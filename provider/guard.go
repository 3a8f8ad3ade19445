package provider

import (
	"context"
	"errors"
	"fmt"
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

func appraiseElastic(ctx context.Context, js jetstream.JetStream, group groupRef) (stake, error) {
	var s stake
	d, err := pcgroups.DescribeElastic(ctx, js, group.stream, group.name)
	if errors.Is(err, pcgroups.ErrGroupNotFound) {
		// Nobody can be a member, but the messages may still be there.
		queue, err := streamState(ctx, js, pcgroups.ComposeGroupStreamName(group.stream, group.name))
		if queue != nil {
			s.buffered = queue.Msgs
		}
		return s, err
	}
	if err != nil {
		return s, err
	}
	s.buffered, s.connected = d.BufferedMsgs, connected(d)
	if d.StreamMissing {
		return s, nil
	}
	s.replay, err = replay(ctx, js, group)
	return s, err
}

func appraiseStatic(ctx context.Context, js jetstream.JetStream, group groupRef) (stake, error) {
	var s stake
	d, err := pcgroups.DescribeStatic(ctx, js, group.stream, group.name)
	if errors.Is(err, pcgroups.ErrGroupNotFound) || errors.Is(err, pcgroups.ErrStreamNotFound) {
		return s, nil // consumers go with their stream
	}
	if err != nil {
		return s, err
	}
	s.connected = connected(d)
	origin, err := streamState(ctx, js, group.stream)
	if err != nil || origin == nil || origin.Msgs == 0 {
		return s, err
	}
	for _, m := range d.Members {
		if m.AckFloor != 0 && m.AckFloor >= origin.FirstSeq {
			s.progress = append(s.progress, m.Name)
		}
	}
	slices.Sort(s.progress)
	return s, nil
}

// connected lists the members with an instance that is there now. That the
// consumer exists says little: it outlives its instances.
func connected(d *pcgroups.Description) []string {
	var names []string
	for _, m := range d.Members {
		if m.WaitingPulls != 0 || m.PinnedID != "" {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// maxCounted bounds the subjects that are counted one by one: the server lists
// them all.
const maxCounted = 10_000

// replay counts the messages that a new group of the same filters would get from
// the stream. With very many subjects it counts all messages, which may be more.
func replay(ctx context.Context, js jetstream.JetStream, group groupRef) (uint64, error) {
	origin, err := streamState(ctx, js, group.stream)
	if err != nil || origin == nil {
		return 0, err
	}
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
	if err != nil || len(c.PartitioningFilters) == 0 || origin.Msgs == 0 || origin.NumSubjects > maxCounted {
		return origin.Msgs, err
	}
	s, err := js.Stream(ctx, group.stream)
	if err != nil {
		return origin.Msgs, err
	}
	var n uint64
	for _, f := range c.PartitioningFilters {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(f.Filter))
		if err != nil {
			return origin.Msgs, err
		}
		for _, messages := range info.State.Subjects {
			n += messages
		}
	}
	return n, nil
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
