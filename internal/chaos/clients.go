package chaos

import (
	"context"
	"time"
)

// Handlers are stalled for at most this part of the shortest AckWait, so that
// none is ever past its deadline, whoever shortened that meanwhile.
const longestStall = 0.6

// hitClient carries out a fault of one instance.
func (r *run) hitClient(ctx context.Context, s step) error {
	if err := r.fleet.mend(ctx); err != nil {
		return err
	}
	// The oracle does not get over being cut off for long, nor over a crash of
	// its connection, so it is only slowed down.
	at := r.fleet.pick(s.pick, func(c seat) bool { return !c.oracle || s.kind == slowLink })
	i := r.fleet.at[at]
	switch s.kind {
	case cutLink:
		// From an unnoticed one to more than any AckWait.
		most := 8 * time.Second
		d := time.Duration(float64(50*time.Millisecond) + s.size*s.size*float64(most))
		r.journal.fault(s.kind, "of %s for %s", i.name, d.Round(time.Millisecond))
		over := r.journal.disturb(i.group.String(), i.name)
		defer over()
		i.link.cut()
		err := pause(ctx, d)
		i.link.heal()
		// What the client has kept for the server goes out when it is back.
		return firstError(err, await(ctx, patience, func() error {
			if !i.conn.IsConnected() && i.running() {
				return errNotConnected
			}
			return nil
		}))
	case slowLink:
		oneWay := time.Duration(float64(5*time.Millisecond) + s.size*float64(150*time.Millisecond))
		r.journal.fault(s.kind, "of %s by %s each way", i.name, oneWay.Round(time.Millisecond))
		i.link.delay(oneWay)
		err := pause(ctx, 3*time.Second)
		i.link.delay(0)
		r.journal.note("link quick", "of %s", i.name)
		return err
	case stallHandler:
		d := time.Duration((0.1 + (longestStall-0.1)*s.size) * float64(minAckWait))
		r.journal.fault(s.kind, "of %s for %s", i.name, d.Round(time.Millisecond))
		i.stall.Store(int64(d))
		return nil // others may be hit while it stalls
	case crashInstance:
		r.journal.fault(s.kind, "%s", i.name)
		// What it has acknowledged last may not have arrived.
		over := r.journal.disturb(i.group.String(), i.name)
		i.crash()
		over()
		if err := pause(ctx, time.Duration(s.size*float64(3*time.Second))); err != nil {
			return err
		}
		return r.seatAgain(ctx, at, i.ackWait)
	case restartAckWait:
		next := ackWaits[0]
		for n, d := range ackWaits {
			if d == i.ackWait {
				next = ackWaits[(n+1)%len(ackWaits)]
			}
		}
		r.journal.fault(s.kind, "%s is started anew with %s instead of %s", i.name, next, i.ackWait)
		if err := i.leave(ctx); err != nil {
			if ctx.Err() == nil {
				i.group.judge.fail("ended", "%v", err)
			}
			return ctx.Err()
		}
		return r.seatAgain(ctx, at, next)
	}
	return nil
}

// seatAgain starts an instance in place of one that left.
func (r *run) seatAgain(ctx context.Context, at int, ackWait time.Duration) error {
	i, err := r.fleet.join(ctx, r.fleet.seats[at], ackWait)
	if err != nil {
		if ctx.Err() == nil {
			r.fleet.at[at].group.judge.fail("ended", "%v", err)
		}
		return err
	}
	r.fleet.at[at] = i
	r.journal.note("instance started", "%s", i.name)
	return nil
}
