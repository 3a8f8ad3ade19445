package pcgroups

func (s *state) learnLooked(ev evLooked, out *plan) {
	switch {
	case ev.err != nil:
		s.fault(out, ev.err)
	case ev.config == bucketGone && !s.rejoin:
		s.end(ending{err: because(ErrBucketDeleted, nil, "restore it or create the group again, then join again"), unstarted: intakeGiveBack, unpin: true})
	case ev.config == bucketGone:
		s.groupChanged(because(ErrBucketDeleted, nil, ""), out)
		s.revision, s.watching, s.suspect = 0, false, false // a new bucket counts from 1
		if !s.timer {
			s.retry(out, faultFirst, faultMost)
		}
	case ev.config == entryGone && s.known && s.missing == 0:
		// A replica may not have it yet. A new watch, and another look, tell.
		s.missing, s.suspect, s.watching, s.revision = 1, false, false, 0
		if !s.timer {
			s.retry(out, faultFirst, faultFirst)
		}
	case ev.config == entryGone:
		s.groupChanged(nil, out)
		s.suspect = false
	case s.attached && ev.consumer && ev.unfit && !s.fl.recreates:
		s.end(ending{err: because(ErrConsumerDeleted, errUnfit, "delete it, or give it back its priority group and policy, then join again"), unstarted: intakeDrop})
	case s.attached && ev.consumer && ev.unfit:
		s.stale, s.suspect = true, false
		out.do(actReport{because(ErrConsumerDeleted, errUnfit, "it is created again")})
	case s.attached && !ev.consumer && !s.fl.recreates && !s.rejoin:
		s.end(ending{err: because(ErrConsumerDeleted, errNoConsumer, "join again to start over by your consumer configuration"), unstarted: intakeDrop})
	case s.attached && !ev.consumer && !s.fl.recreates:
		out.do(actReport{because(ErrConsumerDeleted, errNoConsumer, "it is created again by your consumer configuration")})
		s.gone, s.suspect = true, false
	case s.attached && (!ev.consumer || !ev.created.Equal(s.created)) && s.fl.recreates:
		s.gone, s.suspect = true, false
		if !s.timer {
			s.retry(out, replacement, replacement)
		}
	default:
		s.suspect = false
		if ev.consumer {
			s.adjust = s.adjust || ev.raised && !s.unmended
			s.learnTiming(ev.timing)
		}
	}
	if ev.err == nil && ev.config == entryThere {
		s.missing = 0
		s.learnRevision(ev.revision, out)
	}
}

// learnRevision compares what a look has found with what the watch has told. Either
// may just have been faster than the other. If they still differ a moment later the
// watch has missed something and may be dead, or this is the entry of another
// bucket: watch anew.
func (s *state) learnRevision(revision uint64, out *plan) {
	switch {
	case s.known && revision == s.revision:
		s.behind = false
	case s.known && s.watching && !s.behind:
		s.behind, s.suspect = true, true
		if !s.timer {
			s.retry(out, faultFirst, faultFirst)
		}
	default:
		s.behind, s.revision, s.watching = false, 0, false
	}
}
