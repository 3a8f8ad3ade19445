package pcgroups

import "time"

// Retry delays. A gaining member tries again within milliseconds, as the member
// that loses the partition is only waiting for its running handler; faults of
// the server get more time.
const (
	handoverFirst = 5 * time.Millisecond
	handoverMost  = 250 * time.Millisecond
	// handoverPatience is how many refusals are taken for the ordinary course of a
	// hand-over before they are reported, about 5 s.
	handoverPatience = 30

	// replacement is how long whoever deleted our consumer has to make its own. An
	// instance of the oracle with other settings deletes and creates; if ours came
	// in between it would delete again, and so on.
	replacement = 50 * time.Millisecond

	faultFirst = 100 * time.Millisecond
	faultMost  = 5 * time.Second
)

// learn changes the facts by one event, and notes what must be told about it.
func (s *state) learn(ev event, out *plan) {
	switch ev := ev.(type) {
	case evConfig:
		s.learnConfig(ev, out)
	case evBadConfig:
		if ev.revision > s.revision {
			s.revision = ev.revision
			s.groupChanged(because(ErrGroupConfigChanged, ev.err, "repair the group's configuration, then join again"), out)
			s.lacks = lacksSense
		}
	case evGone:
		if ev.revision > s.revision || !s.known {
			s.revision = max(s.revision, ev.revision)
			s.groupChanged(nil, out)
		}

	case evWatching:
		s.request, s.watching, s.watched, s.attempt = false, true, true, 0
		s.suspect = s.suspect || s.missing > 0
	case evWatchFailed:
		s.request, s.suspect = false, true
		if !s.watched && !s.rejoin { // the join's caller is told
			s.end(ending{err: ev.err})
			return
		}
		s.fault(out, ev.err)
	case evWatchLost:
		s.watching, s.suspect = false, true
		s.fault(out, ev.err)

	case evJoined:
		s.request, s.attempt = false, 0
		s.attached, s.joined, s.gone, s.suspect = true, true, false, false
		if !ev.created.Equal(s.created) {
			s.cuts = 0
		}
		s.have, s.haveOf, s.created, s.timing = ev.filters, ev.partitions, ev.created, ev.timing
		s.adjust = ev.adjustable
		out.do(actTell{tellAssigned{s.haveOf}})
		if ev.differs != nil {
			out.do(actReport{ev.differs})
		}
	case evJoinFailed:
		s.request = false
		s.learnJoinFailed(ev, out)
	case evReleased:
		s.request, s.releasing = false, false
		if ev.err != nil {
			// Try again until it is gone: creating another one with it in place
			// can not succeed.
			if s.ending == nil {
				s.fault(out, ev.err)
				s.suspect = true
				return
			}
			out.do(actReport(ev))
		}
		s.leave(out)
	case evLooked:
		s.request = false
		s.learnLooked(ev, out)
	case evUnpinned:
		s.request = false
		if ev.err != nil {
			out.do(actReport(ev))
		}

	case evLeft:
		s.request = false
		s.learnLeft(ev, out)

	case evAdjusted:
		s.request = false
		s.learnAdjusted(ev, out)

	case evPullTrouble:
		s.suspect = true
		out.do(actReport(ev))
	case evPullEnded:
		if s.pull == pullOn { // the client gave up; drain what it left behind
			s.pull, s.suspect = pullStopping, true
			out.do(actDrain{unstarted: intakeDrop})
			out.do(actReport(ev))
			// The first time look at once, as the consumer was deleted most likely.
			if s.cuts++; s.cuts > 1 {
				s.hold = true
				s.retry(out, faultFirst, faultMost)
			}
		}
	case evNotice:
		s.adjust = s.adjust || ev.adjust
		out.do(actReport{ev.err})
	case evDrained:
		s.pull, s.busy = pullOff, ev.late
		s.yield = s.yield && ev.late
		if ev.late && s.ending != nil && s.ending.err == nil {
			s.ending.err = ErrHandlerTimeout
		}
	case evOverdue:
		// Pulls would keep the pin although nothing is done: let a standby in (R16).
		if s.pull == pullOn {
			s.busy, s.yield = true, true
			out.do(actReport{because(ErrHandlerTimeout, nil, "its instance steps down until it returns; raise AckWait or use WithKeepAlive for handlers that take this long")})
		}
	case evIdle:
		s.busy = false
	case evPinned:
		if ev.pin == "" && !s.pinned {
			return
		}
		s.cuts = 0
		out.do(actTell{tellPinned(ev)})
		// Whoever was pinned before may have changed the consumer's settings.
		s.pinned, s.unmended = ev.pin != "", false
		s.suspect = s.suspect || s.pinned

	case evStalled:
		out.do(actTell{tellStalled(ev)})
	case evGivenUp:
		out.do(actTell{tellGivenUp(ev)})
	case evSource:
		out.do(actTell(ev))
	case evMembership:
		out.do(actTell(ev))

	case evTimer:
		s.timer, s.hold = false, false
	case evTick:
		s.suspect = true
	case evStop:
		s.end(ending{unstarted: intakeGiveBack, unpin: true, leave: s.leaves})
	case evHandlerFailed:
		s.end(ending{err: because(ErrHandler, ev.err, "the message stays unacknowledged; mend the handler and join again"),
			unstarted: intakeGiveBack, unpin: true})
	case evConnClosed:
		s.end(ending{err: because(ErrConnectionClosed, nil, "join again with a new connection"), unstarted: intakeDrop, bare: true})
	}
}

func (s *state) learnConfig(ev evConfig, out *plan) {
	s.missing = 0
	if ev.revision <= s.revision {
		return // the watch repeats what was read, or is behind it
	}
	if s.known && ev.view.shape != s.shape {
		s.groupChanged(because(ErrGroupConfigChanged, nil, "join again to consume by the new configuration"), out)
		if !s.rejoin {
			return
		}
	}
	if !s.known && s.fl.mustBeMember && !ev.view.member && !s.rejoin {
		s.end(ending{err: notAMember(ev.view.members)})
		return
	}
	s.known, s.shape, s.revision, s.behind = true, ev.view.shape, ev.revision, false
	s.want, s.parts, s.lacks = ev.view.filters, ev.view.partitions, ev.view.lacks()
	// What was waited for may have come with it.
	s.attempt, s.timer, s.hold = 0, false, false
}

// groupChanged ends the session because the group is gone or is another one. A
// static member takes its durable with it, as nothing else would. A session that
// outlives its group lets go of it instead and waits for the next.
func (s *state) groupChanged(err error, out *plan) {
	if !s.rejoin {
		s.end(ending{err: err, unstarted: intakeDrop, release: s.fl.deletesConsumer})
		return
	}
	if s.known && err != nil {
		out.do(actReport{err})
	}
	s.known, s.shape, s.want, s.parts, s.lacks = false, "", nil, nil, lacksGroup
	s.stale = s.attached
}

// learnAdjusted takes note of settings that were changed to ours.
func (s *state) learnAdjusted(ev evAdjusted, out *plan) {
	switch {
	case ev.err != nil:
		s.adjust, s.unmended = false, true // once is enough: it works with the settings it has
		out.do(actReport{ev.err})
	case ev.notNow:
		s.retry(out, faultFirst, faultMost)
	default:
		s.adjust = false
		s.learnTiming(ev.timing)
	}
}

// learnTiming has the pull begin anew if it goes by a timing that is no more.
func (s *state) learnTiming(t timing) {
	if s.attached && t != s.timing {
		s.timing, s.retimed = t, true
	}
}

func (s *state) learnJoinFailed(ev evJoinFailed, out *plan) {
	switch {
	case s.ending != nil:
	case ev.why == joinNotUnique, ev.why == joinOccupied, ev.why == joinRefused && s.rejoin && s.joined:
		if s.attempt%handoverPatience == handoverPatience-1 {
			out.do(actReport{ev.err}) // normal for a moment, but this takes long
		}
		s.retry(out, handoverFirst, handoverMost)
	case ev.why == joinRefused, s.fl.mustBeMember && !s.joined && !s.rejoin:
		// A static member's first join tells the caller; see StaticConsume.
		s.end(ending{err: ev.err})
	default:
		s.fault(out, ev.err)
		s.suspect = true
	}
}

// fault is an error that is absorbed: it is told, and what failed is tried again
// after a while.
func (s *state) fault(out *plan, err error) {
	if s.ending != nil {
		return // it was cut short, or does not matter any more
	}
	out.do(actReport{err})
	if !s.timer {
		s.retry(out, faultFirst, faultMost)
	}
}
