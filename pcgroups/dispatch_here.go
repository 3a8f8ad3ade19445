package pcgroups

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// With one handler at a time that does little more than take note of a message,
// handing that over to another goroutine costs more than all else that is done about
// its order: a twentieth of what a message costs altogether, server included. So such
// a handler is called where the client delivers, as with one message in flight. If it
// is slow for once it keeps the client from the next ones. Nobody else may run
// meanwhile anyway, but those are older then than they look, and nothing renews them.

const (
	quickMost = 200 * time.Microsecond // what a handler may take to count as quick
	quickRuns = 64                     // in a row, before the client may call it
	slow      = time.Millisecond       // what makes a difference to a deadline
	kept      = 1024                   // messages that a client keeps at most: it asks for 500 at a time
	big       = 32 << 10               // bytes; of smaller ones the client has room for all that it asks for
	slack     = 16                     // the part of an ack wait that arrivals may be reckoned too early by
)

// quickEnough is what a handler may take to count as quick: with all that a client
// may keep it is within the slack.
func quickEnough(ackWait time.Duration) time.Duration { return min(quickMost, ackWait/slack/kept) }

// took takes note of how long a handler took, with what was done about it.
func (x *dispatcher) took(d time.Duration) {
	if d > x.enough {
		x.quick = 0
	} else {
		x.quick++
	}
}

// mayRunHere tells whether deliver may run the message that it has just taken in:
// not if others wait, for which the time would have to be asked anew. Where deliveries
// are limited it never does, and where handlers are kept alive, as nothing renews what
// the client keeps meanwhile. x.mu is held, as in runHere.
func (x *dispatcher) mayRunHere(msg jetstream.Msg) bool {
	return x.quick >= quickRuns && !x.never && x.log.most == 1 && x.log.maxDeliver == 0 && x.limit == 0 && x.r.keepAlive == 0 &&
		x.behind.rest == 0 && len(x.log.ready) == 1 && len(msg.Data()) < big
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
	x.behind.quick = kept
	end := x.clock.now()
	took := end.Sub(now)
	if x.took(took); took > slow {
		most := effectiveAckWait(x.r.config) / slack
		x.behind = behind{quick: kept, rest: kept, since: now, until: end.Add(most)}
		x.never = x.never || took > most // it may be again, and much of what is kept would come again each time
	}
}

// behind tells what the client may have kept while deliver ran handlers.
type behind struct {
	quick        int       // for how many more messages that may be so, for some quick ones
	rest         int       // before how many more deliver runs none again, after a slow one
	since, until time.Time // until then they may have come since when a slow one began
}

// reckon is until when the server waits, at least, for a message delivered now.
func (x *dispatcher) reckon(now time.Time, wait time.Duration) time.Time {
	b := &x.behind
	if now.Before(b.until) {
		now = b.since
	}
	if b.quick > 0 {
		b.quick--
		b.rest = max(b.rest-1, 0)
		wait -= wait / slack
	}
	return now.Add(wait)
}
