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
	back := x.log.giveBack()
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
// here on.
func (x *dispatcher) shut(in intake) {
	x.mu.Lock()
	var back []given
	if in == intakeDrop {
		x.log.drop()
	} else {
		back = x.log.giveBack()
		x.log.close()
		x.dispatch()
	}
	x.room.Broadcast()
	x.mu.Unlock()
	x.nakAll(back)
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

// close has nothing more run.
func (x *dispatcher) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log.most = 0
	x.room.Broadcast()
}
