package pcgroups

import "time"

// How a dispatcher runs handlers. x.mu is held unless it is said otherwise.

// work is the goroutine of a worker. It ends with the dispatcher.
func (x *dispatcher) work() {
	x.mu.Lock() // not deferred: a handler may end its goroutine (runtime.Goexit) without it
	for {
		x.runAll()
		x.workers--
		x.roomier()
		x.r.wake()
		for x.asleep++; x.roused == 0; x.rouse.Wait() {
			if x.log.most == 0 {
				x.asleep--
				x.mu.Unlock()
				return
			}
		}
		x.roused--
	}
}

// runAll runs handlers until there is nothing to run.
func (x *dispatcher) runAll() {
	for last := (time.Time{}); ; {
		now := time.Now()
		if !last.IsZero() {
			x.took(now.Sub(last))
		}
		if last = now; !x.runOne(now, false) {
			return
		}
	}
}

// runOne runs a handler, if there is one to run.
func (x *dispatcher) runOne(now time.Time, here bool) bool {
	if intake(x.r.intake.Load()) != intakeRun && !x.log.closing {
		return false
	}
	l, w, body := x.log.start(now.UnixNano())
	if body == nil {
		return false
	}
	m := &Msg{delivery{Msg: body, run: x.r, lane: l, seq: w.seq, begun: now.Sub(x.r.made), wait: x.r.ackWaitOf(w.deliveries), here: here}}
	d, until := &m.delivery, w.until
	d.deadline.Store(until)
	w.take(d)
	x.roomier()
	d.slot = int32(len(x.runs)) //nolint:gosec // as many as there are workers
	x.runs = append(x.runs, d)
	x.r.wake()
	x.mu.Unlock()
	x.run(m, time.Duration(until-now.UnixNano()))
	x.mu.Lock()
	if over := x.ran(d); over != nil {
		x.mu.Unlock()
		x.tell(over)
		x.mu.Lock()
	}
	return true
}

// ran is called when a handler is over.
func (x *dispatcher) ran(d *delivery) (over *evGivenUp) {
	last := len(x.runs) - 1
	if int(d.slot) != last {
		x.runs[d.slot] = x.runs[last]
		x.runs[d.slot].slot = d.slot
	}
	x.runs[last] = nil
	x.runs = x.runs[:last]
	over = x.finish(d)
	x.r.wake()
	return over
}

// left is called when a handler has ended its worker.
func (x *dispatcher) left(d *delivery) {
	x.mu.Lock()
	x.workers--
	over := x.ran(d)
	x.mu.Unlock()
	x.r.wake()
	x.tell(over)
}

// run calls the handler. It has nine tenths of the ack wait at least, although the
// message may have waited for its turn and have less left.
func (x *dispatcher) run(m *Msg, left time.Duration) {
	if d := &m.delivery; left < d.wait*9/10 && d.Msg.InProgress() == nil {
		x.r.extend(d)
	}
	x.r.call(m)
}

// finish takes note that a handler has returned.
func (x *dispatcher) finish(d *delivery) (over *evGivenUp) {
	again := d.again.Load()
	x.log.finish(d.lane, d.seq, d.settled.Load() && again == 0)
	if again != 0 {
		over = x.nak(d, again)
	}
	x.dispatch()
	x.roomier()
	return over
}

// roomier tells a delivery that waits for room that there may be some.
func (x *dispatcher) roomier() {
	if x.limit > 0 {
		x.room.Broadcast()
	}
}
