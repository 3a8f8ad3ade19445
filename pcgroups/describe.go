package pcgroups

import (
	"context"
	"errors"
	"slices"
	"strconv"
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

	// SourceSeq is the origin sequence of the message sourced last, as the server
	// records it; 0 if there is none, or the server is older than 2.15.
	SourceSeq uint64
	// SourceStalled is set while messages wait in the origin, nothing sources
	// them, and nothing else explains it: since when at least. SourceLag is wrong
	// then. The server gets over it, mostly within a minute. On suspicion the call
	// takes two seconds longer, to look again. Without permission for
	// STREAM.MSG.GET of the origin it stays nil.
	SourceStalled *SourceStall
	// SourcePlaceLost is set while the server's record of the last message
	// sourced is missing, or behind a message that is in the work-queue stream.
	// Messages will come twice or have been skipped: see AuditElastic. Only
	// servers from 2.15 on keep such a record.
	SourcePlaceLost bool
	// SourceExpired is how many messages have left the origin, by its limits or a
	// purge, before they were sourced. It is known only for a group without
	// partitioning filters, and until sourcing has gone on behind them.
	SourceExpired uint64
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
		return nil, failed("describe static group", streamName, consumerGroupName, "", withRefusal(js, err))
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
	err = d.fillBuffer(ctx, js, newHop(js, streamName, consumerGroupName, c))
	if err == nil && !d.StreamMissing {
		err = d.fill(ctx, js, elasticFlavour)
	}
	if err != nil {
		return nil, failed("describe elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
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
func (d *Description) fillBuffer(ctx context.Context, js jetstream.JetStream, h *hop) error {
	s, err := js.Stream(ctx, h.queue())
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
			d.SourceLag, d.SourceActive, d.SourceSeq = src.Lag, src.Active, src.Seq
		}
	}
	return d.fillSource(ctx, h, info)
}

// describePatience is for what a user may have no permission to ask.
const describePatience = 4 * time.Second

// fillSource adds what is wrong with the way from the origin. It asks further only
// if something may be.
func (d *Description) fillSource(ctx context.Context, h *hop, info *jetstream.StreamInfo) error {
	ask, cancel := context.WithTimeout(ctx, describePatience)
	defer cancel()
	if keepsPlace(info) && info.State.LastSeq > 0 {
		d.SourcePlaceLost = d.SourceSeq == 0
		// A group that got more messages than the origin has sequences has got
		// some twice, now or long ago.
		if d.SourceSeq > 0 && d.SourceSeq < info.State.LastSeq && d.BufferedMsgs > 0 {
			if lost, err := h.behind(ask); err == nil {
				d.SourcePlaceLost = lost
			}
		}
	}
	if silent(d.SourceActive) || d.SourceLag > 0 || h.whole() && d.SourceSeq > 0 {
		st := sourceState{whole: h.whole()}
		o := d.lookOnce(ask, h, &st)
		var wait time.Duration
		switch {
		case d.SourceStalled == nil && o.next > 0 && !o.full:
			wait = leaderSettled // it may just be about to begin
		case st.expiredSeq != 0:
			wait = sourceTransit
		}
		if wait > 0 && pause(ask, wait) == nil {
			d.lookOnce(ask, h, &st)
		}
	}
	return ctx.Err()
}

// lookOnce adds what one look at the source tells. What can not be asked is not
// told.
func (d *Description) lookOnce(ctx context.Context, h *hop, st *sourceState) sourceSight {
	o, _, _ := h.look(ctx, 0, true)
	for _, news := range st.see(o) {
		switch news := news.(type) {
		case SourceStall:
			d.SourceStalled = &news
		case SourceSkip:
			if news.Kind == SourceExpired {
				d.SourceExpired = news.Messages
			}
		}
	}
	return o
}

// behind tells whether the newest message in the work-queue stream is one that the
// server does not know to have sourced. (A message may have come between two
// answers, so the message is asked for first.)
func (h *hop) behind(ctx context.Context) (bool, error) {
	newest, err := h.get(ctx, h.queue(), getRequest{LastFor: ">"})
	if err != nil || newest == nil {
		return false, err
	}
	o, _, err := h.look(ctx, 0, false)
	return o.answered && o.seq < newest.origin, err
}

// keepsPlace tells whether the server that answered records which message it
// sourced last: nats-server 2.15, API level 5 (ADR-44).
func keepsPlace(info *jetstream.StreamInfo) bool {
	level, err := strconv.Atoi(info.Config.Metadata["_nats.level"])
	return err == nil && level >= levelSourcePlace
}
