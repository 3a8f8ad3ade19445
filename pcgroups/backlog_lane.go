package pcgroups

import (
	"slices"
	"sort"

	"github.com/nats-io/nats.go/jetstream"
)

// lane is one partition.
type lane struct {
	partition int
	queue     []waiting           // by sequence, ascending
	array     []waiting           // what queue is a part of; only its capacity counts
	mark      uint64              // the highest sequence that was acknowledged or terminated
	gaveUp    map[uint64]struct{} // up to mark, but not acknowledged
	blind     bool                // mark says nothing: something ran before its turn
	busy      bool                // its first message runs
	queued    bool                // it is in ready
	cleared   uint64              // up to there messages may start in spite of the fence
}

// waiting is a message that is not settled.
type waiting struct {
	seq        uint64
	deliveries uint64
	body       jetstream.Msg // nil: was started, or there was no room for it
	hand       hand          // whose handler was started
	until      int64         // the server waits for it that long at least
	naked      int64         // it was given back, to come again from then on
	asked      int64         // when the server was last asked about it
	doubts     int32
	running    bool
	away       bool // it was in hand when the pin was lost: the next delivery is another's
	foreign    bool // another may have had it since it was in hand here
}

// hand is a delivery whose handler was started.
type hand interface {
	// leaving tells that it was settled, or is just being.
	leaving() bool
	// ends is its ack deadline, which its handler may have extended.
	ends() int64
}

// take tells who has a message that was started.
func (w *waiting) take(h hand) { w.hand, w.foreign = h, false }

// ends is until when the server waits for a message at least.
func (w *waiting) ends() int64 {
	if w.hand == nil {
		return w.until
	}
	return max(w.until, w.hand.ends())
}

// find is where a sequence stands in the queue, or belongs.
func (l *lane) find(seq uint64) (int, bool) {
	n := len(l.queue)
	if n == 0 || l.queue[n-1].seq < seq {
		return n, false // the usual case of one that comes
	}
	if l.queue[0].seq >= seq {
		return 0, l.queue[0].seq == seq // and of one that is settled
	}
	i := sort.Search(n, func(i int) bool { return l.queue[i].seq >= seq })
	return i, l.queue[i].seq == seq
}

// insert puts a message where it stands in the queue.
func (l *lane) insert(i int, seq uint64) {
	l.array, l.queue = grow(l.array, l.queue)
	if i == len(l.queue) {
		l.queue = append(l.queue, waiting{seq: seq})
		return
	}
	l.queue = slices.Insert(l.queue, i, waiting{seq: seq})
}

// grow makes room at the end of a queue that is cut off at its beginning: in the
// array it is a part of, if more of that is free than in use.
func grow[T any](array, queue []T) (inArray, grown []T) {
	if len(queue) < cap(queue) {
		return array, queue
	}
	if n := len(queue); cap(array)-cap(queue) > n {
		array = array[:n]
		copy(array, queue)
		clear(queue)
		return array, array
	}
	queue = slices.Grow(queue, len(queue)+1) // twice as much and more, or it would not do the next time
	return queue, queue
}
