package pcgroups

import "time"

// With one handler at a time that does little more than take note of a message,
// handing that over to another goroutine costs more than all else that is done about
// its order: a twentieth of what a message costs altogether, server included. So such
// a handler is called where the client delivers, as with one message in flight. If it
// is slow for once it keeps the client from the next ones. Nobody else may run
// meanwhile anyway, but those are older then than they look.

const (
	quickMost = 200 * time.Microsecond // what a handler may take to count as quick
	quickRuns = 64                     // in a row, before the client may call it
	slow      = time.Millisecond       // what makes a difference to a deadline
	kept      = 1024                   // messages that a client keeps at most: it asks for 500 at a time
)

// took takes note of how long a handler took, with what was done about it.
func (x *dispatcher) took(d time.Duration) {
	if d > quickMost {
		x.quick = 0
	} else {
		x.quick++
	}
}

// mayRunHere tells whether deliver may run the message that it has just taken in.
// Where deliveries are limited it never does, as nothing renews what the client keeps
// meanwhile. x.mu is held, as in runHere.
func (x *dispatcher) mayRunHere() bool {
	return x.quick >= quickRuns && x.log.most == 1 && x.log.maxDeliver == 0 && x.behind.left == 0 &&
		x.workers == 0 && !x.log.fenced && len(x.log.ready) == 1
}

// runHere runs the message that is ready.
func (x *dispatcher) runHere(now time.Time) {
	x.workers++
	ran := x.runOne(now, true)
	x.workers--
	x.r.wake()
	if !ran {
		return
	}
	end := x.clock.now()
	took := end.Sub(now)
	if x.took(took); took > slow {
		x.behind = behind{since: now, until: end.Add(effectiveAckWait(x.r.config) / 16), left: kept}
	}
}

// behind tells since when deliver was held up, and for which messages, at most, and
// until when that counts.
type behind struct {
	since, until time.Time
	left         int
}

// came is when a message came that is delivered now, at the earliest.
func (b *behind) came(now time.Time) time.Time {
	if b.left == 0 {
		return now
	}
	if b.left--; now.After(b.until) {
		return now
	}
	return b.since
}
