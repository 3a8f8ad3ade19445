package pcgroups

import (
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// With more than one message in flight the server delivers on while an earlier
// message of a partition is being handled, was given back or was left
// unacknowledged. What may start when is kept here. It is pure: no clock,
// goroutine or connection, and not safe for concurrent use; dispatch.go guards it
// and carries out what it says. Times are Unix nanoseconds.
//
// The rule is one: of a partition only the lowest sequence that is not settled
// may run, and only once.

// backlog is what the consumer has delivered to this instance and is not settled.
type backlog struct {
	most       int    // how many partitions may run at once
	maxDeliver uint64 // 0: no limit

	lanes   map[int]*lane
	ready   []*lane // whose next message may start, longest waiting first
	line    []*lane // what ready is a part of; only its capacity counts
	running int
	size    int // messages not settled
	bodies  int // of them, those that were not started and can be

	redelivered int // how many came that another instance may be at; see doubtful

	// fenced: another instance may still have messages in flight, so none starts.
	fenced bool
	// paused: the pull is about to end, so none starts before all that it brings is
	// here.
	paused bool
	// closing: it has ended. What is left was given out for the last time, and nobody
	// else will get it.
	closing bool
	// passing: what is left no longer waits for earlier messages that others have.
	passing bool
}

func newBacklog(most int, maxDeliver int, marks map[int]uint64) *backlog {
	b := &backlog{most: most, lanes: make(map[int]*lane), fenced: true}
	if maxDeliver > 0 {
		b.maxDeliver = uint64(maxDeliver)
	}
	for p, seq := range marks {
		b.lane(p).mark = seq
	}
	return b
}

func (b *backlog) lane(partition int) *lane {
	l := b.lanes[partition]
	if l == nil {
		l = &lane{partition: partition}
		b.lanes[partition] = l
	}
	return l
}

// last tells whether the server gives a message out no more.
func (b *backlog) last(w *waiting) bool { return b.maxDeliver > 0 && w.deliveries >= b.maxDeliver }

// arrive takes a delivery in. It is false for a message that was acknowledged:
// the acknowledgement was lost and is to be sent again. Without a body the
// message is only known to be there.
func (b *backlog) arrive(partition int, seq, deliveries uint64, body jetstream.Msg, until int64) bool {
	l := b.lane(partition)
	i, found := l.find(seq)
	if !found {
		if seq <= l.mark && !l.blind {
			_, given := l.gaveUp[seq]
			switch {
			case given:
				delete(l.gaveUp, seq)
				l.blind = true
			case deliveries > 1:
				return false
			default:
				for _, l := range b.lanes { // the consumer starts over
					l.mark, l.gaveUp = 0, nil
				}
			}
		}
		l.blind = l.blind || slices.ContainsFunc(l.queue[i:], func(w waiting) bool { return w.hand != nil })
		l.uncleared(seq)
		l.insert(i, seq)
		b.size++
	}
	w := &l.queue[i]
	b.count(w, -1)
	w.deliveries, w.body, w.until = deliveries, body, until
	w.foreign = w.foreign || w.away
	w.naked, w.asked, w.doubts, w.away = 0, 0, 0, false
	if deliveries > 1 && (w.hand == nil || w.foreign) {
		b.redelivered++
	}
	b.count(w, +1)
	b.offer(l)
	return true
}

func (b *backlog) count(w *waiting, n int) {
	if w.body != nil {
		b.bodies += n
	}
}

// next is the index of the message of a lane that may start, or -1.
func (b *backlog) next(l *lane) int {
	if l.busy || len(l.queue) == 0 {
		return -1
	}
	if l.queue[0].body != nil {
		return 0
	}
	if !b.passing || b.last(&l.queue[0]) {
		return -1 // it is running elsewhere, comes again, or will be given up
	}
	// It comes again, but not here. Those behind it that are left would never come
	// again at all.
	return slices.IndexFunc(l.queue, func(w waiting) bool { return w.body != nil })
}

// offer puts a lane in the line of those that may run.
func (b *backlog) offer(l *lane) {
	if !l.queued && b.next(l) >= 0 {
		l.queued = true
		b.line, b.ready = grow(b.line, b.ready)
		b.ready = append(b.ready, l)
	}
}

// may tells whether start would find something, most likely.
func (b *backlog) may() bool { return !b.paused && b.running < b.most && b.turn() >= 0 }

// turn is the index in ready of the lane whose turn it is, or -1.
func (b *backlog) turn() int {
	if !b.fenced {
		return min(len(b.ready), 1) - 1
	}
	return slices.IndexFunc(b.ready, b.cleared)
}

// start takes the next message to run; body is nil if there is none. One whose time
// is up is not started, as another instance may have it by now, unless nobody else
// gets it. w is to be used before anything else is done to the backlog.
func (b *backlog) start(now int64) (l *lane, w *waiting, body jetstream.Msg) {
	for b.may() {
		turn := b.turn()
		l = b.ready[turn]
		if turn == 0 {
			b.ready = b.ready[1:] // lanes stay anyway, and clearing it would take its time
		} else {
			b.ready = slices.Delete(b.ready, turn, turn+1)
		}
		l.queued = false
		i := b.next(l)
		if i < 0 {
			continue
		}
		w = &l.queue[i]
		body, w.body = w.body, nil
		b.bodies--
		if w.until <= now && !b.last(w) {
			l.uncleared(w.seq)
			b.offer(l)
			continue
		}
		w.running, l.busy = true, true
		b.running++
		return l, w, body
	}
	return nil, nil, nil
}

// holder is the newest delivery of a message that was started.
func (b *backlog) holder(partition int, seq uint64) hand {
	l := b.lane(partition)
	if i, found := l.find(seq); found {
		return l.queue[i].hand
	}
	return nil
}

// finish takes note that the handler of a message has returned.
func (b *backlog) finish(l *lane, seq uint64, settled bool) {
	b.running--
	l.busy = false
	if i, found := l.find(seq); found {
		l.queue[i].running = false
		if settled {
			b.remove(l, i, true)
		}
	}
	b.offer(l)
}

// settle takes note that a message whose handler has returned was acknowledged
// or terminated.
func (b *backlog) settle(partition int, seq uint64) {
	l := b.lane(partition)
	if i, found := l.find(seq); found && !l.queue[i].running {
		b.remove(l, i, true)
		b.offer(l)
	}
}

// remove drops a message that is settled: by its acknowledgement, or given up.
func (b *backlog) remove(l *lane, i int, acked bool) {
	w := &l.queue[i]
	b.count(w, -1)
	b.size--
	l.mark = max(l.mark, w.seq)
	l.blind = l.blind || i > 0 || len(l.gaveUp) > 1000 || b.closing // earlier ones may have been given back
	if !acked {
		if l.gaveUp == nil {
			l.gaveUp = make(map[uint64]struct{})
		}
		l.gaveUp[w.seq] = struct{}{}
	}
	if i == 0 {
		w.body, w.hand = nil, nil
		if l.queue = l.queue[1:]; len(l.queue) == 0 && cap(l.array) > 64 {
			l.array, l.queue = nil, nil // a burst's, which need not stay
		}
		return
	}
	l.queue = slices.Delete(l.queue, i, i+1)
}

// marks are the highest acknowledged sequences, for the next pull of the same
// consumer.
func (b *backlog) marks() map[int]uint64 {
	m := make(map[int]uint64, len(b.lanes))
	for p, l := range b.lanes {
		if l.mark > 0 && !l.blind && len(l.gaveUp) == 0 {
			m[p] = l.mark
		}
	}
	return m
}
