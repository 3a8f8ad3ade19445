package pcgroups

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	probeFirst    = time.Millisecond
	probePatience = 4 * time.Millisecond
	probeMost     = 50 * time.Millisecond
	clearAtOnce   = 64 // messages
)

// tend does for a backlog what its workers have no time for. It lifts the fence,
// extends the deadlines of messages that wait for their turn, and sees to those
// that hold their partition. It returns when the runner is closed.
func (x *dispatcher) tend(server lookout) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-x.r.over
		cancel() // ends a request under way
	}()
	wait := effectiveAckWait(x.r.config)
	period := max(wait/6, 5*time.Millisecond)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	renewing.Go(func() { x.renew(ctx, server, wait, period) })
	tick := time.NewTicker(period)
	defer tick.Stop()
	probe := time.NewTimer(time.Hour)
	defer probe.Stop()
	pause, since := probeFirst, time.Now()
	var told []int
	for {
		select {
		case <-x.r.over:
			return
		case <-x.probe:
			pause, since = probeFirst, time.Now()
			probe.Reset(0)
		case <-probe.C:
			done, early, err := x.unfence(ctx, server, time.Since(since) > wait)
			if done {
				break
			}
			if err == nil && !x.blind {
				since = time.Now()
			}
			if early > 0 { // nothing is to be learnt before
				probe.Reset(min(early, holdMost))
				pause = probeFirst
				break
			}
			// Soon it is not just what was under way.
			if pause > probePatience {
				begun := time.Now()
				if x.clear(ctx, server) {
					pause = probePatience
				}
				pause = max(pause, 3*time.Since(begun)) // it is for the server to bear
			}
			probe.Reset(pause)
			pause = min(2*pause, probeMost)
		case <-tick.C:
			x.holds(ctx, server, min(max(wait/4, 50*time.Millisecond), 5*time.Second))
			told = x.stalled(told)
			x.pass(false)
		}
	}
}

// renew extends the deadlines of messages that wait for their turn, for as long
// as tend goes on. It has a goroutine of its own, as it must be in time.
func (x *dispatcher) renew(ctx context.Context, server lookout, wait, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-x.r.over:
			return
		case <-tick.C:
			x.extend(ctx, server, wait)
		}
	}
}

// unfence lifts the fence when no other instance has a message in flight; late tells
// that this could not be learnt for an ack wait, when it is lifted all the same. early
// is when to look again, if it is kept up for what a new leader has delivered too early.
func (x *dispatcher) unfence(ctx context.Context, server lookout, late bool) (done bool, early time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	x.mu.Lock()
	fences := x.fences
	x.mu.Unlock()
	inFlight, delivered, _, err := server.flight(ctx)
	early = x.early(ctx, server)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case early > 0 && x.log.fenced:
		return false, early, err
	case x.log.fenced && x.unseen():
		return false, 0, err // more came since that was looked at
	case !x.log.fenced:
		return true, 0, err
	case x.fences != fences:
		return false, 0, err // what was learnt is from before
	case err == nil:
		done = x.log.unfence(time.Now().UnixNano(), inFlight, delivered)
	}
	if !done && late && x.r.connected() && (err != nil || x.alone && x.blind) {
		x.log.lift()
		done = true
	}
	if done {
		x.dispatch()
		x.room.Broadcast()
	}
	return done, 0, err
}

// unseen tells whether messages came that another instance may be at since early
// looked at such. x.mu is held.
func (x *dispatcher) unseen() bool {
	return x.log.redelivered != x.doubts && x.r.newPin(effectiveAckWait(x.r.config))
}

// clear lets messages start in spite of the fence before which all of their
// partition are settled. Only the partitions of which another instance has an earlier
// message wait for it then; and of two instances that wait for each other, as the pin
// has moved on and they keep messages at their last delivery, one goes on.
func (x *dispatcher) clear(ctx context.Context, server lookout) (any bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	x.mu.Lock()
	candidates, fences := x.log.candidates(clearAtOnce, rand.N(1<<20)), x.fences
	x.mu.Unlock()
	if len(candidates) == 0 {
		return false
	}
	next, err := server.next(ctx, candidates)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.blind = err != nil
	if x.fences != fences || x.unseen() {
		return false // what was learnt is from before, or more came that is to be looked at first
	}
	for i, p := range candidates {
		if i < len(next) && next[i] && x.log.clear(p) {
			any = true
		}
	}
	x.dispatch()
	return any
}

// extend gives messages that wait for their turn more time.
func (x *dispatcher) extend(ctx context.Context, server lookout, wait time.Duration) {
	now := time.Now()
	x.mu.Lock()
	list := x.log.renewals(now.UnixNano(), now.Add(wait*2/3).UnixNano())
	x.mu.Unlock()
	if len(list) == 0 || !x.r.connected() {
		return
	}
	replies := make([]string, len(list))
	for i, r := range list {
		replies[i] = r.msg.Reply()
	}
	ctx, cancel := context.WithTimeout(ctx, max(wait*2/3, 10*time.Millisecond))
	defer cancel()
	if server.progress(ctx, replies) != nil {
		return // they keep the time they had
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range list {
		x.log.renew(r, now.Add(x.r.ackWaitOf(deliveries(r.msg))).UnixNano())
	}
}

// holds sees to messages that hold their partition for longer than the server
// was to wait for them.
func (x *dispatcher) holds(ctx context.Context, server lookout, grace time.Duration) {
	x.mu.Lock()
	list := x.log.overdue(time.Now().UnixNano(), int64(grace))
	x.dispatch()
	x.mu.Unlock()
	for _, h := range list {
		if h.given {
			x.r.report(evGivenUp{h.partition, h.seq, h.deliveries})
			continue
		}
		if x.settledElsewhere(ctx, server, h) {
			x.mu.Lock()
			x.log.release(h.partition, h.seq)
			x.dispatch()
			x.room.Broadcast()
			x.mu.Unlock()
		}
	}
}

// settledElsewhere tells whether the server does not wait for a message any
// more. A handler may acknowledge past the session, by the reply subject; a
// message may be removed from the stream.
func (x *dispatcher) settledElsewhere(ctx context.Context, server lookout, h holding) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	inFlight, delivered, floor, err := server.flight(ctx)
	if err != nil {
		return false
	}
	if floor >= h.seq {
		return true
	}
	if gone, err := server.gone(ctx, h.seq); err == nil && gone {
		return true
	}
	// If fewer are in flight than wait here, then this is the one, most likely. A
	// message just being settled would look the same, so it is to be seen twice.
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.doubt(h.partition, h.seq, x.log.inFlight(time.Now().UnixNano(), delivered, h) > inFlight) > 1
}

// stalled tells when so much is in flight that the server delivers no more, and
// all of it waits behind messages that have to come again.
func (x *dispatcher) stalled(told []int) []int {
	x.mu.Lock()
	now := x.log.stalled(x.r.config.MaxAckPending)
	x.mu.Unlock()
	if !slices.Equal(now, told) {
		x.r.report(evStalled{now})
	}
	return now
}

// held is how many messages were delivered that wait for their turn.
func (x *dispatcher) held() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.bodies
}

// lastDeadline is the latest time until which the server waits for what is yet
// to run, and with settle for what was not settled.
func (x *dispatcher) lastDeadline(settle bool) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	latest := x.log.left()
	if settle {
		latest = max(latest, x.log.unsettled())
	}
	return latest
}
