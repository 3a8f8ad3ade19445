package pcgroups

import (
	"errors"
	"slices"
	"time"
)

// The session's state machine. It is pure: step takes what is known and one
// event and returns what is then known and what to do, with no clock, goroutine
// or connection. session.go feeds it and carries out what it says.
//
// It is level-triggered. Events only change facts; decide looks at the facts and
// picks the next action, so that an event may come at any moment (a new
// configuration while draining, a stop while joining) and needs no case of its
// own. At most one request is under way at a time.

type pullPhase uint8

const (
	pullOff pullPhase = iota
	pullOn
	pullStopping
)

// ending is how a session ends; once set it is not replaced.
type ending struct {
	err       error
	unstarted intake // what happens to messages that were not started
	release   bool   // delete the consumer
	unpin     bool   // let a standby in at once
	leave     bool   // drop the member, if no standby is there
	bare      bool   // the connection is closed: nothing can be asked
}

// state is all that is known. It is a value: step returns a changed copy.
type state struct {
	fl     *flavour
	rejoin bool // the session outlives its group (WithRejoin)
	leaves bool // its member leaves the group with it (WithAutoMembership)

	// What should be.
	known    bool // a configuration was seen
	shape    string
	revision uint64
	want     []string // filters to consume; none: not a member, or one too many
	parts    []int    // the partitions they stand for
	lacks    string   // why there is nothing to consume
	waits    string   // what was told of that

	// What is.
	attached bool // to a consumer
	have     []string
	haveOf   []int
	created  time.Time
	timing   timing // that the pull goes by
	pull     pullPhase
	busy     bool // a handler is running past its deadline
	watching bool

	// What is in doubt or under way.
	gone      bool // the consumer we are attached to is not there any more
	stale     bool // what it had delivered was dropped: only a new one brings it back soon
	suspect   bool // look whether it is
	retimed   bool // the consumer's timing is another now: pull anew
	adjust    bool // the consumer was made with other settings than ours, which can be changed
	unmended  bool // and that failed under this pin
	pinned    bool // we are the instance that may change them
	yield     bool // give up the pin: a handler is overdue
	request   bool // one is under way,
	releasing bool // namely this
	timer     bool // one is running
	attempt   int  // failures since the last success
	hold      bool // no pull before the timer: the last ones ended at once
	cuts      int  // pulls that ended by themselves since the last message
	missing   int  // looks in a row that found no configuration
	behind    bool // the last look found another configuration than the watch had told
	joined    bool // we were attached once
	watched   bool // and so was the configuration

	ending   *ending
	winding  bool // no request from before the ending is under way
	released bool // asked for
	unpinned bool // asked for
	left     bool // asked for
	done     bool
}

// step is the machine: facts first, then what follows from them.
func (s state) step(ev event) (state, []action) {
	if s.done {
		return s, nil
	}
	out := &plan{}
	s.learn(ev, out)
	s.decide(out)
	return s, out.actions
}

type plan struct{ actions []action }

func (p *plan) do(a action) { p.actions = append(p.actions, a) }

// end sets how the session ends, unless that is settled already.
func (s *state) end(e ending) {
	if s.ending == nil {
		s.ending = &e
	}
}

// decide picks what to do next.
func (s *state) decide(out *plan) {
	if s.ending != nil {
		s.wind(out)
		return
	}
	s.tellWaits(out)
	switch s.pull {
	case pullStopping:
		return // nothing before what was started is settled
	case pullOn:
		if s.gone || s.stale || !sameFilters(s.have, s.want) {
			s.pull, s.stale = pullStopping, true
			out.do(actDrain{unstarted: intakeDrop, settle: !s.gone})
			return
		}
		if s.busy || s.retimed {
			s.pull = pullStopping
			out.do(actDrain{unstarted: intakeGiveBack})
			return
		}
		if s.mayAdjust() {
			s.pull = pullStopping
			out.do(actDrain{unstarted: intakeGiveBack, settle: true})
			return
		}
	}
	if s.request {
		return
	}
	if s.gone && s.attached {
		s.leave(out)
	}
	s.retimed = false // the next pull goes by what is known now
	unfit := s.unfit()
	switch {
	case s.attached && s.yield:
		s.yield = false
		s.ask(out, actUnpin{})
	case unfit && !s.timer:
		s.askRelease(out, false)
	case s.suspect && !s.timer:
		s.ask(out, actLook{})
	case !s.watching && !s.timer:
		s.ask(out, actWatch{})
	case !unfit && s.pull == pullOff && s.mayAdjust():
		s.ask(out, actAdjust{})
	case s.attached && !unfit && s.pull == pullOff && !s.busy && !s.hold:
		s.pull = pullOn
		out.do(actPull{})
	case !s.attached && len(s.want) > 0 && !s.timer:
		s.ask(out, actJoin{s.want, s.parts})
	}
}

// tellWaits tells once for each wait what is waited for.
func (s *state) tellWaits(out *plan) {
	switch {
	case len(s.want) > 0:
		s.waits = ""
	case !s.attached && s.lacks != s.waits:
		s.waits = s.lacks
		out.do(actTell{tellWaits{s.lacks}})
	}
}

// wind takes the session down: stop pulling, let what runs finish, give up the
// consumer or the pin, finish.
func (s *state) wind(out *plan) {
	switch {
	case s.pull == pullOn:
		s.pull = pullStopping
		out.do(actDrain{unstarted: s.ending.unstarted, settle: s.ending.leave})
	case s.pull == pullStopping:
	case s.request:
		// What was asked before is of no use any more, but for a release; what
		// follows below is.
		if !s.winding && !s.releasing {
			s.winding = true
			out.do(actCancel{})
		}
	case s.attached && s.ending.release && !s.released && !s.ending.bare:
		s.winding, s.released = true, true
		s.askRelease(out, true)
	case s.attached && s.unfit() && !s.released && !s.ending.bare:
		// Stopped in the middle of a hand-over: the new owner waits for this.
		s.winding, s.released = true, true
		s.askRelease(out, false)
	case s.attached && s.ending.unpin && !s.unpinned && !s.ending.bare:
		s.winding, s.unpinned = true, true
		s.ask(out, actUnpin{})
	case s.ending.leave && !s.left && !s.ending.bare:
		s.winding, s.left = true, true
		s.ask(out, actLeave{s.created})
	default:
		s.done = true
		if s.busy && s.ending.err == nil {
			s.ending.err = ErrHandlerTimeout
		}
		if s.attached {
			out.do(actTell{tellRevoked{s.haveOf}})
		}
		out.do(actFinish{s.ending.err})
	}
}

// unfit tells whether the consumer attached to is not the one to consume from.
func (s *state) unfit() bool {
	return s.attached && (s.stale || !sameFilters(s.have, s.want))
}

func (s *state) askRelease(out *plan, final bool) {
	s.releasing = true
	s.ask(out, actRelease{created: s.created, final: final})
}

// mayAdjust tells whether to change the consumer's settings now: only the pinned
// instance does, and only while it has nothing in flight.
func (s *state) mayAdjust() bool {
	return s.attached && s.adjust && s.pinned && !s.timer && !s.request && !s.suspect && !s.busy
}

func (s *state) ask(out *plan, a action) {
	s.request = true
	out.do(a)
}

// leave forgets the consumer we were attached to.
func (s *state) leave(out *plan) {
	out.do(actTell{tellRevoked{s.haveOf}})
	s.attached, s.gone, s.stale, s.suspect = false, false, false, false
	s.adjust, s.pinned, s.yield = false, false, false
	s.have, s.haveOf = nil, nil
}

// learnLeft takes note of what became of the consumer and the membership at the
// end.
func (s *state) learnLeft(ev evLeft, out *plan) {
	if ev.err != nil {
		out.do(actReport{ev.err})
	}
	if ev.released && s.attached {
		s.leave(out)
	}
	if ev.dropped {
		out.do(actTell{tellLeft{}})
	}
}

// retry tries again after a while, which grows with every failure.
func (s *state) retry(out *plan, first, most time.Duration) {
	d := first
	for range s.attempt {
		if d = d * 3 / 2; d >= most {
			d = most
			break
		}
	}
	s.attempt++
	s.timer = true
	out.do(actTimer{d})
}

// sameFilters compares what consumers are created with: order does not matter to
// the server.
func sameFilters(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

var (
	errNoConsumer = errors.New("the consumer was deleted while the group still exists")
	errUnfit      = errors.New("the consumer was changed and does not pin one instance any more")
)
