package pcgroups

import "time"

// What a dispatcher does when others are to get its messages: the pin moved, the
// connection broke, the pull ends.

// repin is called for the first message with a new pin. Whoever held the pin
// before may have messages in flight.
func (x *dispatcher) repin() {
	x.unpinned()
	x.fence()
}

// fence starts nothing more before the server has been asked whether all that is
// in flight is here.
func (x *dispatcher) fence() {
	x.mu.Lock()
	x.log.fence()
	x.seen = true // what a first message would ask for is asked for here
	x.fences++
	x.alone = false
	x.mu.Unlock()
	x.look()
}

func (x *dispatcher) look() {
	select {
	case x.probe <- struct{}{}:
	default: // it will
	}
}

// unpinned gives back what was not started, as another instance gets what comes
// next. What is left, as nobody else would get it, is run here: the other instance
// starts nothing before.
func (x *dispatcher) unpinned() {
	x.mu.Lock()
	var back []given
	if !x.log.paused { // else the pull ends anyway, and more may come before
		back = x.log.giveBack()
	}
	x.log.unpinned()
	x.alone = x.log.fenced && x.log.bodies > 0
	alone := x.alone
	x.room.Broadcast()
	x.mu.Unlock()
	if alone {
		x.look()
	}
	x.nakAll(back)
}

// shut is told what happens to messages that were not started, now and from
// here on. Where deliveries are limited nothing is given back before the pull has
// ended: one that comes at its last delivery must be run here, and only after the
// earlier ones of its partition.
func (x *dispatcher) shut(in intake) {
	x.mu.Lock()
	var back []given
	switch {
	case in == intakeDrop:
		x.log.drop()
	case x.log.closing:
	case x.log.maxDeliver > 0:
		x.log.pause()
	default:
		back = x.end()
	}
	x.room.Broadcast()
	x.mu.Unlock()
	x.nakAll(back)
}

// lastCame is called when the pull has ended.
func (x *dispatcher) lastCame() {
	x.mu.Lock()
	var back []given
	if x.log.paused {
		back = x.end()
	}
	x.mu.Unlock()
	x.nakAll(back)
}

// end lets what can not be given back run. x.mu is held.
func (x *dispatcher) end() []given {
	back := x.log.giveBack()
	x.log.close()
	x.closed = time.Now()
	x.dispatch()
	return back
}

// pass lets what is left run out of turn, if what it waits for was not settled for
// an ack wait, or with now at once. It is false if there is nothing to run.
func (x *dispatcher) pass(now bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.log.closing || !now && time.Since(x.closed) < effectiveAckWait(x.r.config) {
		return false
	}
	x.log.pass()
	may := x.log.may()
	x.dispatch()
	return may
}

// nakAll gives messages back. One whose time is up is another instance's.
func (x *dispatcher) nakAll(back []given) {
	now := time.Now().UnixNano()
	for _, g := range back {
		if g.until > now {
			_ = g.msg.Nak() // if that fails it comes back after its ack deadline
		}
	}
}

// remember leaves to the next pull of the same consumer what it must know.
func (x *dispatcher) remember() {
	x.mu.Lock()
	defer x.mu.Unlock()
	marks := x.log.marks()
	x.r.mem.marks.Store(&marks)
}

// close has nothing more run, and ends the workers.
func (x *dispatcher) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log.most = 0
	x.room.Broadcast()
	x.rouse.Broadcast()
}
