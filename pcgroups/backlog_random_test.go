package pcgroups

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBacklogRandom has a model of a server deliver, redeliver, lose and expire
// messages, and move the pin between instances that each have a backlog, in
// thousands of orders; then faults stop and everything must be handled.
//
// Prevents: two handlers of a partition at once, in one instance or in several; a
// message started before an earlier one is settled; one acknowledged that nobody
// has handled; one that is never handled, as its deliveries were used up by giving
// back or something waits for ever; and what was once kept being kept for ever.
func TestBacklogRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModelWorld(t)
		for range rapid.IntRange(20, 200).Draw(t, "events") {
			w.random()
			w.recount()
		}
		w.peace()
	})
}

type modelWorld struct {
	t          *rapid.T
	s          *modelServer
	instances  []*instance
	partitions int
	log        []string
}

func newModelWorld(t *rapid.T) *modelWorld {
	s := &modelServer{
		now: 1, pending: make(map[uint64]*modelMsg),
		maxDeliver: rapid.IntRange(0, 3).Draw(t, "max deliver"),
		maxPending: rapid.SampledFrom([]int{0, 3, 8}).Draw(t, "max ack pending"),
	}
	w := &modelWorld{t: t, s: s, partitions: rapid.IntRange(1, 3).Draw(t, "partitions")}
	for i := range rapid.IntRange(1, 3).Draw(t, "instances") {
		x := &instance{name: string(rune('A' + i)), s: s, lazy: rapid.Bool().Draw(t, "lazy")}
		w.fresh(x, nil)
		w.instances = append(w.instances, x)
	}
	s.pin, s.pinID = w.instances[0], 1
	return w
}

// fresh gives an instance a new backlog.
func (w *modelWorld) fresh(x *instance, marks map[int]uint64) {
	x.miss()
	x.b = newBacklog(rapid.IntRange(1, 3).Draw(w.t, "concurrency"), w.s.maxDeliver, marks)
	x.runs, x.open, x.asked = make(map[spot]*modelHand), nil, nil
	x.stopping, x.closing, x.passing = false, false, false
	x.fences++
	if w.s.maxPending == 0 {
		x.limit = 4
	}
}

func (w *modelWorld) did(format string, a ...any) {
	w.log = append(w.log, fmt.Sprintf("%5d ", w.s.now)+fmt.Sprintf(format, a...))
}

func (w *modelWorld) must(err error) {
	if err != nil {
		w.fail(err.Error())
	}
}

func (w *modelWorld) fail(why string) {
	state := ""
	for _, x := range w.instances {
		state += x.name + ": " + strings.Join(backlogInWords(x.b), "\n   ") + "\n"
	}
	for _, m := range w.s.stored {
		state += fmt.Sprintf("%v: %d deliveries, until %d, acked %v, handled %v, gave up %v\n", m.spot, m.deliveries, m.deadline, m.acked, m.handled, m.gaveUp)
	}
	w.t.Fatalf("%s\n%s\n%s", why, strings.Join(w.log, "\n"), state)
}

func (w *modelWorld) recount() {
	for _, x := range w.instances {
		if err := recount(x.b); err != nil {
			w.fail(x.name + ": " + err.Error())
		}
	}
}

// random lets one thing happen that can happen now.
func (w *modelWorld) random() {
	s := w.s
	type choice struct {
		name string
		do   func()
	}
	var can []choice
	add := func(weight int, name string, do func()) {
		for range weight {
			can = append(can, choice{name, do})
		}
	}
	if len(s.stored) < 30 {
		add(3, "publish", func() { s.publish(rapid.IntRange(0, w.partitions-1).Draw(w.t, "partition")) })
	}
	if m := s.canDeliver(); m != nil {
		add(4, fmt.Sprintf("deliver %v to %s", m.spot, s.pin.name), s.deliver)
	}
	add(2, "time", func() { w.pass(rapid.SampledFrom([]int64{1, 100, 340, 1000}).Draw(w.t, "while")) })
	for _, x := range w.instances {
		if s.pin != x && (!x.closing || s.maxDeliver <= 0) {
			add(1, "pin "+x.name, func() { s.pin, s.pinID = x, s.pinID+1 })
		}
		if x.pin != 0 && (s.pin != x || x.pin != s.pinID) {
			add(1, x.name+" hears that its pin is lost", func() { x.pin = 0; x.unpinned() })
		}
		if len(x.wires) > 0 {
			add(4, fmt.Sprintf("%s receives %v", x.name, x.wires[0].msg.spot), x.receive)
		}
		if len(x.says) > 0 {
			add(3, fmt.Sprintf("server hears %s: %v", x.name, x.says[0]), func() {
				a := x.says[0]
				x.says = x.says[1:]
				w.must(s.hear(a))
			})
		}
		if x.b.may() {
			add(4, x.name+" starts", func() { w.must(x.start()) })
		}
		if x.b.fenced {
			if x.asked == nil {
				add(2, x.name+" asks", x.ask)
			} else {
				add(2, x.name+" is answered", x.answer)
			}
			add(1, x.name+" clears", x.clear)
		}
		if x.stopping {
			add(1, x.name+"'s pull has ended", func() { w.ended(x) })
		}
		if x.mayPass() {
			add(1, x.name+" passes", x.pass)
		}
		add(1, x.name+" renews", func() { w.must(x.renew()) })
		add(1, x.name+" looks after holds", x.holds)
		w.handlers(x, add)
	}
	// Small numbers are drawn far more often than large ones.
	if x := rapid.SampledFrom(w.instances).Draw(w.t, "of"); rapid.IntRange(0, 99).Draw(w.t, "rare") > 90 {
		w.rare(x)
		return
	}
	c := rapid.SampledFrom(can).Draw(w.t, "what")
	w.did("%s", c.name)
	c.do()
}

// ended lets a pull that was taken back end: what was sent to it has come.
func (w *modelWorld) ended(x *instance) {
	for len(x.wires) > 0 {
		w.did("%s receives %v", x.name, x.wires[0].msg.spot)
		x.receive()
	}
	if w.s.pin == x {
		w.s.pin = nil
	}
	x.close()
}

func (w *modelWorld) handlers(x *instance, add func(int, string, func())) {
	delay := func() int64 { return rapid.SampledFrom([]int64{0, 0, 300, 3000}).Draw(w.t, "delay") }
	for _, at := range sortedSpots(x.runs) {
		h := x.runs[at]
		if h.left {
			add(2, fmt.Sprintf("%s: %v returns", x.name, at), func() { x.finish(h, "ack", 0) })
			continue
		}
		add(3, fmt.Sprintf("%s: %v is acked", x.name, at), func() { x.finish(h, "ack", 0) })
		add(1, fmt.Sprintf("%s: %v is acked, the handler goes on", x.name, at), func() { x.settle(h, "ack", 0) })
		add(1, fmt.Sprintf("%s: %v is nak'd", x.name, at), func() { x.finish(h, "nak", delay()) })
		add(1, fmt.Sprintf("%s: %v is left", x.name, at), func() { x.finish(h, "", 0) })
	}
	for i, h := range x.open {
		what := func(how string) func() {
			return func() {
				x.open = append(x.open[:i:i], x.open[i+1:]...)
				x.settle(h, how, 0)
			}
		}
		add(1, fmt.Sprintf("%s: %v is acked late", x.name, h.spot), what("ack"))
		add(1, fmt.Sprintf("%s: %v is nak'd late", x.name, h.spot), what("nak"))
	}
}

// rare are things that happen to an instance.
func (w *modelWorld) rare(x *instance) {
	s := w.s
	switch rapid.IntRange(0, 3).Draw(w.t, "which") {
	case 0:
		w.did("%s loses its connection", x.name)
		x.lose()
	case 1:
		if x.stopping || x.closing {
			return
		}
		w.did("%s stops", x.name)
		x.stop()
	case 2:
		w.did("%s crashes", x.name)
		x.lose()
		x.forget()
		for _, h := range x.runs {
			if h.msg.runs == h {
				h.msg.runs = nil
			}
		}
		x.pin = 0
		w.fresh(x, nil)
	case 3:
		if len(x.runs) > 0 || x.stopping || x.b.bodies > 0 && s.maxDeliver > 0 {
			return // it waits for what is left to run
		}
		w.did("%s pulls anew", x.name)
		x.nakAll(x.b.giveBack())
		x.pin = 0
		w.fresh(x, x.b.marks())
	}
}

// pass lets time pass. Before a handler's deadline comes it returns and the server
// hears of it: what handlers do after it is not promised anything. What is
// delivered is received before much time passes.
func (w *modelWorld) pass(while int64) {
	for ; while > 300; while -= 300 {
		w.pass(300)
	}
	for _, x := range w.instances {
		for len(x.wires) > 0 {
			w.did("%s receives %v", x.name, x.wires[0].msg.spot)
			x.receive()
		}
		for _, at := range sortedSpots(x.runs) {
			if h := x.runs[at]; h.msg.deadline <= w.s.now+while || h.end <= w.s.now+while {
				w.did("%s: %v returns in time", x.name, at)
				x.finish(h, "ack", 0)
			}
		}
		w.must(x.flush())
	}
	w.s.now += while
	for _, x := range w.instances {
		if !x.lazy {
			w.must(x.renew())
		}
		var open []*modelHand
		for _, h := range x.open {
			if h.msg.deadline > w.s.now && h.msg.deliveries == h.deliveries {
				open = append(open, h)
			}
		}
		x.open = open
	}
}

// peace lets everything go well until all is done.
func (w *modelWorld) peace() {
	w.did("all goes well")
	for _, x := range w.instances {
		if x.stopping {
			w.ended(x)
		}
	}
	if w.s.pin == nil || w.s.pin.closing { // its pull ends, and another instance joins
		x := &instance{name: "Z", s: w.s}
		w.fresh(x, nil)
		w.instances = append(w.instances, x)
		w.s.pin, w.s.pinID = x, w.s.pinID+1
	}
	for range 600 { // without a limit it may be one message for each ack wait
		if w.done() {
			break
		}
		w.s.pump(w)
		for _, x := range w.instances {
			if x.pin != 0 && (w.s.pin != x || x.pin != w.s.pinID) {
				x.pin = 0
				x.unpinned()
			}
			x.ask()
			x.answer()
			x.clear()
			w.must(x.renew())
			x.holds()
			if x.mayPass() {
				x.pass()
			}
			for x.b.may() {
				before := x.b.bodies
				w.must(x.start())
				for _, at := range sortedSpots(x.runs) {
					w.did("%s: %v is acked", x.name, at)
					x.finish(x.runs[at], "ack", 0)
				}
				if x.b.bodies == before {
					break
				}
			}
			for _, at := range sortedSpots(x.runs) {
				x.finish(x.runs[at], "ack", 0)
			}
			w.must(x.flush())
		}
		w.recount()
		w.pass(100)
	}
	for _, m := range w.s.stored {
		switch {
		case !m.acked && !m.gaveUp:
			w.fail(fmt.Sprintf("%v is never handled", m.spot))
		case m.gaveUp && m.started < m.deliveries && !m.lost && !m.handled:
			w.fail(fmt.Sprintf("%v was given out for the last time, but not started", m.spot))
		}
	}
	for _, x := range w.instances {
		if x.b.size > 0 {
			w.fail(x.name + " keeps what is over")
		}
	}
}

// done tells whether everything is over and nothing is kept.
func (w *modelWorld) done() bool {
	for _, m := range w.s.stored {
		if !m.acked && !m.gaveUp {
			return false
		}
	}
	for _, x := range w.instances {
		if x.b.size > 0 {
			return false
		}
	}
	return true
}

// pump delivers all there is.
func (s *modelServer) pump(w *modelWorld) {
	for s.canDeliver() != nil {
		s.deliver()
		for _, x := range w.instances {
			for len(x.wires) > 0 {
				x.receive()
			}
			w.must(x.flush())
		}
	}
}

func sortedSpots(m map[spot]*modelHand) []spot {
	var out []spot
	for at := range m {
		i := 0
		for i < len(out) && (out[i].partition < at.partition || out[i].partition == at.partition && out[i].seq < at.seq) {
			i++
		}
		out = append(out[:i], append([]spot{at}, out[i:]...)...)
	}
	return out
}
