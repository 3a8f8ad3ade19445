package pcgroups

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestMachineRandom drives sessions through thousands of orders of events and
// outcomes, and then lets everything go well: a session that should consume must
// do so in the end, and one that is stopped must end.
//
// Prevents: two consumers or two pulls at once, a consumer deleted under its
// pull, a session that gets stuck, and actions after the end.
func TestMachineRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, s: state{fl: rapid.SampledFrom([]*flavour{staticFlavour, elasticFlavour}).Draw(t, "flavour"), rejoin: rapid.Bool().Draw(t, "rejoin"), leaves: rapid.Bool().Draw(t, "leaves")}}
		w.config(1)
		for range rapid.IntRange(30, 120).Draw(t, "events") {
			if !w.finished {
				w.random()
			}
		}
		w.settle()
		if !w.finished && (w.pulling != (len(w.s.want) > 0) || w.attached != w.pulling) {
			t.Fatalf("all is well, but pulling is %v with filters %v", w.pulling, w.s.want)
		}
		w.step(evStop{})
		w.settle()
		if !w.finished {
			t.Fatalf("stopped but not ended: %+v", w.s)
		}
	})
}

// world stands for the server and the loop. It knows little, but watches what
// must never be.
type world struct {
	t        *rapid.T
	s        state
	revision uint64

	request           action // the one under way
	pulling, draining bool
	busy              bool // a late handler has yet to return
	timer             bool
	attached          bool
	finished          bool
	waits             string // what was told last that it waits for
}

var errBoom = errors.New("boom")

func (w *world) step(ev event) {
	was := w.finished
	var actions []action
	w.s, actions = w.s.step(ev)
	if len(w.s.want) > 0 {
		w.waits = ""
	}
	if was && len(actions) > 0 {
		w.t.Fatalf("%T after the end", actions[0])
	}
	for _, a := range actions {
		w.watch(a)
	}
}

func (w *world) watch(a action) {
	switch a := a.(type) {
	case actWatch, actJoin, actRelease, actLook, actUnpin, actAdjust, actLeave:
		if w.request != nil {
			w.t.Fatalf("%T while %T is under way", a, w.request)
		}
		w.request = a
	case actPull:
		if w.pulling || w.draining || w.busy || !w.attached {
			w.t.Fatalf("pull with %+v", *w)
		}
		w.pulling = true
	case actDrain:
		if !w.pulling {
			w.t.Fatal("drain without a pull")
		}
		w.pulling, w.draining = false, true
	case actCancel:
		switch r := w.request.(type) {
		case actUnpin:
			if w.s.unpinned { // and not merely for a hung handler
				w.t.Fatal("giving up the pin is cut short")
			}
		case actRelease:
			if r.final {
				w.t.Fatal("deleting the durable is cut short")
			}
		case actLeave:
			w.t.Fatal("leaving is cut short")
		}
	case actTimer:
		w.timer = true
	case actTell:
		switch what := a.what.(type) {
		case tellRevoked:
			w.attached = false
		case tellWaits:
			if w.attached || what.why == w.waits || what.why == "" {
				w.t.Fatalf("tells that it waits as %q with %+v", what.why, *w)
			}
			w.waits = what.why
		}
	case actFinish:
		if w.pulling || w.draining || w.request != nil {
			w.t.Fatalf("finished with %+v", *w)
		}
		w.finished = true
	}
	switch w.request.(type) {
	case actJoin:
		if w.attached {
			w.t.Fatal("a second consumer")
		}
	case actRelease, actLeave:
		if w.pulling || w.draining {
			w.t.Fatal("the consumer is deleted under its pull")
		}
	}
}

// config is a change of membership (there is none for static groups).
func (w *world) config(atLeast int) {
	w.revision++
	v := view{shape: "config", member: true}
	if n := rapid.IntRange(atLeast, 3).Draw(w.t, "partitions"); n > 0 {
		v.filters, v.partitions = filtersFor([]string{"0", "1", "2"}[:n])
	}
	w.step(evConfig{v, w.revision})
}

// random lets one thing happen that can happen now.
func (w *world) random() {
	can := []func(){func() { w.step(evWatchLost{errBoom}) }, func() { w.step(evTick{}) }}
	if w.s.fl == elasticFlavour {
		can = append(can, func() { w.config(0) })
	}
	if w.timer {
		can = append(can, w.fire)
	}
	if w.request != nil {
		can = append(can, func() { w.answer(rapid.IntRange(0, 9).Draw(w.t, "outcome")) })
	}
	if w.pulling {
		can = append(can, func() { w.step(evPullTrouble{errBoom}) }, func() { w.step(evPullEnded{errBoom}) }, func() { w.step(evPinned{"x"}) }, func() { w.step(evOverdue{}) })
	}
	if w.draining {
		can = append(can, func() { w.drained(rapid.Bool().Draw(w.t, "late")) })
	}
	if w.busy {
		can = append(can, w.idle)
	}
	// Small numbers are drawn far more often than large ones.
	switch rapid.IntRange(0, 999).Draw(w.t, "rare") {
	case 700:
		w.step(evHandlerFailed{errBoom})
	case 701:
		w.step(evGone{w.revision + 1})
	case 702:
		w.step(evConnClosed{})
	case 703:
		w.step(evStop{})
	default:
		rapid.SampledFrom(can).Draw(w.t, "what")()
	}
}

func (w *world) fire() { w.timer = false; w.step(evTimer{}) }
func (w *world) idle() { w.busy = false; w.step(evIdle{}) }

func (w *world) drained(late bool) {
	w.draining, w.busy = false, late
	w.step(evDrained{late})
}

// answer ends the request under way: 0 to 3 are failures, all else is success.
func (w *world) answer(outcome int) {
	request := w.request
	w.request = nil
	failed := outcome < 4
	switch a := request.(type) {
	case actWatch:
		if failed {
			w.step(evWatchFailed{errBoom})
			return
		}
		w.step(evWatching{})
	case actJoin:
		if failed {
			w.step(evJoinFailed{[]joinFailure{joinError, joinNotUnique, joinOccupied, joinRefused}[outcome], errBoom})
			return
		}
		w.attached = true
		w.step(evJoined{filters: a.filters, partitions: a.partitions, created: at(uint64(outcome)), adjustable: outcome == 5})
	case actRelease:
		if failed {
			w.step(evReleased{errBoom})
			return
		}
		w.step(evReleased{})
	case actLook:
		switch outcome {
		case 0:
			w.step(evLooked{err: errBoom})
		case 1:
			w.step(evLooked{consumer: false})
		case 2:
			w.step(evLooked{consumer: true, created: at(99)})
		case 3:
			w.step(evLooked{consumer: true, created: w.s.created, timing: timing{ackWait: 3}})
		case 4:
			w.step(evLooked{config: entryGone})
		case 5:
			w.step(evLooked{config: bucketGone})
		default:
			w.step(evLooked{consumer: true, created: w.s.created, revision: w.revision})
		}
	case actAdjust:
		if w.pulling || w.draining {
			w.t.Fatal("settings are changed under a pull")
		}
		w.step(evAdjusted{notNow: outcome == 0, timing: timing{ackWait: 2}})
	case actLeave:
		w.step(evLeft{released: outcome != 0, dropped: !failed, err: nil})
	case actUnpin:
		if failed {
			w.step(evUnpinned{errBoom})
			return
		}
		w.step(evUnpinned{})
	}
}

// settle lets everything under way go well until nothing is.
func (w *world) settle() {
	for i := 0; i < 100 && !w.finished; i++ {
		if !w.pulling {
			w.step(evPullEnded{errBoom}) // late news of a pull that was stopped
		}
		switch {
		case w.request != nil:
			w.answer(9)
		case w.draining:
			w.drained(false)
		case w.busy:
			w.idle()
		case w.timer:
			w.fire()
		default:
			return
		}
	}
	if !w.finished {
		w.t.Fatalf("no rest: %+v", w.s)
	}
}
