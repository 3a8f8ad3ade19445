package pcgroups

import (
	"context"
	"iter"

	"github.com/nats-io/nats.go/jetstream"
)

// Arrival is a message of an elastic group in its two streams.
type Arrival struct {
	Buffered uint64 // its sequence in the work-queue stream
	Origin   uint64 // its sequence in the origin
}

// ArrivalOf returns where a message of an elastic group comes from; ok is false for
// a message of another stream. A handler that keeps what it returns enables an
// audit of messages that have left the work-queue stream: see [WithArrivals]. It
// needs the header Nats-Stream-Source, which the server sets.
func ArrivalOf(msg jetstream.Msg) (a Arrival, ok bool) {
	a.Origin = originSequence(msg.Headers().Get(sourceHeader))
	meta, err := msg.Metadata()
	if err != nil || a.Origin == 0 {
		return Arrival{}, false
	}
	a.Buffered = meta.Sequence.Stream
	return a, true
}

// AuditOption changes how [AuditElastic] works.
type AuditOption func(*auditOptions)

type auditOptions struct {
	arrivals iter.Seq[Arrival]
	most     int
}

// WithArrivals adds what handlers saw (see [ArrivalOf]) to what is still in the
// work-queue stream. They must be of that stream, not of one that was deleted with
// an earlier group of the name, and come in ascending order of Buffered; the same one
// may come more than once. With all arrivals an audit is exact to the message; with
// a single old one (see Audit.Checkpoint) it counts from there.
func WithArrivals(arrivals iter.Seq[Arrival]) AuditOption {
	return func(o *auditOptions) { o.arrivals = arrivals }
}

// auditMost is how many ranges an audit keeps: 160 kB.
const auditMost = 10_000

// Audit is what [AuditElastic] found. All sequences are those of the origin.
type Audit struct {
	// Range is what was audited: what was asked for, as far as the origin goes.
	Range SequenceRange
	// Next is where to go on with another audit if there was too much to tell in
	// one (10,000 ranges); 0 if this one is whole.
	Next uint64
	// Sourced is the newest message of the group known to have been sourced, 0 if
	// there is none.
	Sourced uint64

	// Missing are the messages of the group that the origin has and that did not
	// arrive in the work-queue stream, though later ones did: each sequence in
	// these ranges. They will not come by themselves.
	Missing []SequenceRange
	// Unproven are the stretches of which something arrived that has been
	// consumed since, and whose numbers do not prove that all did. Missing of a
	// span says how many messages of it, at least, never came; which of them can
	// not be told. 0 means that nothing is proven, neither way.
	Unproven []AuditSpan
	// Expired are, for a group without partitioning filters, the sequences that
	// did not arrive and are not in the origin any more: its limits, a purge or a
	// deletion took them before or after they should have been sourced.
	Expired []SequenceRange
	// Waiting is the stretch from the first message that is yet to be sourced to
	// the end of the audit. Messages in it are not late, unless DescribeElastic
	// tells of a stall.
	Waiting SequenceRange
	// Gone is the part of the range that is older than the oldest message in the
	// origin. Nothing can be told of it, but what Expired says.
	Gone SequenceRange

	// Checkpoint is a message to begin the next audit at, by WithArrivals and a range
	// from Checkpoint.Origin + 1: then nothing before it is looked at, and the
	// numbers since then prove more than those since the group began. It is zero if
	// there is none.
	Checkpoint Arrival
	// Repeated is how many of the arrivals seen were of a message that had arrived
	// before.
	Repeated uint64
	// PlaceLost is set if the server does not know any more which message it
	// sourced last (see Description).
	PlaceLost bool
}

// Complete tells whether the audit proves that every message of the group in its
// range arrived, but for those that wait, are gone or came to be listed after Next.
func (a *Audit) Complete() bool { return len(a.Missing)+len(a.Unproven)+len(a.Expired) == 0 }

// AuditElastic tells which messages of the origin, from one sequence to another,
// both included, an elastic group's work-queue stream never got. 0 stands for the
// first and the last. It changes no stream and no message.
//
// The server can skip messages for good when the work-queue stream changes leader
// (up to nats-server 2.14 in plain traffic, from 2.15 on after servers were
// killed), and it does not tell. What proves that it did: the work-queue stream
// numbers what it stores, and each message carries its origin sequence. Between two
// messages that were stored one right after the other nothing else arrived; if the
// origin has messages of the group between their two origin sequences, those were
// skipped. They are listed in Missing.
//
// Messages that have been consumed are gone from the work-queue stream. Of those
// only the number is left, by its sequences, and is compared with the number that
// the origin has. The two are equal: all arrived. The origin has more: so many, at
// least, never did (Unproven). To know which ones, have handlers keep what
// [ArrivalOf] returns, and give it to the audit by [WithArrivals].
//
// An origin that drops old messages proves little of what was consumed long ago.
// Audit such a group regularly, each time from the Checkpoint of the time before.
//
// It can not prove, and assumes, that among messages that were consumed and not
// seen as many did not arrive as arrived twice. It can not tell messages that the
// origin does not have any more, nor, of an origin with interest or work-queue
// retention, or one that messages were deleted from, whether all of a stretch
// arrived. A message that the work-queue stream refused as a duplicate
// (Nats-Msg-Id) counts as missing. An origin that was deleted and made again has
// new sequences, which do not fit the old ones. Servers before 2.15 do not tell
// how far they are, so that what follows the newest message in the work-queue
// stream is unproven.
//
// It sends one request for each message in the work-queue stream, and for each
// that may be missing, and keeps at most 10,000 ranges. To count, it creates and
// deletes a consumer on the origin that reads nothing; without permission for that,
// what needs a count is Unproven. Members may consume meanwhile, but an audit while
// all is quiet tells most.
//
// Errors: those of [GetElasticConsumerGroupConfig]; [ErrStreamNotFound],
// [ErrNotGroupStream], [ErrInvalidConfig] for a range that ends before it begins.
func AuditElastic(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, from uint64, to uint64, opts ...AuditOption) (*Audit, error) {
	o := auditOptions{most: auditMost}
	for _, opt := range opts {
		opt(&o)
	}
	a, err := auditElastic(ctx, js, streamName, consumerGroupName, SequenceRange{from, to}, o)
	return a, failed("audit elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}
