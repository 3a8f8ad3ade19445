package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// autoMember keeps a session's member in its group and evicts others that are
// gone, by one goroutine that ends with the session. All its methods do nothing
// on a nil one.
type autoMember struct {
	b       *natsBackend
	session *session
	tell    func(event)

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	poke   chan struct{} // there are news

	mu   sync.Mutex
	news memberNews

	// The goroutine's own.
	evictor  evictor
	comeback comeback
	store    *store           // nil: to be opened
	queue    jetstream.Stream // likewise
	said     string           // the newest trouble that was told
	held     string           // what speaks against evicting someone,
	heldAt   time.Time        // and since when
}

// memberNews is what the loop knows and the goroutine should.
type memberNews struct {
	known    bool // there is a configuration,
	revision uint64
	member   bool // and the member is in it
	before   bool // it was once
	busy     bool // a handler hangs: we would not consume
}

// heldLong is for how many times evictAfter an eviction is held up before that is
// told. A hand-over is over by then.
const heldLong = 4

func newAutoMember(o *autoMembership, b *natsBackend, l *loop) *autoMember {
	if o == nil {
		return nil
	}
	a := &autoMember{
		b: b, session: l.session, tell: l.tell,
		done: make(chan struct{}), poke: make(chan struct{}, 1),
		evictor:  evictor{self: b.member, after: o.evictAfter, may: o.mayEvict},
		comeback: comeback{after: o.evictAfter},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

func (a *autoMember) start() {
	if a != nil {
		go a.run()
	}
}

// stop returns when the goroutine has ended, and a write of its with it.
func (a *autoMember) stop() {
	if a != nil {
		a.cancel()
		<-a.done
	}
}

// observe takes what is of interest from an event of the loop.
func (a *autoMember) observe(ev event, busy bool) {
	if a == nil {
		return
	}
	a.update(func(n *memberNews) {
		n.busy = busy
		switch ev := ev.(type) {
		case evConfig:
			if ev.revision >= n.revision {
				n.learn(ev.revision, ev.view.member)
			}
		case evGone, evBadConfig:
			n.known, n.revision = false, 0 // another bucket counts from 1
		case evLooked:
			if ev.config != entryThere {
				n.known, n.revision = false, 0
			}
		}
	})
}

func (n *memberNews) learn(revision uint64, member bool) {
	n.known, n.revision, n.member = true, revision, member
	n.before = n.before || member
}

func (a *autoMember) update(change func(*memberNews)) {
	a.mu.Lock()
	was := a.news
	change(&a.news)
	changed := a.news != was
	a.mu.Unlock()
	if changed {
		select {
		case a.poke <- struct{}{}:
		default:
		}
	}
}

func (a *autoMember) run() {
	defer close(a.done)
	// Sessions that were started together do not look together.
	look := time.Now().Add(rand.N(a.evictor.every()))
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		next := look
		if due := a.due(); !due.IsZero() && due.Before(next) {
			next = due
		}
		t.Reset(time.Until(next))
		select {
		case <-a.ctx.Done():
			return
		case <-a.poke:
		case <-t.C:
			now := time.Now()
			if due := a.due(); !due.IsZero() && !due.After(now) {
				a.comeBack()
			} else if !look.After(now) {
				look = time.Now().Add(a.look())
			}
		}
	}
}

// due is when to add the member again; zero: not now.
func (a *autoMember) due() time.Time {
	a.mu.Lock()
	n := a.news
	a.mu.Unlock()
	if !n.known {
		return time.Time{}
	}
	a.comeback.see(time.Now(), n.member)
	if n.busy {
		return time.Time{} // the others do better without us
	}
	return a.comeback.due
}

// write is the context of a write. It is not cut short: what became of it would
// not be known.
func (a *autoMember) write() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(a.ctx), 2*time.Second)
}

func (a *autoMember) comeBack() {
	ctx, cancel := a.write()
	defer cancel()
	ev, added, err := a.b.enroll(ctx)
	if err != nil {
		a.comeback.failed(time.Now())
		a.trouble(err)
		return
	}
	a.said = ""
	before := false
	a.update(func(n *memberNews) { before = n.before; n.learn(ev.revision, true) })
	if added {
		a.tell(evMembership{tellEnrolled{}})
		if before {
			a.tell(evNotice{err: errors.New("the member was dropped from the group while its session runs and has been added again; to make it leave, stop its sessions")})
		}
	}
}

// look takes one look at the group, evicts whom it finds gone, and returns when
// to look next.
func (a *autoMember) look() (next time.Duration) {
	next = a.evictor.every()
	ctx, cancel := context.WithTimeout(a.ctx, max(next, time.Second))
	defer cancel()
	if !a.b.connected() {
		a.evictor.blind()
		return next
	}
	s, err := a.sight(ctx)
	if err != nil {
		a.evictor.blind()
		a.store, a.queue = nil, nil
		if a.ctx.Err() == nil && !errors.Is(err, ErrGroupNotFound) {
			a.trouble(fmt.Errorf("the group's membership can not be watched: %w", err))
		}
		return next
	}
	j := a.evictor.see(s)
	switch {
	case j.held == "":
		a.held, a.said = "", ""
	case j.held != a.held:
		a.held, a.heldAt = j.held, s.at
	case s.at.Sub(a.heldAt) > heldLong*a.evictor.patience():
		a.trouble(fmt.Errorf("a member is gone and can not be evicted: %s", j.held))
	}
	if len(j.evict) == 0 {
		return j.next
	}
	write, cancelWrite := a.write()
	defer cancelWrite()
	_, err = DeleteMembers(write, a.b.js, a.b.stream, a.b.group, j.evict, IfRevision(s.revision))
	switch {
	case err == nil:
		a.tell(evMembership{tellEvicted{j.evict}})
	case !errors.Is(err, ErrConflict): // another session was faster, or the group changes
		a.trouble(fmt.Errorf("members %q can not be evicted: %w", j.evict, err))
	}
	return j.next
}

// trouble tells a fault once, not at every look.
func (a *autoMember) trouble(err error) {
	if said := err.Error(); said != a.said {
		a.said = said
		a.tell(evNotice{err: err})
	}
}
