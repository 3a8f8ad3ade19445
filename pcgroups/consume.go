package pcgroups

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ConsumeOption changes how [StaticConsume] and [ElasticConsume] work.
type ConsumeOption func(*consumeOptions)

type consumeOptions struct {
	observer       observer
	rejoin         bool
	check          time.Duration // how often to look at the server unprompted
	keepAlive      time.Duration // how long handlers are kept alive
	keepAliveSet   bool
	concurrency    int // how many partitions at once
	concurrencySet bool
	auto           *autoMembership // nil: the membership is someone else's business
}

// WithConcurrency has up to n partitions of the member handled at once, 1 unless
// given. Messages of one partition are still handled one at a time, in order. It
// needs explicit acknowledgement and a MaxAckPending of more than 1 to be of use:
// the server delivers no more than that ahead. Handlers must be ready to be called
// by several goroutines; with n of 1 they are called one after the other, but not
// always by the same. With n below 1, or above it without explicit
// acknowledgement, joining fails with [ErrInvalidConfig] and a [*ConfigError] about
// "concurrency".
func WithConcurrency(n int) ConsumeOption {
	return func(o *consumeOptions) { o.concurrency = n; o.concurrencySet = true }
}

// WithRejoin makes a session outlive its group. It joins although the group does
// not exist yet, and waits for it; when the group is deleted, or changed in a way
// that would end the session, it lets go of its partitions and waits for the next
// configuration (Terraform replaces a group by deleting and creating it). A
// static member's durable that was deleted is created again, by the consumer
// configuration given: with DeliverAllPolicy it starts over. What happened is
// counted and told as recovered.
func WithRejoin() ConsumeOption {
	return func(o *consumeOptions) { o.rejoin = true }
}

// WithKeepAlive sends in-progress acknowledgements while a handler runs, three
// for each AckWait, so that it may take longer than that, up to most in all;
// after that the ack deadline applies. Without it a handler is to call InProgress
// itself if it may take longer. If most is not positive, joining fails with
// [ErrInvalidConfig] and a [*ConfigError] about "keep_alive".
func WithKeepAlive(most time.Duration) ConsumeOption {
	return func(o *consumeOptions) { o.keepAlive = most; o.keepAliveSet = true }
}

// WithEvents has functions called as things happen to the session. Given more
// than once, the last one counts.
func WithEvents(events Events) ConsumeOption {
	return func(o *consumeOptions) { o.observer.events = events }
}

// WithLogger logs what happens to the session: its partitions and pin, and what it
// waits for, at level Info, faults that were absorbed at Warn, a fatal error at
// Error. Without it nothing is logged.
func WithLogger(logger *slog.Logger) ConsumeOption {
	return func(o *consumeOptions) { o.observer.log = logger }
}

// StaticConsume joins a static group as one instance of a member and consumes
// its partitions until stopped. ctx bounds the joining only.
//
// The handler is called with a [*ConsumerGroupMsg], for one message at a time,
// and is to acknowledge it ([HandlerFunc] and [AutoAck] adapt other kinds). If
// several instances of the member run, the server delivers to one of them, and
// to another when that one stops or falls silent.
//
// config is the member's consumer. Durable name, filters, priority group, policy
// and pin time to live are set by the protocol; everything else is the caller's
// (so leave Name empty). MaxAckPending 1 gives strict order. AckWait, 5 s if not set, decides
// how fast a dead instance is replaced; below 2 s an idle group's pin may move
// between instances.
//
// The session ends with an error when the group is changed
// ([ErrGroupConfigChanged]), its consumer is deleted ([ErrConsumerDeleted]), the
// bucket is deleted ([ErrBucketDeleted]), the handler fails ([ErrHandler]) or the
// connection is closed ([ErrConnectionClosed]); without one when it is stopped or
// the group is deleted.
//
// Errors of joining: [ErrInvalidConfig], [ErrStreamNotFound],
// [ErrGroupNotFound], [ErrMemberNotInGroup], [ErrLegacyConfig],
// [ErrServerTooOld], and the server's refusal of the consumer
// (oracle: StaticConsume).
func StaticConsume(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberName string, messageHandler func(msg jetstream.Msg), config jetstream.ConsumerConfig, opts ...ConsumeOption) (Session, error) {
	return consume(ctx, js, staticFlavour, streamName, consumerGroupName, memberName, messageHandler, config, opts)
}

// ElasticConsume joins an elastic group as one instance of a member and consumes
// the member's partitions, whichever they are at a time, until stopped. A member
// that is not in the group waits until it is added. ctx bounds the joining only.
//
// The handler is called as described for [StaticConsume]. When the membership
// changes and with it this member's partitions, no further message is started,
// the running handler may finish, and only then are the partitions given up; a
// member whose partitions stay the same is not interrupted.
//
// config is as for [StaticConsume], but for the acknowledgement policy, which
// must be explicit, and the inactivity threshold, which is the AckWait.
//
// The session ends with an error when the group's fixed part is changed
// ([ErrGroupConfigChanged]), the bucket is deleted ([ErrBucketDeleted]), the
// handler fails ([ErrHandler]) or the connection is closed
// ([ErrConnectionClosed]); without one when it is stopped or the group is
// deleted. A consumer that is deleted is created again.
//
// Errors of joining: [ErrInvalidConfig], [ErrStreamNotFound],
// [ErrGroupNotFound], [ErrLegacyConfig], [ErrServerTooOld]
// (oracle: ElasticConsume).
func ElasticConsume(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, memberName string, messageHandler func(msg jetstream.Msg), config jetstream.ConsumerConfig, opts ...ConsumeOption) (Session, error) {
	return consume(ctx, js, elasticFlavour, streamName, consumerGroupName, memberName, messageHandler, config, opts)
}

func consume(ctx context.Context, js jetstream.JetStream, fl *flavour, stream, group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig, opts []ConsumeOption) (Session, error) {
	name := func(err error) error {
		return failed("consume "+fl.kind+" group", stream, group, member, withRefusal(js, err))
	}
	var o consumeOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.keepAliveSet && o.keepAlive <= 0 {
		return nil, name(badField("keep_alive", "must be longer than nothing"))
	}
	switch {
	case o.concurrencySet && o.concurrency < 1:
		return nil, name(badField("concurrency", "must be at least 1"))
	case o.concurrency > 1 && config.AckPolicy != jetstream.AckExplicitPolicy:
		return nil, name(badField("concurrency", "needs explicit acknowledgement: without it the order of a partition can not be kept by several handlers"))
	}
	if err := o.auto.check(fl, config); err != nil {
		return nil, name(err)
	}
	o.check = deriveTimers(config.AckWait).selfCheck
	b := &natsBackend{fl: fl, js: js, stream: stream, group: group, member: member, user: config, changing: newTurnstile()}
	enrolled := false
	first, err := b.prepare(ctx, handle)
	if o.rejoin && (errors.Is(err, ErrGroupNotFound) || errors.Is(err, ErrStreamNotFound) || errors.Is(err, ErrMemberNotInGroup)) {
		first, err = evGone{}, nil // wait for it
	} else if err == nil && o.auto != nil {
		first, enrolled, err = b.enroll(ctx)
	}
	if err != nil {
		return nil, name(err)
	}
	b.server.id = js.Conn().ConnectedServerId()
	l := newLoop(fl, b, handle, o, name)
	l.auto = newAutoMember(o.auto, b, l)
	if fl.sourced && o.observer.wantsSource() {
		l.source = newSourceWatch(js, stream, group, l.ownsFirst, func(what any) { l.tell(evSource{what}) })
	}
	s := l.session
	known := []event{first}
	if enrolled {
		known = append(known, evMembership{tellEnrolled{}})
	}
	go l.run(known...)

	select {
	case <-s.ready:
	case <-ctx.Done():
		s.Stop()
		<-s.ended
		return nil, name(ctx.Err())
	}
	// A session that ended before it consumed anything did not join. (If the
	// group was deleted at that moment it ended without an error: that is the
	// session's to tell.)
	select {
	case <-s.ended:
		if err := s.Err(); err != nil {
			b.undo(enrolled)
			return nil, err
		}
	default:
	}
	return s, nil
}

// prepare checks what can be checked before anything is started, and reads the
// group's configuration.
func (b *natsBackend) prepare(ctx context.Context, handle func(jetstream.Msg)) (event, error) {
	if handle == nil {
		return nil, badField("handler", "a message handler must be given")
	}
	if err := checkNames(b.fl, b.stream, b.group); err != nil {
		return nil, err
	}
	if err := checkMember(b.fl, b.group, b.member); err != nil {
		return nil, err
	}
	if b.fl.explicitAck && b.user.AckPolicy != jetstream.AckExplicitPolicy {
		return nil, badField("ack_policy", "must be explicit for elastic groups, as the messages of a work queue are removed by their acknowledgement")
	}
	ctx, cancel := call(ctx, b.js)
	defer cancel()
	if err := requireLevel(ctx, b.js, levelPinned, "pinning one instance of a member", "2.11"); err != nil {
		return nil, err
	}
	s, err := openStore(ctx, b.js, b.fl)
	if err != nil {
		return nil, err
	}
	e, err := s.get(ctx, b.stream, b.group)
	if err != nil {
		return nil, err
	}
	v, err := b.fl.view(e.value, b.member)
	if err != nil {
		return nil, err
	}
	if _, err := b.js.Stream(ctx, b.consumerStream()); err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) && b.fl == elasticFlavour {
			return nil, because(ErrStreamNotFound, err, "create the group again, which creates its work-queue stream "+b.consumerStream())
		}
		return nil, err
	}
	return evConfig{view: v, revision: e.revision}, nil
}
