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

	faultFirst = 100 * time.Millisecond
	faultMost  = 5 * time.Second
)

// learn changes the facts by one event, and notes what must be told about it.
func (s *state) learn(ev event, out *plan) {
	switch ev := ev.(type) {
	case evConfig:
		s.learnConfig(ev)
	case evBadConfig:
		if ev.revision > s.revision {
			s.endChanged(because(ErrGroupConfigChanged, ev.err, "repair the group's configuration, then join again"))
		}
	case evGone:
		if ev.revision == 0 || ev.revision > s.revision {
			s.endChanged(nil)
		}

	case evWatching:
		s.request, s.watching, s.attempt = false, true, 0
	case evWatchFailed:
		s.request, s.suspect = false, true
		s.fault(out, ev.err)
	case evWatchLost:
		s.watching, s.suspect = false, true
		s.fault(out, ev.err)

	case evJoined:
		s.request, s.attempt = false, 0
		s.attached, s.joined, s.gone, s.suspect = true, true, false, false
		s.have, s.haveOf, s.created = ev.filters, ev.partitions, ev.created
		out.do(actTell{tellAssigned{s.haveOf}})
		if ev.differs != nil {
			out.do(actReport{ev.differs})
		}
	case evJoinFailed:
		s.request = false
		s.learnJoinFailed(ev, out)
	case evReleased:
		s.request = false
		if ev.err != nil {
			// Try again until it is gone: creating another one with it in place
			// can not succeed.
			if s.ending == nil {
				s.fault(out, ev.err)
				s.suspect = true
				return
			}
			out.do(actReport{ev.err})
		}
		s.leave(out)
	case evLooked:
		s.request = false
		s.learnLooked(ev, out)
	case evUnpinned:
		s.request = false
		if ev.err != nil {
			out.do(actReport{ev.err})
		}

	case evPullTrouble:
		s.suspect = true
		out.do(actReport{ev.err})
	case evPullEnded:
		if s.pull == pullOn { // the client gave up; drain what it left behind
			s.pull, s.suspect = pullStopping, true
			out.do(actDrain{unstarted: intakeDrop})
			out.do(actReport{ev.err})
		}
	case evNotice:
		out.do(actReport{ev.err})
	case evDrained:
		s.pull, s.busy = pullOff, ev.late
		if ev.late && s.ending != nil && s.ending.err == nil {
			s.ending.err = ErrHandlerTimeout
		}
	case evIdle:
		s.busy = false
	case evPinned:
		out.do(actTell{tellPinned{ev.pin}})

	case evTimer:
		s.timer = false
	case evStop:
		s.end(ending{unstarted: intakeGiveBack, unpin: true})
	case evHandlerFailed:
		s.end(ending{err: because(ErrHandler, ev.err, "the message stays unacknowledged; mend the handler and join again"),
			unstarted: intakeGiveBack, unpin: true})
	case evConnClosed:
		s.end(ending{err: because(ErrConnectionClosed, nil, "join again with a new connection"), unstarted: intakeDrop, bare: true})
	}
}

func (s *state) learnConfig(ev evConfig) {
	if s.known && ev.revision <= s.revision {
		return // the watch repeats what was read, or is behind it
	}
	if s.known && ev.view.shape != s.shape {
		s.endChanged(because(ErrGroupConfigChanged, nil, "join again to consume by the new configuration"))
		return
	}
	if !s.known && s.fl.mustBeMember && !ev.view.member {
		s.end(ending{err: because(ErrMemberNotInGroup, nil, "use one of the group's members, or create the group anew with this one")})
		return
	}
	s.known, s.shape, s.revision = true, ev.view.shape, ev.revision
	s.want, s.parts = ev.view.filters, ev.view.partitions
	// What was waited for may have come with it.
	s.attempt, s.timer = 0, false
}

// endChanged ends the session because the group is gone or is another one. A
// static member takes its durable with it, as nothing else would.
func (s *state) endChanged(err error) {
	s.end(ending{err: err, unstarted: intakeDrop, release: s.fl.deletesConsumer})
}

func (s *state) learnJoinFailed(ev evJoinFailed, out *plan) {
	switch {
	case s.ending != nil:
	case ev.why == joinNotUnique, ev.why == joinOccupied:
		if s.attempt%handoverPatience == handoverPatience-1 {
			out.do(actReport{ev.err}) // normal for a moment, but this takes long
		}
		s.retry(out, handoverFirst, handoverMost)
	case ev.why == joinRefused, s.fl.mustBeMember && !s.joined:
		// A static member's first join tells the caller; see StaticConsume.
		s.end(ending{err: ev.err})
	default:
		s.fault(out, ev.err)
		s.suspect = true
	}
}

func (s *state) learnLooked(ev evLooked, out *plan) {
	switch {
	case ev.err != nil:
		s.fault(out, ev.err)
	case ev.config == bucketGone:
		s.end(ending{err: because(ErrBucketDeleted, nil, "restore it or create the group again, then join again"), unstarted: intakeGiveBack, unpin: true})
	case ev.config == entryGone:
		s.endChanged(nil)
	case s.attached && !ev.consumer && !s.fl.recreates:
		s.end(ending{err: because(ErrConsumerDeleted, errNoConsumer, "join again to start over by your consumer configuration"), unstarted: intakeDrop})
	case s.attached && (!ev.consumer || !ev.created.Equal(s.created)) && s.fl.recreates:
		s.gone, s.suspect = true, false
	default:
		s.suspect = false
	}
}

// fault is an error that is absorbed: it is told, and what failed is tried again
// after a while.
func (s *state) fault(out *plan, err error) {
	out.do(actReport{err})
	if !s.timer && s.ending == nil {
		s.retry(out, faultFirst, faultMost)
	}
}
