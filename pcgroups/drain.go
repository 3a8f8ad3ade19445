package pcgroups

import (
	"context"
	"time"
)

// How a pull ends.

// drain stops the pull and tells when what it started is over.
func (l *loop) drain(a actDrain) {
	l.session.update(func(s *Status) { s.Consuming, s.Pinned = false, false })
	r, p := l.runner, l.puller
	r.shut(a.unstarted)
	l.tasks.Go(func() {
		l.refuse(r, a.unstarted)
		r.drain(p, a, l.tell, l.quit)
	})
}

// drain stops a pull that was shut. It tells when nothing more is started, and if a
// handler is late then, also when that is over, unless quit is closed before.
func (r *runner) drain(p puller, a actDrain, tell func(event), quit <-chan struct{}) {
	defer r.close()
	stopped := stopPull(r, p, a.unstarted != intakeDrop)
	r.withdrawn()
	late := r.waitOver(stopped, a.settle)
	if late != nil {
		r.cancel(ErrHandlerTimeout)
		r.late.Store(late)
		r.intake.Store(int32(intakeStale))
		if r.par != nil {
			r.par.lastCame() // what waits behind it is not held up any longer
		}
	}
	if r.par != nil {
		r.par.remember()
	}
	tell(evDrained{late != nil})
	if late != nil && r.waitIdle(stopPull(r, p, true), quit) {
		r.waitOver(neverStarted, false)
		tell(evIdle{})
	}
}

// refuse has the server send nothing more to a pull, before that is stopped. What
// it sends at the moment at which its client takes the pull back may be delivered
// to nobody, and where deliveries are limited never again. A pull with a pin that
// was given up gets nothing, and who is pinned next waits for what is left here.
// The client must not pull anew, though: see deliver.
func (l *loop) refuse(r *runner, unstarted intake) {
	if unstarted == intakeDrop || r.config.MaxDeliver <= 0 || !l.backend.connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r.mem.pinID() == "" {
		// It may have been pinned just now, and what tells it be on its way.
		_, _, _, _ = l.backend.flight(ctx)
		r.waitPinned(pinPatience)
	}
	err := l.backend.unpin(ctx, r.mem.pinID())
	if err == nil {
		err = l.barrier(ctx, r.mem) // answered behind what was sent to the pull
	}
	if err != nil {
		l.tell(evNotice{err: err})
	}
}

// stopPull stops a pull and returns what is closed when it has stopped.
//
// What is to be dropped need not be delivered, but for the first message, which
// tells our pin: without it the consumer would be taken for another instance's.
// The server may even pin a pull whose client takes it back at that moment, and
// then nobody ever learns of it. So a pull that is not known to be pinned is left
// for a moment to learn it.
func stopPull(r *runner, p puller, deliver bool) (stopped <-chan struct{}) {
	if p == nil {
		return neverStarted
	}
	if !deliver && r.mem.pinID() == "" {
		r.waitPinned(pinPatience)
		deliver = true
	}
	p.stop(deliver)
	return p.closed()
}

const pinPatience = 20 * time.Millisecond

// neverStarted stands for the end of a pull that could not begin.
var neverStarted = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()
