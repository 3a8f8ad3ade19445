package pcgroups

import (
	"log/slog"
	"time"
)

// Events are functions that a session calls as things happen. Each may be nil.
// They are called one at a time, in order, by the session itself, which waits for
// them: they must return soon. They may call Stop and Status, but not Wait.
type Events struct {
	// PartitionsAssigned tells that the member's consumer is in place and these
	// partitions will be delivered to whichever instance of it is pinned.
	PartitionsAssigned func(partitions []int)
	// PartitionsRevoked tells that this instance has let go of its partitions: no
	// handler for them runs, except one past its ack deadline.
	PartitionsRevoked func(partitions []int)
	// Pinned tells that the server has pinned this instance (ADR-42). It is known
	// from the first message.
	Pinned func(pinID string)
	// Unpinned tells that the server has taken the pin away.
	Unpinned func()
	// PartitionStalled tells that these partitions hold up all the others: so many
	// messages wait behind an unsettled one of theirs that MaxAckPending is reached
	// and the server delivers no more. Without partitions it tells that this is
	// over.
	PartitionStalled func(partitions []int)
	// MessageGivenUp tells of a message, by its sequence in the consumer's stream,
	// that was not acknowledged and has reached MaxDeliver, so that the server does
	// not deliver it again. It stays in the stream. Messages given up while another
	// instance or no instance was pinned, or with MaxAckPending 1, are not told.
	MessageGivenUp func(partition int, sequence uint64, deliveries uint64)
	// MemberEvicted tells that this session has dropped a member that was gone from
	// the group. See WithAutoMembership.
	MemberEvicted func(name string)
	// SourceStalled tells that messages wait in the group's stream and are not
	// copied into its work-queue stream; see RestartSourcing. SourceRecovered tells
	// that this is over, after so long. SourceSkipped tells of messages that were
	// skipped, copied twice, or are about to be; see AuditElastic. All three are
	// for elastic groups, and looked for by the member that has partition 0: every
	// 5 s, if one of them or a logger is set.
	SourceStalled   func(stall SourceStall)
	SourceRecovered func(after time.Duration)
	SourceSkipped   func(skip SourceSkip)
	// Recovered tells of a fault that the session got over or keeps trying to.
	Recovered func(err error)
	// Ended tells that the session is over, and is the last call. The error is
	// that of Session.Err.
	Ended func(err error)
}

// observer passes on what happens to the user's functions and logger.
type observer struct {
	events Events
	log    *slog.Logger // nil: nothing is logged
}

func (o *observer) tell(what any) {
	switch what := what.(type) {
	case tellAssigned:
		o.info("partitions assigned", "partitions", what.partitions)
		if o.events.PartitionsAssigned != nil {
			o.events.PartitionsAssigned(what.partitions)
		}
	case tellRevoked:
		o.info("partitions revoked", "partitions", what.partitions)
		if o.events.PartitionsRevoked != nil {
			o.events.PartitionsRevoked(what.partitions)
		}
	case tellStalled:
		o.info("partitions stalled", "partitions", what.partitions)
		if o.events.PartitionStalled != nil {
			o.events.PartitionStalled(what.partitions)
		}
	case tellGivenUp:
		o.info("message given up", "partition", what.partition, "sequence", what.seq, "deliveries", what.deliveries)
		if o.events.MessageGivenUp != nil {
			o.events.MessageGivenUp(what.partition, what.seq, what.deliveries)
		}
	case SourceStall, sourceRecovered, SourceSkip:
		o.tellSource(what)
	case tellEnrolled:
		o.info("joined the group")
	case tellWaits:
		o.info("waits: " + what.why)
	case tellLeft:
		o.info("left the group")
	case tellEvicted:
		for _, m := range what.members {
			o.info("evicted another", "evicted", m)
			if o.events.MemberEvicted != nil {
				o.events.MemberEvicted(m)
			}
		}
	case tellPinned:
		if what.pin == "" {
			o.info("unpinned")
			if o.events.Unpinned != nil {
				o.events.Unpinned()
			}
			return
		}
		o.info("pinned", "pin", what.pin)
		if o.events.Pinned != nil {
			o.events.Pinned(what.pin)
		}
	}
}

func (o *observer) recovered(err error) {
	if o.log != nil {
		o.log.Warn("consumer group member recovers", "error", err)
	}
	if o.events.Recovered != nil {
		o.events.Recovered(err)
	}
}

func (o *observer) ended(err error) {
	if o.log != nil {
		if err != nil {
			o.log.Error("consumer group member ended", "error", err)
		} else {
			o.log.Info("consumer group member ended")
		}
	}
	if o.events.Ended != nil {
		o.events.Ended(err)
	}
}

func (o *observer) info(msg string, args ...any) {
	if o.log != nil {
		o.log.Info("consumer group member "+msg, args...)
	}
}
