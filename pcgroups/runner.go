package pcgroups

import (
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
	intakeStale                  // it waited behind a late handler: given back, if it is still ours
)

// memory is what a session remembers of its consumer from one pull to the next.
type memory struct {
	pin   atomic.Pointer[string]   // pin id of the newest delivery; nil: none, or lost
	acked atomic.Pointer[delivery] // the last one acknowledged
}

func (m *memory) pinID() string {
	if p := m.pin.Load(); p != nil {
		return *p
	}
	return ""
}

// runner stands between the deliveries of one pull and the handler. It runs the
// handler in the delivering goroutine, one message at a time, and keeps note of
// what has not been settled. A message that is settled before its handler returns
// takes no lock.
//
// With one message in flight the server keeps the order of a partition. With
// more, what may start is for a ledger per partition to decide, whose place is
// in deliver, before run.
type runner struct {
	handle    func(jetstream.Msg)
	config    jetstream.ConsumerConfig // as the server has it
	acks      bool                     // it takes acknowledgements, so there are deadlines
	keepAlive time.Duration            // how long to extend the deadline of a running handler
	report    func(event)              // tells the session; returns at once after its end
	connected func() bool
	mem       *memory

	intake  atomic.Int32
	current atomic.Pointer[delivery] // whose handler runs
	late    atomic.Pointer[delivery] // whose handler ran past its deadline when the pull was stopped
	cause   atomic.Pointer[error]    // set by cancel: no handler has a context any more
	over    chan struct{}            // closed by close: nothing more to look after
	closing sync.Once

	waiting atomic.Bool // somebody waits for changed
	mu      sync.Mutex
	open    map[*delivery]struct{} // handler returned, not settled
	changed chan struct{}
}

func newRunner(handle func(jetstream.Msg), c jetstream.ConsumerConfig, mem *memory) *runner {
	return &runner{
		handle: handle, config: c, acks: c.AckPolicy != jetstream.AckNonePolicy, mem: mem,
		report: func(event) {}, connected: func() bool { return true },
		over: make(chan struct{}), open: make(map[*delivery]struct{}),
	}
}

// deliver is the client's message callback.
func (r *runner) deliver(msg jetstream.Msg) {
	r.notePin(msg.Headers().Get(pinHeader))
	switch intake(r.intake.Load()) {
	case intakeDrop:
		return
	case intakeStale:
		if !r.lastDelivery(msg) {
			// It came after the late handler began. When that is longer ago than the
			// server waits, another instance has it, from whom a Nak would take it.
			if late := r.late.Load(); late != nil && time.Since(late.begun) < r.ackWait(msg) {
				_ = msg.Nak()
			}
			return
		}
	case intakeGiveBack:
		if !r.lastDelivery(msg) {
			_ = msg.Nak() // if that fails it comes back after its ack deadline
			return
		}
	}
	if r.ackedBefore(msg) {
		_ = msg.Ack() // the acknowledgement was lost on its way
		return
	}
	r.run(msg)
}

// notePin tells the session whenever the pin is another one.
func (r *runner) notePin(pin string) {
	if pin != r.mem.pinID() {
		p := pin // the parameter itself would be allocated for every message
		r.mem.pin.Store(&p)
		r.wake()
		r.report(evPinned{pin})
	}
}

// lastDelivery tells whether nobody will get this message after us, so that it
// must not be given back unhandled.
func (r *runner) lastDelivery(msg jetstream.Msg) bool {
	return r.config.MaxDeliver > 0 && deliveries(msg) >= uint64(r.config.MaxDeliver)
}

// ackedBefore tells whether this session has acknowledged the message already.
// With one message in flight that is so for every redelivery up to the last one
// acknowledged.
func (r *runner) ackedBefore(msg jetstream.Msg) bool {
	if r.config.MaxAckPending != 1 || r.config.AckPolicy != jetstream.AckExplicitPolicy || !redelivered(msg.Reply()) {
		return false
	}
	last := r.mem.acked.Load()
	if last == nil {
		return false
	}
	a, errA := last.Metadata()
	m, errM := msg.Metadata()
	return errA == nil && errM == nil && m.Sequence.Stream <= a.Sequence.Stream
}

func (r *runner) run(msg jetstream.Msg) {
	m := &Msg{delivery{Msg: msg, run: r}}
	d := &m.delivery
	d.begun = time.Now()
	if r.acks {
		d.wait = r.ackWait(msg)
		d.deadline.Store(d.begun.Add(d.wait).UnixNano())
	}
	r.current.Store(d)
	r.wake()
	if cause := r.cause.Load(); cause != nil {
		d.end(*cause)
	}
	defer r.returned(d)
	r.handle(m)
}

// ackWait is how long the server waits for this delivery.
func (r *runner) ackWait(msg jetstream.Msg) time.Duration {
	steps := r.config.BackOff
	if len(steps) == 0 {
		return r.config.AckWait
	}
	n := max(deliveries(msg), 1)
	return steps[min(n, uint64(len(steps)))-1]
}

// returned is deferred around the handler: it turns a panic into the session's
// error and leaves the message unacknowledged.
func (r *runner) returned(d *delivery) {
	if v := recover(); v != nil {
		r.fail(&PanicError{Value: v, Stack: debug.Stack()})
	}
	// Together with settle: whichever of the two is second sees the other.
	d.returned.Store(true)
	if r.acks && !d.settled.Load() {
		r.mu.Lock()
		if !d.settled.Load() {
			r.open[d] = struct{}{}
			r.forget()
		}
		r.mu.Unlock()
	}
	r.current.Store(nil)
	r.wake()
}

// forget drops deliveries that were never settled and whose deadline is past,
// once there are many: their messages are other deliveries' business. r.mu is held.
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

// fail ends the session because of its handler. Nothing more is started here.
func (r *runner) fail(err error) {
	r.intake.Store(int32(intakeGiveBack))
	r.report(evHandlerFailed{err})
}

// settle takes note of a delivery that was acknowledged, or given up.
func (r *runner) settle(d *delivery, acked bool) {
	if acked {
		r.mem.acked.Store(d)
	}
	d.settled.Store(true)
	if !d.returned.Load() {
		return
	}
	r.mu.Lock()
	delete(r.open, d)
	r.mu.Unlock()
	r.wake()
}

// extend gives a delivery a new deadline. While the connection is down the server
// hears nothing of it.
func (r *runner) extend(d *delivery) {
	if r.acks && r.connected() {
		d.deadline.Store(time.Now().Add(d.wait).UnixNano())
	}
}

// cancel ends the contexts of the handlers.
func (r *runner) cancel(cause error) {
	r.cause.CompareAndSwap(nil, &cause)
	if d := r.current.Load(); d != nil {
		d.end(cause)
	}
}

// close ends what keep does for the runner.
func (r *runner) close() { r.closing.Do(func() { close(r.over) }) }

// deliveries is how often the server has delivered a message; 0 if that can not
// be told.
func deliveries(msg jetstream.Msg) uint64 {
	meta, err := msg.Metadata()
	if err != nil {
		return 0
	}
	return meta.NumDelivered
}

// redelivered tells from a message's reply subject whether it was delivered
// before, without taking all of it apart:
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.…            (9 tokens)
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.…  (11 or more)
func redelivered(reply string) bool {
	dots, at4, at6 := 0, -1, -1
	for i := range len(reply) {
		if reply[i] != '.' {
			continue
		}
		dots++
		switch dots {
		case 4:
			at4 = i + 1
		case 6:
			at6 = i + 1
		}
	}
	at := at4
	if dots > 9 {
		at = at6
	}
	return at > 0 && at+1 < len(reply) && (reply[at] != '1' || reply[at+1] != '.')
}
