package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// instance is an instance of a member that runs, with a connection of its own as
// if it were a program of its own.
type instance struct {
	group   *group
	member  string
	name    string
	oracle  bool
	ackWait time.Duration
	link    *link
	conn    *nats.Conn
	session session
	stall   atomic.Int64 // the next handler takes so long, in nanoseconds

	mu      sync.Mutex
	crashed bool
	dead    chan struct{} // closed by crash
	leaving atomic.Bool   // stopped, crashed or restarted on purpose
	left    chan struct{} // closed when the session has ended
	err     error         // of the session; after left
}

// work is how long a handler takes if it is not stalled, at most.
const work = 20 * time.Millisecond

// watch waits for the end of the session. One that ends by itself is a failure of
// the library: no fault of a run is a reason to.
func (i *instance) watch() {
	i.err = <-i.session.Done()
	close(i.left)
	if i.leaving.Load() {
		return
	}
	if i.oracle {
		i.group.judge.journal.note("oracle ended", "%s: %v", i.name, i.err)
		return
	}
	i.group.judge.fail("ended", "the session of %s ended by itself: %v", i.name, i.err)
}

// events keeps what the session tells of itself, for timelines.
func (i *instance) events() pcgroups.Events {
	note := func(format string, args ...any) {
		i.group.judge.journal.note("session", "%s %s", i.name, fmt.Sprintf(format, args...))
	}
	return pcgroups.Events{
		PartitionsAssigned: func(p []int) { note("has %v", p) },
		PartitionsRevoked:  func(p []int) { note("has let go of %v", p) },
		Pinned:             func(pin string) { note("is pinned by %s", pin) },
		Unpinned:           func() { note("is not pinned any more") },
		Recovered:          func(err error) { note("recovers: %v", err) },
	}
}

// handle is a handler: some work, then the acknowledgement.
func (i *instance) handle(m jetstream.Msg) {
	i.mu.Lock()
	if i.crashed {
		i.mu.Unlock()
		return
	}
	x, err := i.group.judge.begin(m, i.member, i.name)
	i.mu.Unlock()
	if err != nil {
		i.group.judge.fail("harness", "%s: %v", i.name, err)
		return
	}
	busy := time.Duration(i.stall.Swap(0))
	if busy == 0 {
		busy = rand.N(work)
	}
	t := time.NewTimer(busy)
	defer t.Stop()
	select {
	case <-t.C:
	case <-i.dead:
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.crashed {
		return // what it would say now, a dead program would not
	}
	x.worked()
	if m.Ack() == nil {
		x.acknowledged()
	}
}

// crash ends the instance as a kill would: its connection is gone, and what its
// handler does from now on has not happened.
func (i *instance) crash() {
	i.leaving.Store(true)
	i.mu.Lock()
	i.crashed = true
	close(i.dead)
	i.link.cut()
	i.mu.Unlock()
	i.group.judge.abandon("its instance crashed", func(x *execution) bool { return x.instance == i.name })
	i.conn.Close()
	i.session.Stop() // the oracle's does not end with its connection
	i.link.close()
}

// leave stops the instance gracefully.
func (i *instance) leave(ctx context.Context) error {
	i.leaving.Store(true)
	i.session.Stop()
	defer i.link.close()
	defer i.conn.Close()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-i.left:
		return nil // its error is of no interest: it may have been cut off
	case <-late.C:
		return errors.New(i.name + " does not stop")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// running tells whether the session has not ended.
func (i *instance) running() bool {
	select {
	case <-i.left:
		return false
	default:
		return true
	}
}
