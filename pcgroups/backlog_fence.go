package pcgroups

// The part of the backlog that deals with other instances of the member, which
// may have messages in flight.

// fence stops the starting of messages until unfence finds that no other
// instance has any.
func (b *backlog) fence() { b.fenced = true }

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

// heads are the messages that only the fence keeps from starting.
func (b *backlog) heads() []holding {
	var out []holding
	for _, l := range b.ready {
		if i := b.next(l); i == 0 && !l.cleared {
			out = append(out, holding{partition: l.partition, seq: l.queue[0].seq})
		}
	}
	return out
}

// clear lets a message start in spite of the fence, as all before it in its
// partition are known to be settled.
func (b *backlog) clear(h holding) {
	l := b.lane(h.partition)
	l.cleared = len(l.queue) > 0 && l.queue[0].seq == h.seq
}
