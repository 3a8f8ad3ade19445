package pcgroups

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ConsumerGroupMsg is what a handler gets: a JetStream message whose subject is
// the one it was published with, without the partition number in front. Its
// dynamic type is always *ConsumerGroupMsg, as in the oracle. It is safe for
// use by several goroutines.
//
// Ack and the other methods that settle it return an error if the client can not
// send what they ask for: jetstream.ErrMsgAlreadyAckd if it was settled before,
// nats.ErrConnectionClosed, nats.ErrReconnectBufExceeded if the connection has been
// down for long. That does not end the session: the message counts as not settled,
// the next one of its partition may have to wait for it, and after its ack deadline
// it comes again, unless it was delivered MaxDeliver times. No error means that the
// client has taken the request, not that the server has: if it is lost with the
// connection, the message comes again too. [ConsumerGroupMsg.DoubleAck] alone
// waits for the server.
type ConsumerGroupMsg struct {
	delivery
}

// Msg is the short name of [ConsumerGroupMsg].
type Msg = ConsumerGroupMsg

var (
	_ jetstream.Msg = (*ConsumerGroupMsg)(nil)
	_ jetstream.Msg = (*delivery)(nil)
)

// Subject returns the subject the message was published with: the partition
// number in front is removed.
func (m *ConsumerGroupMsg) Subject() string {
	if m.run == nil && m.Partition() < 0 {
		return m.Msg.Subject() // adapted by HandlerFunc from elsewhere
	}
	return StripPartition(m.Msg.Subject())
}

// PartitionedSubject returns the subject as the consumer's stream carries it,
// with the partition number in front.
func (m *ConsumerGroupMsg) PartitionedSubject() string { return m.Msg.Subject() }

// Partition returns the partition number in front of the subject, or -1 if what
// stands there is not one.
func (m *ConsumerGroupMsg) Partition() int {
	return leadingPartition(m.Msg.Subject())
}

// leadingPartition is the partition number in front of a subject, or -1.
func leadingPartition(subject string) int {
	p, i := 0, 0
	for ; i < len(subject) && subject[i] != '.'; i++ {
		digit := int(subject[i]) - '0'
		if digit < 0 || digit > 9 || p > (math.MaxInt32-digit)/10 {
			return -1
		}
		p = p*10 + digit
	}
	if i == 0 {
		return -1
	}
	return p
}

// Unwrap returns the message as the consumer's stream carries it: with the
// partition number in its subject. Acknowledging it is the same as acknowledging
// this one.
func (m *ConsumerGroupMsg) Unwrap() jetstream.Msg { return &m.delivery }

// delivery is one delivery of a message, and what the session knows of it. It
// passes everything on and takes note of how the message is settled.
type delivery struct {
	jetstream.Msg
	handlerContext

	run      *runner       // nil outside of a session
	begun    time.Duration // when the handler was called, after the runner was made
	wait     time.Duration // how long the server waits for it; 0: for ever
	deadline atomic.Int64  // when the server takes the message back, in Unix nanoseconds
	again    atomic.Int64  // when it comes again if it was given back, in Unix nanoseconds
	settling atomic.Bool   // being, perhaps, or
	settled  atomic.Bool   // acknowledged, terminated or given back
	returned atomic.Bool   // the handler did
	back     bool          // by returning, or by a panic: it did not end its goroutine

	seq  uint64  // in the consumer's stream
	pin  *string // it came under, with one message in flight
	lane *lane   // of a dispatcher's
	slot int32   // where its dispatcher keeps it while it runs
	here bool    // it runs in the client's goroutine
}

// Ack acknowledges the message: it is done and the next one of its partition can
// follow. With an error it comes again (see [ConsumerGroupMsg]).
func (d *delivery) Ack() error { return d.settle(d.Msg.Ack, true) }

// DoubleAck acknowledges the message and waits until the server has confirmed
// it, or ctx ends; a ctx without a deadline gets the client's usual one. With an
// error (also that of ctx, and nats.ErrNoResponders) it is not known whether the
// server has heard of it: the message may come again.
func (d *delivery) DoubleAck(ctx context.Context) error {
	return d.settle(func() error { return d.Msg.DoubleAck(ctx) }, true)
}

// Nak asks the server to deliver the message again, at once. With an error it comes
// only after its ack deadline.
func (d *delivery) Nak() error { return d.giveBack(d.Msg.Nak, 0) }

// NakWithDelay asks the server to deliver the message again after a while; 0 is at
// once. With an error it comes after its ack deadline.
func (d *delivery) NakWithDelay(delay time.Duration) error {
	return d.giveBack(func() error { return d.Msg.NakWithDelay(delay) }, delay)
}

// Term tells the server never to deliver the message again. With an error it comes
// again all the same, after its ack deadline.
func (d *delivery) Term() error { return d.settle(d.Msg.Term, false) }

// TermWithReason is Term, its errors included, with a reason for the server's
// advisory.
func (d *delivery) TermWithReason(reason string) error {
	return d.settle(func() error { return d.Msg.TermWithReason(reason) }, false)
}

// InProgress tells the server that the message is being worked on, which gives
// it a new ack deadline. With an error the old one stays, after which the message
// comes again, perhaps while it is still handled.
func (d *delivery) InProgress() error {
	err := d.Msg.InProgress()
	if err == nil && d.run != nil {
		d.run.extend(d)
	}
	return err
}

func (d *delivery) giveBack(nak func() error, delay time.Duration) error {
	return d.settle(func() error {
		err := nak()
		if err == nil {
			d.again.Store(time.Now().Add(delay).UnixNano())
		}
		return err
	}, false)
}

func (d *delivery) settle(ask func() error, acked bool) error {
	d.settling.Store(true)
	err := ask()
	if err == nil && d.run != nil {
		d.run.settle(d, acked)
	}
	return err // with an error the server may have heard of it all the same
}

// leaving tells whether the server may not wait for the message any more.
func (d *delivery) leaving() bool { return d.settling.Load() }

// ends is when the server takes the message back, in Unix nanoseconds.
func (d *delivery) ends() int64 { return d.deadline.Load() }

// HandlerFunc adapts a handler that returns an error. An error ends the session
// with [ErrHandler] and leaves the message unacknowledged, so that it comes back
// after its ack deadline; to have a message delivered again without ending the
// session, Nak it and return nil. HandlerFunc does not acknowledge: that is the
// handler's business (or [AutoAck]'s).
//
// The context ends at the message's ack deadline (which InProgress extends), when
// the session gives up waiting for the handler, and when the connection closes;
// an error returned after that does not end the session.
func HandlerFunc(handle func(ctx context.Context, msg *Msg) error) func(jetstream.Msg) {
	return handlerFunc(handle, false)
}

// AutoAck is [HandlerFunc] for handlers that leave acknowledging to it: a message
// is acknowledged when the handler returns nil, unless the handler has settled it
// otherwise, by Nak for one. If that fails (see [ConsumerGroupMsg]), the session
// ends as if the handler had returned the error: with [ErrHandler], which holds it,
// and the message comes back after its ack deadline.
func AutoAck(handle func(ctx context.Context, msg *Msg) error) func(jetstream.Msg) {
	return handlerFunc(handle, true)
}

func handlerFunc(handle func(context.Context, *Msg) error, ack bool) func(jetstream.Msg) {
	if handle == nil {
		return nil // refused where the session is joined
	}
	return func(msg jetstream.Msg) {
		m, ok := msg.(*Msg)
		if !ok { // not ours: someone else's consumer with our handler
			m = &Msg{delivery: delivery{Msg: msg}}
		}
		ctx := &m.handlerContext
		defer ctx.end(context.Canceled)
		err := handle(ctx, m)
		if err == nil && ack {
			// It may have been settled otherwise, by Nak for one.
			if err = m.Ack(); errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
				err = nil
			}
		}
		if err != nil && ctx.Err() == nil && m.run != nil {
			m.run.fail(err)
		}
	}
}

func (d *delivery) until() time.Time { return time.Unix(0, d.deadline.Load()) }
