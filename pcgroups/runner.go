package pcgroups

import (
	"context"
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
	pin    atomic.Pointer[string]         // pin id of the newest delivery; nil: none, or lost
	pinned atomic.Int64                   // when it was first seen, in Unix nanoseconds
	acked  atomic.Pointer[delivery]       // the last one acknowledged
	marks  atomic.Pointer[map[int]uint64] // of each partition, with more than one in flight

	begun    atomic.Pointer[delivery] // the last one whose handler was called, one in flight
	repeated atomic.Uint64            // acknowledged, and delivered as if for the first time yet; 0: none
}

func (m *memory) pinID() string { return named(m.pin.Load()) }

func named(pin *string) string {
	if pin == nil {
		return ""
	}
	return *pin
}

// runner stands between the deliveries of one pull and the handler. With one
// message in flight the server keeps the order of a partition: the handler runs
// in the delivering goroutine, and a message that is settled before its handler
// returns takes no lock. With more, what may start is for a dispatcher to say.
type runner struct {
	handle    func(jetstream.Msg)
	config    jetstream.ConsumerConfig // as the server has it
	acks      bool                     // it takes acknowledgements, so there are deadlines
	keepAlive time.Duration            // how long to extend the deadline of a running handler
	report    func(event)              // tells the session; returns at once after its end
	connected func() bool
	unstick   unsticker
	reign     func(context.Context) (reign, error) // asks the consumer's leader; nil in tests of other things
	mem       *memory
	par       *dispatcher // nil: the server delivers one at a time, or keeps no order
	reply     replyReader // deliver's own
	made      time.Time

	failed  atomic.Bool     // the handler did
	row     []jetstream.Msg // see inARow; deliver's own until the pull has ended
	intake  atomic.Int32
	doubts  chan struct{}            // that the last acknowledgement has arrived
	current atomic.Pointer[delivery] // whose handler runs
	late    atomic.Pointer[delivery] // whose handler ran past its deadline when the pull was stopped
	cause   atomic.Pointer[error]    // set by cancel: no handler has a context any more
	taken   chan struct{}            // closed by withdrawn: the client pulls no more
	taking  sync.Once
	over    chan struct{} // closed by close: nothing more to look after
	closing sync.Once
	exited  chan struct{} // closed when a handler has ended the client's goroutine: no delivery comes any more
	exit    sync.Once

	waiting atomic.Bool // somebody waits for changed
	mu      sync.Mutex
	open    map[*delivery]struct{} // handler returned, not settled
	changed chan struct{}
}

func newRunner(handle func(jetstream.Msg), c jetstream.ConsumerConfig, mem *memory, concurrency int) *runner {
	r := &runner{
		handle: handle, config: c, acks: c.AckPolicy != jetstream.AckNonePolicy, mem: mem, made: time.Now(),
		report: func(event) {}, connected: func() bool { return true },
		doubts: make(chan struct{}, 1), taken: make(chan struct{}), over: make(chan struct{}), exited: make(chan struct{}), open: make(map[*delivery]struct{}),
	}
	if c.AckPolicy == jetstream.AckExplicitPolicy && c.MaxAckPending != 1 {
		r.par = newDispatcher(r, concurrency)
	}
	return r
}

// deliver is the client's message callback.
func (r *runner) deliver(msg jetstream.Msg) {
	r.notePin(msg.Headers().Get(pinHeader))
	at := r.gate()
	c := r.reply.read(msg.Reply())
	if r.par != nil {
		r.par.deliver(msg, c, at)
		return
	}
	n, seq := c.deliveries, c.seq
	if !at.IsZero() && time.Since(at) >= r.ackWaitOf(n) && !r.lastDelivery(n) && !r.inARow() {
		return // it is another instance's by now
	}
	switch intake(r.intake.Load()) {
	case intakeDrop:
		return
	case intakeStale:
		if r.inARow() {
			r.keeps(msg, n)
			return
		}
		if !r.lastDelivery(n) {
			// It came after the late handler began. When that is longer ago than the
			// server waits, another instance has it, from whom a Nak would take it.
			if late := r.late.Load(); late != nil && time.Since(r.made)-late.begun < r.ackWaitOf(n) {
				_ = msg.Nak()
			}
			return
		}
	case intakeGiveBack:
		if !r.keeps(msg, n) {
			return
		}
	}
	if r.ackedBefore(n, seq) {
		r.ackAgain(msg) // the acknowledgement was lost on its way
		return
	}
	if r.hold(msg, n, seq) {
		r.run(msg, n, seq)
	}
}

// gate holds a delivery up while the pin is being given up. What the server says to
// that comes behind it, and the client would answer that by another pull; see refuse.
// It returns when the delivery came, if it was held.
func (r *runner) gate() (at time.Time) {
	if r.config.MaxDeliver > 0 && intake(r.intake.Load()) == intakeGiveBack {
		at = time.Now()
		<-r.taken
	}
	return at
}

// notePin tells the session whenever the pin is another one.
func (r *runner) notePin(pin string) {
	if pin != r.mem.pinID() {
		p := pin // the parameter itself would be allocated for every message
		r.mem.pinned.Store(time.Now().UnixNano())
		r.mem.pin.Store(&p)
		if r.par != nil {
			r.par.repin()
		}
		r.wake()
		r.report(evPinned{pin})
	}
}

// unpinned notes that the server has taken the pin away.
func (r *runner) unpinned() {
	r.mem.pin.Store(nil)
	if r.par != nil {
		r.par.unpinned()
	}
}

// shut says what becomes of messages that were not started, now and from here on.
func (r *runner) shut(in intake) {
	r.intake.Store(int32(in))
	if r.par != nil {
		r.par.shut(in)
	}
}

func (r *runner) run(msg jetstream.Msg, n, seq uint64) {
	now := time.Now()
	m := &Msg{delivery{Msg: msg, run: r, begun: now.Sub(r.made), seq: seq, pin: r.mem.pin.Load()}}
	d := &m.delivery
	if r.acks {
		d.wait = r.ackWaitOf(n)
		d.deadline.Store(now.UnixNano() + int64(d.wait))
	}
	r.mem.begun.Store(d)
	r.current.Store(d)
	r.wake()
	r.call(m)
}

// settle takes note of a delivery that was acknowledged, terminated or given
// back.
func (r *runner) settle(d *delivery, acked bool) {
	if acked {
		r.mem.acked.Store(d)
	}
	d.settled.Store(true)
	if !d.returned.Load() {
		return
	}
	if r.par != nil {
		r.par.settled(d)
		r.wake()
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
	for _, d := range r.running() {
		d.end(cause)
	}
}

// running are the deliveries whose handler runs.
func (r *runner) running() []*delivery {
	if r.par != nil {
		return r.par.running()
	}
	if d := r.current.Load(); d != nil {
		return []*delivery{d}
	}
	return nil
}

// working tells whether a goroutine of its own is at work.
func (r *runner) working() bool { return r.par != nil && r.par.working() }

// withdrawn is called when the pull was taken back, or can not be.
func (r *runner) withdrawn() { r.taking.Do(func() { close(r.taken) }) }

// close ends what keep and tend do for the runner.
func (r *runner) close() {
	r.withdrawn()
	r.closing.Do(func() {
		if r.par != nil {
			r.par.close()
		}
		close(r.over)
	})
}
