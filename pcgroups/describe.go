package pcgroups

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Description is how a group is doing at one moment, as seen by the server.
type Description struct {
	Kind     string // "static" or "elastic"
	Stream   string // the stream the group is on
	Group    string // the group's name
	Revision uint64 // of its configuration

	MaxMembers uint                // the number of partitions
	Members    []MemberDescription // in the order of the configuration

	// Unassigned are the members past MaxMembers, which have no partitions. They
	// are among Members too.
	Unassigned []string

	// Lag is how many messages the members have yet to acknowledge. For an
	// elastic group it is BufferedMsgs plus SourceLag.
	Lag uint64

	// The rest is about an elastic group's work-queue stream.
	StreamMissing bool          // it does not exist: create the group again
	BufferedMsgs  uint64        // messages in it, delivered ones that are not acknowledged included
	BufferedBytes uint64        // bytes in it
	SourceLag     uint64        // messages of the origin that are not in it yet, as the server knows
	SourceActive  time.Duration // since it last heard from the origin; negative: not at all since its leader was elected
}

// MemberDescription is how one member of a group is doing.
type MemberDescription struct {
	Name       string
	Partitions []int

	// Consumer is the name of the member's consumer. If Exists is false it is not
	// there, no instance is running, and the fields below are zero.
	Consumer string
	Exists   bool
	Created  time.Time

	PinnedID     string    // the pin id of the active instance, if one is pinned
	PinnedSince  time.Time // when it was pinned
	WaitingPulls int       // pull requests of all its instances that wait for messages
	Pending      uint64    // messages not delivered yet
	AckPending   int       // messages delivered and not acknowledged yet
	Redelivered  int       // of those, the ones delivered more than once
	AckFloor     uint64    // stream sequence up to which everything is acknowledged
}

// DescribeStatic tells how a static group and its members are doing. It changes
// nothing. Errors: those of [GetStaticConsumerGroupConfig], [ErrStreamNotFound].
func DescribeStatic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) (*Description, error) {
	ctx, cancel := call(ctx, js)
	defer cancel()
	c, err := GetStaticConsumerGroupConfig(ctx, js, streamName, consumerGroupName)
	if err != nil {
		return nil, err
	}
	d := describe(staticFlavour, streamName, consumerGroupName, c.revision, c.MaxMembers, c.Members, c.MemberMappings)
	if err := d.fill(ctx, js, staticFlavour); err != nil {
		return nil, failed("describe static group", streamName, consumerGroupName, "", err)
	}
	for _, m := range d.Members {
		d.Lag += m.Pending + uint64(m.AckPending)
	}
	return d, nil
}

// DescribeElastic tells how an elastic group, its members and its work-queue
// stream are doing. It changes nothing. Errors: those of
// [GetElasticConsumerGroupConfig].
func DescribeElastic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string) (*Description, error) {
	ctx, cancel := call(ctx, js)
	defer cancel()
	c, err := GetElasticConsumerGroupConfig(ctx, js, streamName, consumerGroupName)
	if err != nil {
		return nil, err
	}
	d := describe(elasticFlavour, streamName, consumerGroupName, c.revision, c.MaxMembers, c.Members, c.MemberMappings)
	err = d.fillBuffer(ctx, js)
	if err == nil && !d.StreamMissing {
		err = d.fill(ctx, js, elasticFlavour)
	}
	if err != nil {
		return nil, failed("describe elastic group", streamName, consumerGroupName, "", err)
	}
	d.Lag = d.BufferedMsgs + d.SourceLag
	return d, nil
}

// describe is what the configuration alone tells.
func describe(fl *flavour, stream, group string, revision uint64, maxMembers uint, members []string, mappings []MemberMapping) *Description {
	d := &Description{Kind: fl.kind, Stream: stream, Group: group, Revision: revision, MaxMembers: maxMembers}
	parts := Assignments(maxMembers, members, mappings)
	for _, m := range memberNames(members, mappings) {
		d.Members = append(d.Members, MemberDescription{Name: m, Partitions: parts[m], Consumer: fl.consumerName(group, m)})
		if len(parts[m]) == 0 {
			d.Unassigned = append(d.Unassigned, m)
		}
	}
	return d
}

// fill adds what the members' consumers tell.
func (d *Description) fill(ctx context.Context, js jetstream.JetStream, fl *flavour) error {
	consumers, err := listConsumers(ctx, js, fl.groupStream(d.Stream, d.Group))
	if err != nil {
		return err
	}
	for i := range d.Members {
		m := &d.Members[i]
		at := slices.IndexFunc(consumers, func(c *jetstream.ConsumerInfo) bool { return c.Name == m.Consumer })
		if at < 0 {
			continue
		}
		info := consumers[at]
		m.Exists, m.Created = true, info.Created
		m.WaitingPulls, m.Pending = info.NumWaiting, info.NumPending
		m.AckPending, m.Redelivered = info.NumAckPending, info.NumRedelivered
		m.AckFloor = info.AckFloor.Stream
		for _, g := range info.PriorityGroups {
			if g.Group == PriorityGroup {
				m.PinnedID, m.PinnedSince = g.PinnedClientID, g.PinnedTS
			}
		}
	}
	return nil
}

// fillBuffer adds what the work-queue stream tells.
func (d *Description) fillBuffer(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, ComposeGroupStreamName(d.Stream, d.Group))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		d.StreamMissing = true
		return nil
	}
	if err != nil {
		return err
	}
	info := s.CachedInfo()
	d.BufferedMsgs, d.BufferedBytes = info.State.Msgs, info.State.Bytes
	for _, src := range info.Sources {
		if src.Name == d.Stream {
			d.SourceLag, d.SourceActive = src.Lag, src.Active
		}
	}
	return nil
}
