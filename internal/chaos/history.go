package chaos

import (
	"slices"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
)

// epoch is one life of a group.
type epoch struct {
	since time.Time
	check *checker.Checker
	keys  map[string]*keyHistory
	// stored are the sequences of the consumers' stream that were executed: what
	// that stream holds and never is, is lost by the group, and what it never
	// held is not.
	// The value is the sequence in the origin; 0 if there is no such.
	stored map[uint64]uint64
	// parts are the partitions, whose order is that of the consumers' stream.
	parts map[int]*keyHistory

	explained, unexplained int // duplicates
	sourcedTwice           int // duplicates that the server made: one message, two sequences
	early                  int // messages that the server gave out again without reason
}

type keyHistory struct {
	latest  uint64
	running []*execution
	runs    map[uint64][]*execution
}

// execution is one run of a handler for one message.
type execution struct {
	judge    *judge
	epoch    *epoch
	key      string
	seq      uint64
	stored   uint64 // sequence in the consumers' stream
	id       messageID
	times    uint64 // how often the server says it was delivered
	instance string
	member   string
	begun    time.Time
	finished time.Time // zero while it runs
	settled  bool
	early    bool // the server has given its message out again without reason
	note     string
	end      func(settled bool)

	partition *keyHistory // nil if it is not watched
}

// slow is the message that took longest from its acceptance until it was handled.
type slow struct {
	took      time.Duration
	published time.Time
	by        *execution
}

// manyAgain is how many duplicates are worth a line. One acknowledgement of a
// member can get lost at a time, or as many as it may have in flight.
const manyAgain = 20

// violation is something that must never be.
type violation struct {
	kind, group, key string
	seq              uint64 // of the message; 0: it is not about one
	at               time.Time
	text             string
	about            []messageID
}

func (e *epoch) key(name string) *keyHistory {
	k := e.keys[name]
	if k == nil {
		k = &keyHistory{runs: map[uint64][]*execution{}}
		e.keys[name] = k
	}
	return k
}

func (k *keyHistory) settled(seq uint64) bool {
	return slices.ContainsFunc(k.runs[seq], func(x *execution) bool { return x.settled })
}

// beginPartition holds the library to its word, which is about partitions: the
// keys of one are not handled at the same time either. What is about one key is
// reported by its checker.
func (j *judge) beginPartition(x *execution, partition int) {
	if j.mixed {
		return
	}
	p := x.epoch.parts[partition]
	if p == nil {
		p = &keyHistory{runs: map[uint64][]*execution{}}
		x.epoch.parts[partition] = p
	}
	j.endLate(p)
	for _, r := range p.running {
		if r.key != x.key {
			j.violate("partition", x.key, x.seq, "%d (stored %d) began at %s (delivery %d) while key %s %d (stored %d) of the same partition %d was running at %s since %s",
				x.seq, x.stored, x.instance, x.times, r.key, r.seq, r.stored, partition, r.instance, j.journal.offset(r.begun)).of(j, x.id, r.id)
		}
	}
	if p.latest > x.stored && !p.settled(x.stored) {
		if last := p.runs[p.latest][0]; last.key != x.key {
			j.violate("partition", x.key, x.seq, "%d (stored %d) began at %s (delivery %d) after key %s %d (stored %d) of the same partition %d had begun at %s, at %s",
				x.seq, x.stored, x.instance, x.times, last.key, last.seq, last.stored, partition, last.instance, j.journal.offset(last.begun)).of(j, x.id, last.id)
		}
	}
	p.latest = max(p.latest, x.stored)
	p.running = append(p.running, x)
	p.runs[x.stored] = append(p.runs[x.stored], x)
	x.partition = p
}

// finish ends an execution without settling it; mu is held.
func (x *execution) finish(note string) {
	if !x.finished.IsZero() {
		return
	}
	x.finished, x.note = time.Now(), note
	k := x.epoch.key(x.key)
	for _, h := range []*keyHistory{k, x.partition} {
		if h != nil {
			h.running = slices.DeleteFunc(h.running, func(r *execution) bool { return r == x })
		}
	}
	x.end(false)
}
