package pcgroups

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
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
		if !ev.at.created.Equal(l.at.created) {
			l.memory = new(memory)
		}
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
func (l *loop) release(ctx context.Context, mem *memory, a actRelease) error {
	if !a.final {
		// A server that is deaf to the last one will not take it later either. Who has
		// its partition next handles that message again.
		if err := l.handOver(ctx, mem); err != nil && !l.backend.deaf(ctx, mem.acked.Load().Reply()) {
			return err
		}
	}
	return l.backend.release(ctx, a.created, mem.pinID(), a.final)
}

// handOver is barrier before the consumer is deleted. With many messages in flight
// it also waits for the stream; with one, that may not be asked about messages
// (guide "Permissions").
func (l *loop) handOver(ctx context.Context, mem *memory) error {
	err := l.barrier(ctx, mem)
	if d := mem.acked.Load(); err == nil && d != nil && d.run.par != nil {
		l.backend.applied(ctx, d.seq)
	}
	return err
}

// barrier waits until the server has processed our acknowledgements, which a
// flush does not tell. If the consumer is gone there is nothing to wait for.
func (l *loop) barrier(ctx context.Context, mem *memory) error {
	d := mem.acked.Load()
	if d == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := l.backend.barrier(ctx, d.Reply())
	if errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return err
}

func (l *loop) startPull() {
	l.pulls++
	pull := l.pulls
	tell := func(ev event) { l.tell(pullSays{pull, ev}) }
	r := newRunner(l.handle, l.at.config, l.memory, l.concurrency)
	r.keepAlive, r.report, r.connected, r.unstick = l.keepAlive, tell, l.backend.connected, l.backend.unstick
	r.reign = l.backend.reign
	stopTending := func() {}
	if r.par != nil {
		r.par.cuts, stopTending = l.backend.cuts()
	}
	l.runner = r
	l.session.runner.Store(r)
	p, err := l.backend.pull(l.at, r, tell)
	l.puller = p
	if err != nil {
		stopTending()
		l.tasks.Go(func() { tell(evPullEnded{err}) })
		return
	}
	l.tasks.Go(func() { r.keep(l.backend.renew) })
	if created := l.at.created; l.at.config.MaxAckPending == 1 && l.at.config.AckPolicy == jetstream.AckExplicitPolicy {
		l.tasks.Go(func() { r.confirm(l.backend, created) })
	}
	if r.par != nil {
		l.tasks.Go(func() {
			defer stopTending()
			r.par.tend(l.backend)
		})
	}
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
		case tellStalled:
			s.Stalled = what.partitions
		}
	})
	l.observer.tell(what)
}
