package pcgroups

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// loop is the one goroutine that owns a state: it turns what happens into events
// for the machine and carries out the actions that come back. Requests and drains
// run in goroutines of their own, which it waits for before it ends.
type loop struct {
	session  *session
	backend  backend
	handle   func(jetstream.Msg)
	observer observer
	name     func(error) error // puts the session's name into its errors

	keepAlive   time.Duration // WithKeepAlive
	concurrency int           // WithConcurrency
	check       time.Duration // how often to look at the server unprompted
	auto        *autoMember   // WithAutoMembership; nil without
	source      *sourceWatch  // nil: nobody wants to know

	events chan event
	quit   chan struct{} // closed when events are no longer read
	tasks  sync.WaitGroup

	state   state
	at      attachment
	memory  *memory // of the consumer attached to
	runner  *runner
	puller  puller // nil if it could not be started
	pulls   int    // how many were started
	unwatch func()
	cancel  context.CancelFunc // of the request under way
	timer   *time.Timer
	err     error
}

// newLoop prepares a session that knows nothing yet.
func newLoop(fl *flavour, b backend, handle func(jetstream.Msg), o consumeOptions, name func(error) error) *loop {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &loop{
		session: newSession(), backend: b, handle: handle, observer: o.observer, name: name,
		keepAlive: o.keepAlive, concurrency: o.concurrency, check: o.check,
		events: make(chan event), quit: make(chan struct{}),
		state: state{fl: fl, rejoin: o.rejoin, leaves: o.auto != nil}, timer: t, cancel: func() {}, unwatch: func() {}, memory: new(memory),
	}
}

// tell passes an event to the loop. It waits until it is taken, and returns at
// once when the loop has ended.
func (l *loop) tell(ev event) {
	select {
	case l.events <- ev:
	case <-l.quit:
	}
}

// run is the goroutine. first are events known already, the configuration among
// them.
func (l *loop) run(first ...event) {
	closed, ignore := l.backend.closed()
	stop := l.session.stop
	tick := time.NewTicker(l.check)
	defer tick.Stop()
	l.auto.start()
	unwatchSource := l.watchSource()
	for _, ev := range first {
		l.step(ev)
	}
	for !l.state.done {
		select {
		case ev := <-l.events:
			l.step(ev)
		case <-l.timer.C:
			l.step(evTimer{})
		case <-tick.C:
			l.step(evTick{})
		case <-stop:
			stop = nil
			l.step(evStop{})
		case <-closed:
			closed = nil
			if l.runner != nil {
				l.runner.cancel(ErrConnectionClosed) // its handlers can settle nothing any more
			}
			l.step(evConnClosed{})
		}
	}
	close(l.quit)
	l.auto.stop()
	unwatchSource()
	l.timer.Stop()
	l.unwatch()
	l.cancel()
	ignore()
	l.tasks.Wait()
	l.observer.ended(l.err)
	l.session.finish(l.err)
	l.markReady()
}

func (l *loop) step(ev event) {
	if ev = l.unwrap(ev); ev == nil {
		return
	}
	var actions []action
	l.state, actions = l.state.step(ev)
	l.auto.observe(ev, l.state.busy)
	for _, a := range actions {
		l.perform(a)
	}
	if l.state.ending != nil {
		return // whoever waits for the join is told when all is down
	}
	switch ev.(type) {
	case evJoined, evJoinFailed, evWatchFailed:
		l.markReady()
	case evWatching:
		if len(l.state.want) == 0 {
			l.markReady() // not a member, or one too many: nothing to wait for
		}
	}
}

func (l *loop) markReady() {
	select {
	case <-l.session.ready:
	default:
		close(l.session.ready)
	}
}

func (l *loop) perform(a action) {
	switch a := a.(type) {
	case actWatch:
		l.request(func(ctx context.Context) event {
			stop, err := l.backend.watch(ctx, l.tell)
			if err != nil {
				return evWatchFailed{err}
			}
			return watchStarted{stop}
		})
	case actJoin:
		l.request(func(ctx context.Context) event {
			at, err := l.backend.join(ctx, a.filters)
			if err != nil {
				return joinFailed(err)
			}
			return joinDone{at, evJoined{
				filters: a.filters, partitions: a.partitions, created: at.created, timing: timingOf(at.config),
				differs: at.differs.err(), adjustable: len(at.differs.mendable) > 0,
			}}
		})
	case actRelease:
		mem := l.memory
		l.request(func(ctx context.Context) event { return evReleased{l.release(ctx, mem, a)} })
	case actLook:
		l.request(func(ctx context.Context) event {
			ev, c := l.backend.look(ctx)
			return refreshed{c, ev, ev.consumer}
		})
	case actAdjust:
		mem := l.memory
		l.request(func(ctx context.Context) event {
			if l.barrier(ctx, mem) != nil {
				return evAdjusted{notNow: true}
			}
			ev, c := l.backend.adjust(ctx)
			return refreshed{c, ev, ev.err == nil}
		})
	case actLeave:
		mem := l.memory
		l.request(func(ctx context.Context) event { return l.leave(ctx, mem, a) })
	case actUnpin:
		pin := l.memory.pinID()
		l.request(func(ctx context.Context) event {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return evUnpinned{l.backend.unpin(ctx, pin)}
		})
	case actCancel:
		l.cancel()
	case actPull:
		l.startPull()
	case actDrain:
		l.drain(a)
	case actTimer:
		// Half to one and a half times as long, so that those who failed together
		// do not try again together.
		l.timer.Reset(a.after/2 + rand.N(a.after))
	case actReport:
		err := l.name(a.err)
		l.session.update(func(s *Status) { s.Recovered++; s.LastRecovered = err })
		l.observer.recovered(err)
	case actTell:
		l.note(a.what)
	case actFinish:
		l.err = l.name(a.err)
	}
}
