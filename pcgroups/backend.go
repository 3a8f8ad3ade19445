package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// backend is what a session needs of the outside world. Tests of the session's
// timing put a fake in its place; there is one real one.
type backend interface {
	// watch reports configurations until the returned function is called. Its
	// events are told in order; after evWatchLost there are no more.
	watch(ctx context.Context, tell func(event)) (stop func(), err error)
	// look tells what stands on the server, with the consumer's configuration if
	// there is one.
	look(ctx context.Context) (evLooked, jetstream.ConsumerConfig)
	// adjust gives the consumer our settings, so far as that can be done, and
	// tells its configuration then.
	adjust(ctx context.Context) (evAdjusted, jetstream.ConsumerConfig)
	// join creates the member's consumer with these filters, or finds it.
	join(ctx context.Context, filters []string) (attachment, error)
	// pull delivers messages until stopped. Troubles are told as events.
	pull(a attachment, r *runner, tell func(event)) (puller, error)
	// release deletes the consumer if it is still the one created then. Unless
	// final, it is left to another instance that holds its pin or has a message.
	release(ctx context.Context, created time.Time, pin string, final bool) error
	// barrier returns when the server has processed every acknowledgement sent
	// before, of which the one with this reply subject is the last.
	barrier(ctx context.Context, acked string) error
	// applied waits a while until the stream has let go of an acknowledged message.
	applied(ctx context.Context, seq uint64)
	// standing tells what the consumer has in flight.
	standing(ctx context.Context) (standing, error)
	// unstick acknowledges a message that came again, and sees to it that the
	// server takes that. raised tells that the consumer's settings were changed for it.
	unstick(ctx context.Context, msg jetstream.Msg, pin string, patience time.Duration) (raised bool, err error)
	// deaf tells whether the server ignores the acknowledgements of the message
	// with this reply subject; the last of them must have had time to arrive.
	deaf(ctx context.Context, acked string) bool
	// unpin sends what is buffered and gives up the pin if it is held with this id;
	// an empty one never is.
	unpin(ctx context.Context, pin string) error
	// renew renews the pin. It tells whether it is still held, as far as is known.
	renew(timeout time.Duration, pin string) (held bool)
	lookout
	// connected tells whether the server hears us, as far as is known.
	connected() bool
	// closed delivers or is closed when the connection is closed for good.
	closed() (closed <-chan nats.Status, stop func())
}

// attachment is a consumer we may pull from.
type attachment struct {
	consumer jetstream.Consumer
	config   jetstream.ConsumerConfig // as the server has it
	created  time.Time
	differs  divergence // from what was asked for
}

// puller is a running pull.
type puller interface {
	// stop ends the pull. What is buffered is delivered before, or thrown away.
	stop(deliver bool)
	// closed is closed after the last delivery has returned.
	closed() <-chan struct{}
}

// natsBackend is the real backend.
type natsBackend struct {
	fl                    *flavour
	js                    jetstream.JetStream
	stream, group, member string
	user                  jetstream.ConsumerConfig

	idle     idleConsumer // as join found it the last times
	changing turnstile    // passed while the consumer's settings are not what they should be
	server   connectedTo
}

func (b *natsBackend) consumerStream() string { return b.fl.groupStream(b.stream, b.group) }
func (b *natsBackend) consumerName() string   { return b.fl.consumerName(b.group, b.member) }

func (b *natsBackend) look(ctx context.Context) (evLooked, jetstream.ConsumerConfig) {
	var none jetstream.ConsumerConfig
	st, err := openStore(ctx, b.js, b.fl)
	if errors.Is(err, ErrGroupNotFound) {
		return evLooked{config: bucketGone}, none
	}
	var e entry
	if err == nil {
		e, err = st.get(ctx, b.stream, b.group)
	}
	if errors.Is(err, ErrGroupNotFound) {
		return evLooked{config: entryGone}, none
	}
	if err != nil {
		return evLooked{err: err}, none
	}
	if !b.changing.enter(ctx) {
		return evLooked{err: ctx.Err()}, none
	}
	info, err := b.info(ctx)
	b.changing.leave()
	switch {
	case err == nil:
		return evLooked{
			revision: e.revision, consumer: true, created: info.Created, timing: timingOf(info.Config), unfit: !samePinning(info.Config),
			raised: b.user.MaxAckPending == 1 && info.Config.MaxAckPending == raisedLimit,
		}, info.Config
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return evLooked{revision: e.revision}, none
	}
	return evLooked{err: err}, none
}

func (b *natsBackend) info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	c, err := ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return b.js.Consumer(ctx, b.consumerStream(), b.consumerName())
	})
	if err != nil {
		return nil, err
	}
	info := c.CachedInfo()
	b.server.since(b.js.Conn().ConnectedServerId(), loaded(info)) // in time to tell its age later
	return info, nil
}

// joinFault is an error of join with what it means for the state machine.
type joinFault struct {
	why joinFailure
	error
}

func (e *joinFault) Unwrap() error { return e.error }

// codeNotUnique is the server's JSConsumerWQConsumerNotUniqueErr: a work-queue
// stream has another consumer for one of the filters.
const codeNotUnique jetstream.ErrorCode = 10100

func (b *natsBackend) join(ctx context.Context, filters []string) (attachment, error) {
	want := deriveConsumer(b.fl, b.group, b.member, b.user, filters)
	c, err := b.js.CreateConsumer(ctx, b.consumerStream(), want)
	if errors.Is(err, jetstream.ErrConsumerExists) {
		c, err = b.joinExisting(ctx, want, err)
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeNotUnique {
		return attachment{}, &joinFault{joinNotUnique, err}
	}
	if err != nil {
		return attachment{}, err
	}
	info := c.CachedInfo()
	b.server.since(b.js.Conn().ConnectedServerId(), loaded(info))
	return attachment{consumer: c, config: info.Config, created: info.Created, differs: compare(want, info.Config)}, nil
}

// joinExisting deals with a consumer of ours that stands there with another
// configuration. With the right filters it is used as it is: replacing it would
// start a war with whoever made it. With others it belongs to an instance that
// has yet to follow a change of the group, and is replaced only if nobody uses
// it any more.
func (b *natsBackend) joinExisting(ctx context.Context, want jetstream.ConsumerConfig, exists error) (jetstream.Consumer, error) {
	c, err := b.js.Consumer(ctx, b.consumerStream(), b.consumerName())
	if err != nil {
		return nil, err
	}
	info := c.CachedInfo()
	switch {
	case sameFilters(filtersOf(info.Config), want.FilterSubjects) && samePinning(info.Config):
		if d := compare(want, info.Config); !b.fl.recreates && len(d.fixed) > 0 {
			return nil, &joinFault{joinRefused, because(exists, d.err(),
				"use the settings it has, or delete the consumer if its position does not matter")}
		}
		return c, nil
	case !b.fl.recreates:
		return nil, &joinFault{joinRefused, because(exists, errors.New("it has other filters or no pinning"), "delete the consumer "+info.Name)}
	case inUse(info) && !b.deserted(info):
		return nil, &joinFault{joinOccupied, fmt.Errorf("consumer %s still has the filters of an earlier membership and is in use: %w", info.Name, exists)}
	}
	if err := deleteConsumer(ctx, b.js, b.consumerStream(), b.consumerName()); err != nil {
		return nil, err
	}
	return b.js.CreateConsumer(ctx, b.consumerStream(), want)
}

func filtersOf(c jetstream.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

func samePinning(c jetstream.ConsumerConfig) bool {
	return c.PriorityPolicy == jetstream.PriorityPolicyPinned && slices.Equal(c.PriorityGroups, []string{PriorityGroup})
}

// inUse tells whether an instance may still rely on a consumer.
func inUse(info *jetstream.ConsumerInfo) bool {
	return pinOf(info) != "" || info.NumWaiting != 0 || info.NumAckPending != 0
}

// desertion is how long a pinned consumer must have been without a waiting pull and
// without a message in flight to be taken for deserted. Its instance pulls all the
// time, and when it stops to hand over it deletes the consumer within
// milliseconds.
const desertion = 250 * time.Millisecond

// deserted tells whether a pinned consumer has nobody behind its pin. That
// happens when the server pins a pull at the moment its client takes it back: the
// client never hears of it.
func (b *natsBackend) deserted(info *jetstream.ConsumerInfo) bool {
	if info.NumWaiting != 0 || info.NumAckPending != 0 {
		b.idle = idleConsumer{}
		return false
	}
	now := idleConsumer{created: info.Created, pin: pinOf(info), delivered: info.Delivered.Consumer, since: time.Now()}
	if was := b.idle; was.pin == now.pin && was.created.Equal(now.created) && was.delivered == now.delivered {
		return now.since.Sub(was.since) >= desertion
	}
	b.idle = now
	return false
}

// idleConsumer is when a pinned consumer was first seen idle.
type idleConsumer struct {
	created   time.Time
	pin       string
	delivered uint64
	since     time.Time
}

func pinOf(info *jetstream.ConsumerInfo) string {
	for _, g := range info.PriorityGroups {
		if g.Group == PriorityGroup {
			return g.PinnedClientID
		}
	}
	return ""
}

func (b *natsBackend) release(ctx context.Context, created time.Time, pin string, final bool) error {
	info, err := b.info(ctx)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return err
	case !info.Created.Equal(created):
		return nil // another instance replaced it already
	}
	// Without a pin of ours it is another instance's, if one holds a pin or has
	// something in flight; a pin may be lost under a running handler. One that does
	// not pin at all is nobody's: what it has in flight would keep it for long.
	if holder := pinOf(info); !final && samePinning(info.Config) && (pin == "" || holder != pin) && (holder != "" || info.NumAckPending > 0) {
		return nil
	}
	return deleteConsumer(ctx, b.js, b.consumerStream(), b.consumerName())
}

func (b *natsBackend) barrier(ctx context.Context, acked string) error {
	_, err := b.js.Conn().RequestWithContext(ctx, acked, []byte("+ACK"))
	return err
}

func (b *natsBackend) unpin(ctx context.Context, pin string) error {
	if !b.connected() {
		return nil // nobody to tell; the pin runs out
	}
	// The acknowledgements of the messages just handled go first.
	if err := b.js.Conn().FlushWithContext(ctx); err != nil {
		return err
	}
	if pin == "" {
		return nil
	}
	info, err := b.info(ctx)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil || pinOf(info) != pin {
		return err
	}
	err = unpin(ctx, b.js, b.fl, b.stream, b.group, b.member)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return err
}

func (b *natsBackend) closed() (<-chan nats.Status, func()) {
	ch := b.js.Conn().StatusChanged(nats.CLOSED)
	return ch, func() { b.js.Conn().RemoveStatusListener(ch) }
}
