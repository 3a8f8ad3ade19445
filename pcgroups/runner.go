package pcgroups

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// pinHeader carries the id of the pinned instance on every delivery (ADR-42).
const pinHeader = "Nats-Pin-Id"

// intake says what happens to a delivery that arrives.
type intake int32

const (
	intakeRun      intake = iota // the handler runs
	intakeGiveBack               // it is nak'd, so that another instance gets it at once
	intakeDrop                   // nothing: its consumer is gone or about to be deleted
)

// runner stands between the deliveries of one pull and the handler. It runs the
// handler in the delivering goroutine, one message at a time, and keeps note of
// what has not been settled.
//
// With one message in flight the server keeps the order of a partition. With
// more, what may start is for a ledger per partition to decide, whose place is
// in deliver, between begin and the handler.
type runner struct {
	handle     func(jetstream.Msg)
	ackWait    time.Duration // the consumer's effective one; 0 if it takes no acks
	maxDeliver int           // the consumer's; below 1 there is no limit
	keepAlive  time.Duration // how long to extend the deadline of a running handler
	tick       time.Duration // how often to see to pin and handlers
	report     func(event)   // tells the session; returns at once after its end

	ctx    context.Context // parent of the handlers' contexts
	cancel context.CancelCauseFunc

	intake atomic.Int32

	mu      sync.Mutex
	pin     string                  // pin id of the newest delivery
	open    map[*delivery]struct{}  // started and not settled
	active  map[*delivery]time.Time // handlers that have not returned, and when they began
	acked   string                  // reply subject of the last acknowledged message
	changed chan struct{}           // closed when open or running change; nil: nobody waits
}

func newRunner(handle func(jetstream.Msg), c jetstream.ConsumerConfig, keepAlive time.Duration, report func(event)) *runner {
	r := &runner{
		handle:     handle,
		maxDeliver: c.MaxDeliver,
		report:     report,
		keepAlive:  keepAlive,
		tick:       c.PinnedTTL / 3,
		open:       make(map[*delivery]struct{}),
		active:     make(map[*delivery]time.Time),
	}
	if c.AckPolicy != jetstream.AckNonePolicy {
		r.ackWait = effectiveAckWait(c)
		r.tick = min(r.tick, r.ackWait/3)
	}
	r.tick = max(r.tick, time.Millisecond)
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// deliver is the client's message callback.
func (r *runner) deliver(msg jetstream.Msg) {
	switch intake(r.intake.Load()) {
	case intakeDrop:
		return
	case intakeGiveBack:
		if !r.lastDelivery(msg) && msg.Nak() == nil {
			return
		}
	}
	m := &Msg{delivery{Msg: msg, run: r}}
	r.begin(&m.delivery)
	defer r.end(&m.delivery)
	r.handle(m)
}

// lastDelivery tells whether nobody will get this message after us, so that it
// must not be given back unhandled.
func (r *runner) lastDelivery(msg jetstream.Msg) bool {
	if r.maxDeliver < 1 {
		return false
	}
	meta, err := msg.Metadata()
	return err == nil && meta.NumDelivered >= uint64(r.maxDeliver)
}

func (r *runner) begin(d *delivery) {
	pin, now := d.Headers().Get(pinHeader), time.Now()
	r.mu.Lock()
	newPin := pin != r.pin
	r.pin = pin
	r.active[d] = now
	if r.ackWait > 0 {
		d.deadline.Store(now.Add(r.ackWait).UnixNano())
		r.open[d] = struct{}{}
		r.forget()
	}
	r.wake()
	r.mu.Unlock()
	if newPin {
		r.report(evPinned{pin})
	}
}

// forget drops deliveries that were never settled and whose deadline is long
// past, once there are many: their messages are other deliveries' business now.
func (r *runner) forget() {
	if len(r.open)&1023 != 0 {
		return
	}
	now := time.Now().UnixNano()
	for d := range r.open {
		if d.deadline.Load() < now {
			delete(r.open, d)
		}
	}
}

// end is deferred around the handler: it turns a panic into the session's error
// and leaves the message unacknowledged.
func (r *runner) end(d *delivery) {
	if v := recover(); v != nil {
		r.fail(&PanicError{Value: v, Stack: debug.Stack()})
	}
	r.mu.Lock()
	delete(r.active, d)
	r.wake()
	r.mu.Unlock()
}

// fail ends the session because of its handler. Nothing more is started here.
func (r *runner) fail(err error) {
	r.intake.Store(int32(intakeGiveBack))
	r.report(evHandlerFailed{err})
}

func (r *runner) settled(d *delivery, acked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if acked {
		r.acked = d.Reply()
	}
	if _, was := r.open[d]; was {
		delete(r.open, d)
		r.wake()
	}
}

func (r *runner) extend(d *delivery) {
	if r.ackWait > 0 {
		d.deadline.Store(time.Now().Add(r.ackWait).UnixNano())
	}
}

// wake tells waiters that something changed; it costs nothing if there are none.
// r.mu is held.
func (r *runner) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *runner) pinID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pin
}

func (r *runner) lastAcked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acked
}

// waitOver returns when the pull has stopped and no handler runs; with settle,
// also not before every started message is settled or past its ack deadline, when
// the server gives it to whoever asks. late tells that a handler is still running
// though all deadlines are past.
func (r *runner) waitOver(stopped <-chan struct{}, settle bool) (late bool) {
	for {
		r.mu.Lock()
		now, latest := time.Now().UnixNano(), int64(0)
		for d := range r.open {
			latest = max(latest, d.deadline.Load())
		}
		running := len(r.active) > 0
		changed := r.wait()
		r.mu.Unlock()

		expired := latest <= now
		switch {
		case running && expired && r.ackWait > 0:
			return true
		case !running && (expired || !settle):
			select {
			case <-stopped:
				return false
			case <-changed: // a message that could not be given back was started
			}
		case r.ackWait <= 0:
			<-changed
		default:
			t := time.NewTimer(time.Duration(latest - now))
			select {
			case <-changed:
			case <-t.C:
			}
			t.Stop()
		}
	}
}

// waitIdle returns true when no handler runs and the pull has stopped, so that
// what was buffered behind a late one is given back; false when quit is closed,
// as a handler that hangs must not hold up the end of its session.
func (r *runner) waitIdle(stopped, quit <-chan struct{}) bool {
	for {
		r.mu.Lock()
		running, changed := len(r.active) > 0, r.wait()
		r.mu.Unlock()
		if !running {
			changed = stopped
		}
		select {
		case <-changed:
			if !running {
				return true
			}
		case <-quit:
			return false
		}
	}
}

// wait returns what wake will close. r.mu is held.
func (r *runner) wait() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
