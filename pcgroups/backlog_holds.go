package pcgroups

import (
	"math"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// The part of the backlog that deals with messages that are neither settled nor
// running: they hold their partition until they come again.

// nak takes note that a message was given back by its handler, to come again
// from then on. over tells that it will not, as it was its last delivery.
func (b *backlog) nak(partition int, seq uint64, from int64) (deliveries uint64, over bool) {
	l := b.lane(partition)
	i, found := l.find(seq)
	if !found || l.queue[i].running || l.queue[i].body != nil {
		return 0, false // it has come again already
	}
	w := &l.queue[i]
	w.naked = from
	deliveries, over = w.deliveries, b.last(w)
	if over {
		b.remove(l, i, false)
		b.offer(l)
	}
	return deliveries, over
}

// given is a message to be given back to the server.
type given struct {
	msg   jetstream.Msg
	until int64
}

// giveBack empties the backlog of what was not started, for other instances.
// What is at its last delivery stays, to be run, and so does what must run before
// it.
func (b *backlog) giveBack() []given {
	var out []given
	for _, l := range b.lanes {
		keep := -1
		for i := range l.queue {
			if w := &l.queue[i]; w.body != nil && b.last(w) {
				keep = i
			}
		}
		for i := len(l.queue) - 1; i > keep; i-- {
			w := &l.queue[i]
			switch {
			case w.body == nil && w.hand != nil:
				continue
			case w.running:
				w.body = nil // a copy of what runs
				b.bodies--
				continue
			case w.body != nil: // else there was no room for it, or its time was up
				out = append(out, given{w.body, w.until})
			}
			b.forget(l, i)
		}
	}
	// The lowest first, as they are to be delivered again in that order.
	slices.Reverse(out)
	return out
}

// drop forgets what was not started.
func (b *backlog) drop() {
	for _, l := range b.lanes {
		for i := len(l.queue) - 1; i >= 0; i-- {
			if w := &l.queue[i]; w.body != nil && !w.running {
				b.forget(l, i)
			}
		}
	}
}

// forget drops a message that is not ours any more.
func (b *backlog) forget(l *lane, i int) {
	b.count(&l.queue[i], -1)
	b.size--
	l.uncleared(l.queue[i].seq)
	l.blind = l.blind || l.busy && slices.ContainsFunc(l.queue[i:], func(w waiting) bool { return w.running })
	l.queue = slices.Delete(l.queue, i, i+1)
}

// pause starts nothing more before close.
func (b *backlog) pause() { b.paused = true }

// close lets what is left run, each message in its turn: an earlier one that was
// given back is to be settled by whoever has it now.
func (b *backlog) close() { b.paused, b.closing = false, true }

// pass lets what is left run although it is not its turn.
func (b *backlog) pass() {
	b.passing = true
	for _, l := range b.lanes {
		b.offer(l)
	}
}

// doubt counts how often in a row it looked as if the server had no use for the
// message any more.
func (b *backlog) doubt(partition int, seq uint64, doubtful bool) int32 {
	l := b.lane(partition)
	i, found := l.find(seq)
	switch {
	case !found:
		return 0
	case doubtful:
		l.queue[i].doubts++
	default:
		l.queue[i].doubts = 0
	}
	return l.queue[i].doubts
}

// holding is a message that came neither again nor was settled.
type holding struct {
	partition  int
	seq        uint64
	deliveries uint64
	given      bool // up: the server will not deliver it again
}

// due is when a message comes again at the earliest.
func (w *waiting) due() int64 {
	if w.naked != 0 {
		return w.naked
	}
	return w.ends()
}

// overdue are the messages that hold their partition although they should have
// come again by now, by a while of grace. Those that can not come again are taken
// out. Each of the others is told once in a while.
func (b *backlog) overdue(now, grace int64) []holding {
	var out []holding
	for _, l := range b.lanes {
		if l.busy || len(l.queue) == 0 || l.queue[0].body != nil {
			continue
		}
		w := &l.queue[0]
		h := holding{partition: l.partition, seq: w.seq, deliveries: w.deliveries}
		switch {
		case b.last(w) && (w.naked != 0 || w.ends() <= now):
			h.given = true
			b.remove(l, 0, false)
			b.offer(l)
		case max(w.due(), w.asked)+grace <= now:
			w.asked = now
		default:
			continue
		}
		out = append(out, h)
	}
	return out
}

// release lets a partition go on: the server has been seen not to wait for the
// message any more. It is false if that is not what holds it by now.
func (b *backlog) release(partition int, seq uint64) bool {
	l := b.lane(partition)
	if l.busy || len(l.queue) == 0 || l.queue[0].seq != seq || l.queue[0].body != nil {
		return false
	}
	b.remove(l, 0, false)
	b.offer(l)
	return true
}

// renewal is a message whose time is to be extended.
type renewal struct {
	partition int
	seq       uint64
	msg       jetstream.Msg
}

// renewals are the messages not started whose time ends before then.
func (b *backlog) renewals(now, before int64) []renewal {
	var out []renewal
	for _, l := range b.lanes {
		for i := range l.queue {
			if w := &l.queue[i]; w.body != nil && !w.running && w.until > now && w.until < before {
				out = append(out, renewal{l.partition, w.seq, w.body})
			}
		}
	}
	return out
}

// renew gives a message more time, if it is still the same delivery.
func (b *backlog) renew(r renewal, until int64) {
	l := b.lane(r.partition)
	if i, found := l.find(r.seq); found && l.queue[i].body == r.msg {
		l.queue[i].until = max(l.queue[i].until, until)
	}
}

// unsettled is the latest time until which the server waits for a message whose
// handler has returned; 0 if there is none.
func (b *backlog) unsettled() int64 {
	latest := int64(0)
	for _, l := range b.lanes {
		for i := range l.queue {
			if w := &l.queue[i]; w.body == nil && !w.running && w.naked == 0 {
				latest = max(latest, w.ends())
			}
		}
	}
	return latest
}

// left is the latest time until which a message that was not started may still
// be; 0 if there is none.
func (b *backlog) left() int64 {
	if b.bodies == 0 {
		return 0
	}
	latest := int64(math.MinInt64)
	for _, l := range b.lanes {
		for i := range l.queue {
			if w := &l.queue[i]; w.body != nil {
				latest = max(latest, w.until)
			}
		}
	}
	return latest
}

// stalled are the partitions that hold the rest up: so much is in flight that the
// server delivers no more, and all of it waits behind them.
func (b *backlog) stalled(limit int) []int {
	if limit <= 0 || b.size < limit || b.running > 0 || b.fenced || len(b.ready) > 0 {
		return nil
	}
	var out []int
	for p, l := range b.lanes {
		if len(l.queue) > 0 {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
