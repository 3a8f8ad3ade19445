package pcgroups

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// requestTimeout bounds one request of a session. The client's own default is
// as long, but applies to each of several.
const requestTimeout = 10 * time.Second

// Events that carry something for the loop itself.
type (
	watchStarted struct{ stop func() }
	joinDone     struct {
		at attachment
		ev evJoined
	}
	// refreshed brings the consumer's configuration as it is now, if known.
	refreshed struct {
		config jetstream.ConsumerConfig
		ev     event
		known  bool
	}
	// pullSays is an event of one of the session's pulls. What an earlier pull
	// had to say is of no interest to the present one.
	pullSays struct {
		pull int
		ev   event
	}
)

// request carries out the one request that may be under way.
func (l *loop) request(do func(context.Context) event) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	l.cancel = cancel
	l.tasks.Go(func() {
		defer cancel()
		l.answer(do(ctx))
	})
}

// answer passes a request's result to the loop, or undoes it if that has ended.
func (l *loop) answer(ev event) {
	select {
	case l.events <- ev:
	case <-l.quit:
		if w, ok := ev.(watchStarted); ok {
			w.stop()
		}
	}
}

// unwrap takes what is the loop's own out of an answer.
func (l *loop) unwrap(ev event) event {
	switch ev := ev.(type) {
	case watchStarted:
		// The old one may be waiting to be heard, so it is not waited for here.
		l.tasks.Go(l.unwatch)
		l.unwatch = ev.stop
		return evWatching{}
	case joinDone:
		l.at = ev.at
		return ev.ev
	case refreshed:
		if ev.known {
			l.at.config = ev.config
		}
		return ev.ev
	case pullSays:
		if _, failed := ev.ev.(evHandlerFailed); ev.pull != l.pulls && !failed {
			return nil
		}
		return ev.ev
	}
	return ev
}

func joinFailed(err error) event {
	var fault *joinFault
	if errors.As(err, &fault) {
		return evJoinFailed{fault.why, fault.error}
	}
	return evJoinFailed{joinError, err}
}

// release deletes the consumer, after the server has processed what was
// acknowledged.
func (l *loop) release(ctx context.Context, r *runner, a actRelease) error {
	pin := ""
	if r != nil {
		pin = r.pinID()
	}
	if !a.final {
		l.barrier(ctx, r)
	}
	return l.backend.release(ctx, a.created, pin, a.final)
}

// barrier waits until the server has processed our acknowledgements, which a
// flush does not tell. A failure means that the consumer is gone, or will show in
// what follows.
func (l *loop) barrier(ctx context.Context, r *runner) {
	if r == nil {
		return
	}
	if acked := r.lastAcked(); acked != "" {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = l.backend.barrier(ctx, acked)
	}
}

func (l *loop) pin() string {
	if l.runner == nil {
		return ""
	}
	return l.runner.pinID()
}

func (l *loop) startPull() {
	l.pulls++
	pull := l.pulls
	tell := func(ev event) { l.tell(pullSays{pull, ev}) }
	l.runner = newRunner(l.handle, l.at.config, l.keepAlive, tell)
	p, err := l.backend.pull(l.at, l.runner, tell)
	l.puller = p
	if err != nil {
		l.tasks.Go(func() { tell(evPullEnded{err}) })
		return
	}
	r := l.runner
	l.tasks.Go(func() { r.keep(l.backend.renew) })
	// The client may stop by itself, which nothing else tells.
	l.tasks.Go(func() {
		select {
		case <-p.closed():
			tell(evPullEnded{errPullClosed})
		case <-l.quit:
		}
	})
	l.session.update(func(s *Status) { s.Consuming = true })
}

var errPullClosed = errors.New("the client stopped pulling")

// drain stops the pull and tells when what it started is over.
func (l *loop) drain(a actDrain) {
	l.session.update(func(s *Status) { s.Consuming, s.Pinned = false, false })
	r := l.runner
	r.intake.Store(int32(a.unstarted))
	stopped := neverStarted
	if l.puller != nil {
		stopped = l.puller.closed()
		l.puller.stop(a.unstarted != intakeDrop)
	}
	l.tasks.Go(func() {
		late := r.waitOver(stopped, a.settle)
		if late {
			r.cancel(ErrHandlerTimeout)
		}
		l.tell(evDrained{late})
		if late && r.waitIdle(stopped, l.quit) {
			l.tell(evIdle{})
		}
		r.cancel(context.Canceled)
	})
}

// neverStarted stands for the end of a pull that could not begin.
var neverStarted = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// note keeps the status in line with what is told.
func (l *loop) note(what any) {
	l.session.update(func(s *Status) {
		switch what := what.(type) {
		case tellAssigned:
			s.Partitions = what.partitions
		case tellRevoked:
			s.Partitions = nil
		case tellPinned:
			s.Pinned = what.pin != ""
		}
	})
	l.observer.tell(what)
}
