package pcgroups

// still tells whether two looks in a row show the same, so that nothing is on its
// way, and the books can be balanced: between two such moments as many messages
// must have arrived as the group has in the origin. It returns the stretch of the
// origin to count and how many arrived, if it is worth a count.
func (s *sourceState) still(before, now sourceSight) (from, to, arrived uint64, ok bool) {
	if !before.answered || !now.answered || now.seq == 0 || before.leader != now.leader || before.seq != now.seq || before.last != now.last {
		return 0, 0, 0, false
	}
	seq, last, had, moved := s.pairSeq, s.pairLast, s.settled, s.leaderMoved
	if had && now.seq <= seq {
		return 0, 0, 0, false // nothing new, or not yet again where it was
	}
	s.pairSeq, s.pairLast, s.settled, s.leaderMoved = now.seq, now.last, true, false
	if !had || now.last < last {
		return 0, 0, 0, false
	}
	arrived = now.last - last
	if s.whole && arrived == now.seq-seq || !s.whole && !moved {
		return 0, 0, 0, false
	}
	return seq + 1, now.seq, arrived, true
}

// balance is what a count of the group's messages in the origin says about a
// stretch of it. exact means that the origin still has all it ever had there.
func (s *sourceState) balance(from, to, arrived, counted uint64, exact bool) (SourceSkip, bool) {
	skip := SourceSkip{First: from, Last: to}
	switch span := to - from + 1; {
	case counted > arrived:
		skip.Kind, skip.Messages = SourceMissing, counted-arrived
	case counted < arrived && exact || arrived > span:
		skip.Kind, skip.Messages = SourceRepeated, arrived-min(counted, span)
		if !exact {
			skip.Messages = arrived - span
		}
	case s.whole && span > arrived && from > s.expiredUntil:
		// They had been in the origin, as it had that sequence.
		skip.Kind, skip.Messages = SourceExpired, span-arrived
	default:
		return SourceSkip{}, false
	}
	return skip, true
}
