package pcgroups

import (
	"errors"
	"runtime/debug"
	"time"
)

// call calls the handler.
func (r *runner) call(m *Msg) {
	d := &m.delivery
	if cause := r.cause.Load(); cause != nil {
		d.end(*cause)
	}
	defer r.returned(d)
	r.handle(m)
	d.back = true
}

// returned is deferred around the handler: it turns a panic, or the end of its
// goroutine, into the session's error and leaves the message unacknowledged.
func (r *runner) returned(d *delivery) {
	if v := recover(); v != nil {
		r.fail(&PanicError{Value: v, Stack: debug.Stack()})
		d.back = true
	}
	// Together with settle: whichever of the two is second sees the other.
	d.returned.Store(true)
	if !d.back { // runtime.Goexit: its goroutine is gone, and ours with it
		r.fail(errExited)
		if r.par == nil || d.here {
			r.exit.Do(func() { close(r.exited) }) // before those are woken who look at it
		}
		if r.par != nil {
			r.par.left(d)
		}
	}
	if r.par != nil {
		return // the worker sees to the rest
	}
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

var errExited = errors.New("the handler ended its goroutine (runtime.Goexit, as testing's FailNow does); it has to return")

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
	r.failed.Store(true)
	r.shut(intakeGiveBack)
	r.report(evHandlerFailed{err})
}
