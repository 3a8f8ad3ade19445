// Package checker watches the handlers of a consumer group and decides whether
// the group kept its promises: nothing lost, nothing handled twice, every key
// in order, no two handlers of a key at once. Tests, the demo and fault runs
// share it, so that all of them mean the same by these words.
//
// A message is identified by its key and a sequence number that the publisher
// counts per key. The publisher announces it with [Checker.Published]; every
// handler brackets its work with [Checker.Begin] and the function it returns.
// All calls are put in one order by one lock: "before" below means in that
// order, and no clock is compared.
//
// An execution is one run of a handler for one message. It is settled if the
// handler says that the message was acknowledged (or terminated) for good.
//
//   - Lost: messages published of which no execution was settled.
//   - Duplicated: settled executions beyond the first of their message.
//     Executions that were not settled are redeliveries, which at-least-once
//     delivery needs, and are no duplicates.
//   - OutOfOrder: executions that began after an execution of a later message
//     of the same key had begun, while no execution of their own message was
//     settled yet. So a first run that comes late counts, and so does the
//     redelivery of a message that was overtaken before it was settled. The
//     redelivery of a settled message (its acknowledgement got lost) does not:
//     the order of effects was right; if it settles again it is a duplicate.
//   - SameMessageOverlap: executions that began while another execution of the
//     same message was running, by whichever member.
//   - SameKeyOverlap: executions that began while an execution of another
//     message of the same key was running.
//   - Overlapping: executions that began in either overlap, counted once.
//
// Everything counts executions, except Lost, Published and Handled, which count
// messages. A message that is never settled is Lost but blocks nothing: the
// server may give a message up, and later ones are then rightly handled.
package checker

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxExamples bounds the examples kept per kind of violation.
const maxExamples = 5

// Checker collects what publishers and handlers report. It is safe for
// concurrent use and costs about 40 bytes per message; keys should be far fewer
// than messages.
type Checker struct {
	mu       sync.Mutex
	keys     map[string]*keyState
	counts   Verdict // all but Lost and Examples, kept up to date
	settledP int     // messages both published and settled
	examples map[kind][]string
	waiters  []waiter
}

// keyState is what is known of one key.
type keyState struct {
	messages map[uint64]message
	running  []execution // at most one unless something is wrong
	begun    bool        // whether latest is valid
	latest   execution   // the one with the highest seq that has begun
}

// message is kept small: there are hundreds of thousands.
type message struct {
	settled   uint32 // settled executions
	published bool
	executed  bool
}

type execution struct {
	seq    uint64
	member string
	id     int // distinguishes executions of one message
}

type waiter struct {
	n    int
	done chan struct{}
}

// New makes a checker that has seen nothing.
func New() *Checker {
	return &Checker{keys: map[string]*keyState{}, examples: map[kind][]string{}}
}

// Published announces that message seq of key must be handled. Call it when the
// server has accepted the message; it does not matter if a handler is faster.
// Do not announce a message whose fate is unknown: if it is handled after all,
// it is counted as Unannounced, which is no violation. Announcing twice counts
// once.
func (c *Checker) Published(key string, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.key(key)
	m := k.messages[seq]
	if m.published {
		return
	}
	m.published = true
	c.counts.Published++
	if m.settled > 0 {
		c.settledP++
	}
	if m.executed {
		c.counts.Unannounced--
	}
	k.messages[seq] = m
}

// Begin reports that a handler of the member starts on message seq of key. The
// handler reports its end with the function returned, and whether the message
// is settled.
//
// The first call of end ends the execution; any call with settled true settles
// it; other calls change nothing. A handler that acknowledges and returns calls
// it once. A handler whose acknowledgement makes the server hand the next
// message to another member at once calls end(false) when its work is done,
// acknowledges, then calls end(true): otherwise the other's start may be seen
// before this end although the work did not overlap.
//
// An execution of a member that is killed must be ended by whoever kills it, or
// it is taken to be still at work.
func (c *Checker) Begin(member, key string, seq uint64) (end func(settled bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Executions++
	e := execution{seq: seq, member: member, id: c.counts.Executions}
	k := c.key(key)
	m := k.messages[seq]
	c.judge(key, k, m, e)
	if !m.executed && !m.published {
		c.counts.Unannounced++
	}
	m.executed = true
	k.messages[seq] = m
	if !k.begun || seq > k.latest.seq {
		k.begun, k.latest = true, e
	}
	k.running = append(k.running, e)
	c.counts.Running++

	ended, done := false, false
	return func(settled bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !ended {
			ended = true
			c.counts.Running--
			i := slices.IndexFunc(k.running, func(r execution) bool { return r.id == e.id })
			k.running = slices.Delete(k.running, i, i+1)
		}
		if settled && !done {
			done = true
			c.settle(key, k, e)
		}
	}
}

// judge counts what is wrong with the start of e; mu is held.
func (c *Checker) judge(key string, k *keyState, m message, e execution) {
	if k.begun && k.latest.seq > e.seq && m.settled == 0 {
		c.counts.OutOfOrder++
		c.example(outOfOrder, "key %q: %d began at %q after %d had begun at %q",
			key, e.seq, e.member, k.latest.seq, k.latest.member)
	}
	var sameMessage, sameKey bool
	for _, r := range k.running {
		if r.seq == e.seq {
			sameMessage = true
		} else {
			sameKey = true
		}
		c.example(overlapping, "key %q: %d began at %q while %d was running at %q",
			key, e.seq, e.member, r.seq, r.member)
	}
	if sameMessage {
		c.counts.SameMessageOverlap++
	}
	if sameKey {
		c.counts.SameKeyOverlap++
	}
	if sameMessage || sameKey {
		c.counts.Overlapping++
	}
}

// settle records a settled execution and wakes who waits for it; mu is held.
func (c *Checker) settle(key string, k *keyState, e execution) {
	m := k.messages[e.seq]
	m.settled++
	k.messages[e.seq] = m
	if m.settled > 1 {
		c.counts.Duplicated++
		c.example(duplicated, "key %q: %d was settled for the %d. time, at %q", key, e.seq, m.settled, e.member)
		return
	}
	c.counts.Handled++
	if m.published {
		c.settledP++
	}
	c.waiters = slices.DeleteFunc(c.waiters, func(w waiter) bool {
		if c.counts.Handled < w.n {
			return false
		}
		close(w.done)
		return true
	})
}

// WaitHandled returns nil as soon as n distinct messages have been settled, or
// an error with the number reached when ctx ends first.
func (c *Checker) WaitHandled(ctx context.Context, n int) error {
	w := waiter{n: n, done: make(chan struct{})}
	c.mu.Lock()
	if c.counts.Handled >= n {
		c.mu.Unlock()
		return nil
	}
	c.waiters = append(c.waiters, w)
	c.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts.Handled >= n {
		return nil
	}
	c.waiters = slices.DeleteFunc(c.waiters, func(other waiter) bool { return other.done == w.done })
	return fmt.Errorf("%d of %d messages handled: %w", c.counts.Handled, n, context.Cause(ctx))
}

func (c *Checker) key(key string) *keyState {
	k := c.keys[key]
	if k == nil {
		k = &keyState{messages: map[uint64]message{}}
		c.keys[key] = k
	}
	return k
}
