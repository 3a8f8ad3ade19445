package pcgroups

// The part of the backlog that deals with other instances of the member, which
// may have messages in flight.

// fence stops the starting of messages until unfence finds that no other
// instance has any.
func (b *backlog) fence() {
	b.fenced = true
	for _, l := range b.lanes {
		l.cleared = 0
	}
}

// unpinned takes note that the next delivery of what was started is another
// instance's.
func (b *backlog) unpinned() {
	for _, l := range b.lanes {
		for i := range l.queue {
			if w := &l.queue[i]; w.body == nil {
				w.away = true
			}
		}
	}
}

// lift takes the fence away without knowing what is in flight elsewhere, so that
// the marks say nothing any more.
func (b *backlog) lift() {
	b.fenced = false
	for _, l := range b.lanes {
		l.blind = true
	}
}

// unfence is told how many messages the consumer has in flight, and up to which
// sequence it has delivered. All that are in flight were delivered up to there,
// and so were those of ours that count. If ours are as many they are all.
func (b *backlog) unfence(now int64, inFlight int, delivered uint64) bool {
	ours := b.inFlight(now, delivered, holding{})
	if ours < inFlight {
		return false
	}
	b.fenced = false
	return true
}

// inFlight counts the messages up to a sequence that the server surely waits for
// on our behalf, and one more, if it is here.
func (b *backlog) inFlight(now int64, upTo uint64, and holding) int {
	n := 0
	for _, l := range b.lanes {
		for i := range l.queue {
			w := &l.queue[i]
			if w.seq > upTo {
				break
			}
			if b.sure(w, now) || w.seq == and.seq && l.partition == and.partition {
				n++
			}
		}
	}
	return n
}

// sure tells whether the server waits for a message on our behalf.
func (b *backlog) sure(w *waiting, now int64) bool {
	switch {
	case b.maxDeliver > 0 && (w.ends() <= now || b.last(w) && w.until <= now):
		return false // it may have given it up, after deliveries that were lost on their way
	case w.running:
		return !w.hand.leaving() // else it may be in flight no more
	case w.body != nil:
		return w.until > now // else it may be another's by now
	}
	return !w.away && (w.hand == nil || !w.hand.leaving() || w.naked != 0)
}

// candidate is a message that only the fence keeps from starting, and the one of its
// partition that is to be settled before it; 0: all others are.
type candidate struct {
	partition  int
	after, seq uint64
}

// candidates are those messages: the first of each partition and then what is behind
// them, at most as many as that. turn is whose is the first of all.
func (b *backlog) candidates(most, turn int) []candidate {
	var lanes []*lane
	for i := range b.ready {
		if l := b.ready[(i+turn)%len(b.ready)]; b.next(l) == 0 && !b.cleared(l) {
			lanes = append(lanes, l)
		}
	}
	var out []candidate
	for depth, more := 0, true; more; depth++ {
		more = false
		for _, l := range lanes {
			if len(out) == most {
				return out
			}
			if depth >= len(l.queue) || l.queue[depth].body == nil || depth > 0 && l.cleared == 0 {
				continue
			}
			at := candidate{partition: l.partition, seq: l.queue[depth].seq}
			if depth > 0 {
				if l.queue[depth-1].body == nil {
					continue
				}
				at.after = l.queue[depth-1].seq
			}
			out, more = append(out, at), true
		}
	}
	return out
}

// clear lets a message start in spite of the fence, as all before it in its
// partition are known to be settled, up to the one that it comes after.
func (b *backlog) clear(p candidate) (ok bool) {
	l := b.lane(p.partition)
	if p.after == 0 {
		ok = len(l.queue) > 0 && l.queue[0].seq == p.seq
	} else {
		ok = l.cleared == p.after
	}
	if ok {
		l.cleared = p.seq
	}
	return ok
}

// cleared tells whether a lane's next message may start in spite of the fence.
func (b *backlog) cleared(l *lane) bool {
	i := b.next(l)
	return i >= 0 && l.queue[i].seq <= l.cleared
}

// uncleared takes that back for a message and those behind it.
func (l *lane) uncleared(seq uint64) { l.cleared = min(l.cleared, seq-1) }
