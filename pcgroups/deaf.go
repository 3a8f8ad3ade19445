package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A server before 2.14.6 can turn deaf to the acknowledgements of one message
// (nats-server #8511). When it notices that a message did not reach its client,
// which had just gone, it counts the deliveries down from none. The next attempt
// then passes for a first delivery, and if it has nobody to deliver to, as the pin
// is not taken over yet, it sets its position in the stream back before the message,
// which yet remains in flight. From then on it takes every acknowledgement of it for
// one of a message that it has still to deliver, and ignores it. With one message in
// flight there is no room for another, the only thing to move its position on, so
// without help the member stands still for good.
//
// Room for one more is that help: the message is delivered as if for the first
// time, and from then on its acknowledgements count.

var (
	// errDeaf is what is told of it.
	errDeaf = errors.New("the server ignored every acknowledgement of a message, which servers before 2.14.6 do now and then when a client goes: " +
		"it was moved on by a max_ack_pending of 2 for a moment; upgrade nats-server")
	// errRaised means that the limit may not be what it should be.
	errRaised = errors.New("max_ack_pending was raised to 2 for a moment, and may still be")
)

// ackedBefore tells whether this session has acknowledged a message already that
// is delivered for the n-th time. With one message in flight that is so for every
// redelivery of the last one acknowledged.
func (r *runner) ackedBefore(n, seq uint64) bool {
	if r.config.MaxAckPending != 1 || r.config.AckPolicy != jetstream.AckExplicitPolicy {
		return false
	}
	last := r.mem.acked.Load()
	if last == nil || n < 2 && (r.mem.repeated.Load() != seq || !r.mem.repeated.CompareAndSwap(seq, 0)) {
		return false
	}
	return seq == last.seq
}

// unsticker is the unstick of a backend.
type unsticker func(ctx context.Context, msg jetstream.Msg, pin string, patience time.Duration) (raised bool, err error)

// ackAgain acknowledges a message that comes again although it was acknowledged,
// and sees to a server that is deaf to that. Nothing else is delivered meanwhile, so
// that at no time more than one message is being handled.
func (r *runner) ackAgain(msg jetstream.Msg) {
	pin := r.mem.pinID()
	if pin == "" || r.unstick == nil || intake(r.intake.Load()) != intakeRun {
		_ = msg.Ack()
		return
	}
	ctx, cancel := asking(r.taken, requestTimeout) // the drain that closes it waits for us
	defer cancel()
	raised, err := r.unstick(ctx, msg, pin, answerTime(r.config))
	ended := errors.Is(ctx.Err(), context.Canceled)
	if ended {
		_ = msg.Ack() // whether it was asked for is not known
	}
	if raised {
		_, seq := replyInfo(msg.Reply())
		r.mem.repeated.Store(seq)
	}
	if err != nil && (!ended || errors.Is(err, errRaised)) {
		r.report(evNotice{err: err, adjust: errors.Is(err, errRaised)})
	}
}

// answerTime is how long an acknowledgement that is a request waits for its answer:
// the rest has to be over before the pull of the message that came again ends.
func answerTime(c jetstream.ConsumerConfig) time.Duration {
	return min(max(effectiveAckWait(c)/8, 50*time.Millisecond), time.Second)
}

// unstick acknowledges a message and, if the server is deaf to it, raises the
// limit of messages in flight for a moment, which it tells. The error says what it
// did, or that it did not help; then the message comes again.
func (b *natsBackend) unstick(ctx context.Context, msg jetstream.Msg, pin string, patience time.Duration) (raised bool, err error) {
	if b.acknowledge(ctx, msg, patience) {
		return false, nil
	}
	if !b.changing.enter(ctx) {
		return false, ctx.Err()
	}
	defer b.changing.leave()
	info, err := b.info(ctx)
	if err != nil || pinOf(info) != pin || info.Config.MaxAckPending != 1 || !deafTo(msg.Reply(), info) {
		return false, err
	}
	more := info.Config
	more.MaxAckPending = raisedLimit
	failed := b.update(ctx, more) // after an error it may be in force all the same
	moved := failed == nil && b.movesOn(ctx, info, patience)
	// Before any acknowledgement, or there would be more than the one message in
	// flight that was let in.
	own, cancel := outlive(ctx)
	defer cancel()
	if err := b.update(own, info.Config); err != nil {
		return true, fmt.Errorf("%w: %w", errRaised, err)
	}
	if failed != nil {
		return true, failed
	}
	if !moved || !b.acknowledge(ctx, msg, patience) {
		return true, errors.New("the server still ignores the acknowledgements of a message; it is tried again when the message comes again")
	}
	return true, errDeaf
}

// raisedLimit is what the limit of messages in flight is for a moment. A session that
// crashes then leaves it behind: whoever wants 1 and is pinned next puts it back.
const raisedLimit = 2

// restorePatience is how long, once the pull has ended, is waited for the answer to
// the request that puts the limit back. It has been sent by then.
const restorePatience = 250 * time.Millisecond

// outlive is the context of that request.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			time.AfterFunc(restorePatience, cancel)
		}
	})
	return own, func() { stop(); cancel() }
}

// turnstile lets one in at a time, who may have to wait for the server meanwhile.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

// enter waits until nobody is in, unless ctx ends before.
func (t turnstile) enter(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t turnstile) leave() { <-t }

func (b *natsBackend) update(ctx context.Context, c jetstream.ConsumerConfig) error {
	_, err := ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return b.js.UpdateConsumer(ctx, b.consumerStream(), c)
	})
	return err
}

// acknowledge tells whether the server takes an acknowledgement within this time.
func (b *natsBackend) acknowledge(ctx context.Context, msg jetstream.Msg, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := b.barrier(ctx, msg.Reply())
	return err == nil || errors.Is(err, nats.ErrNoResponders) // the consumer is gone
}

// deaf tells whether the server has ignored the acknowledgements of a message
// that were sent long enough before.
func (b *natsBackend) deaf(ctx context.Context, acked string) bool {
	info, err := b.info(ctx)
	return err == nil && deafTo(acked, info)
}

// deafTo tells it by what the server said then: all before the message is settled,
// nothing after it was delivered, and it is in flight.
func deafTo(acked string, info *jetstream.ConsumerInfo) bool {
	_, seq := replyInfo(acked)
	return info.NumAckPending > 0 && info.Delivered.Stream == seq && info.AckFloor.Stream < seq
}

// movesOn waits until the server has delivered something more.
func (b *natsBackend) movesOn(ctx context.Context, was *jetstream.ConsumerInfo, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		info, err := b.info(ctx)
		if err == nil && info.Delivered.Consumer > was.Delivered.Consumer {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
