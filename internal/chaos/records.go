package chaos

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// messageID is a message of a consumers' stream. Streams are replaced and begin
// anew; when a message was stored tells those of one life from another's.
type messageID struct {
	stream string
	seq    uint64
	stored int64 // Unix nanoseconds
}

// record is something that an instance got or said about a message.
type record struct {
	at         time.Time
	what       string
	instance   string
	consumer   string
	deliveries uint64
}

// What is recorded.
const (
	got          = "delivered"
	acknowledged = "acknowledged"
	givenBack    = "given back"
	terminated   = "terminated"
	moreTime     = "more time"
)

// said is what an acknowledgement says (ADR-15); nothing at all is one, too.
func said(body []byte) string {
	for prefix, what := range map[string]string{"-NAK": givenBack, "+TERM": terminated, "+WPI": moreTime} {
		if bytes.HasPrefix(body, []byte(prefix)) {
			return what
		}
	}
	return acknowledged
}

const (
	// remembered is how long a message is remembered after the last that was
	// heard of it: longer than any ack deadline and stall of a run.
	remembered = 60 * time.Second
	// Bounds, which no run should reach: of records in all, of those of one
	// message, and of messages kept for good.
	mostRecords = 500_000
	mostOfOne   = 400
	mostKept    = 200
)

// records are what all instances got and said lately, message by message. They
// are taken from the instances' own connections (see tap), so what is not in them
// was not said, unless lost tells of some that were left out.
type records struct {
	mu    sync.Mutex
	of    map[messageID][]record
	heard []heard // in order, to forget by
	first int     // of heard that was not forgotten
	kept  map[messageID]bool
	lost  int
}

type heard struct {
	id messageID
	at time.Time
}

func newRecords() *records {
	return &records{of: map[messageID][]record{}, kept: map[messageID]bool{}}
}

func (r *records) add(id messageID, e record) {
	e.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(e.at)
	if len(r.of[id]) >= mostOfOne || len(r.heard)-r.first >= mostRecords {
		r.lost++
		return
	}
	r.of[id] = append(r.of[id], e)
	r.heard = append(r.heard, heard{id, e.at})
}

// forget drops messages that nothing was heard of for long; mu is held.
func (r *records) forget(now time.Time) {
	for r.first < len(r.heard) && now.Sub(r.heard[r.first].at) > remembered {
		id := r.heard[r.first].id
		r.first++
		if all := r.of[id]; len(all) > 0 && now.Sub(all[len(all)-1].at) > remembered && !r.kept[id] {
			delete(r.of, id)
		}
	}
	if r.first > len(r.heard)/2 {
		r.heard = append([]heard(nil), r.heard[r.first:]...)
		r.first = 0
	}
}

// keep has a message remembered for good, for a timeline at the end.
func (r *records) keep(id messageID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < mostKept {
		r.kept[id] = true
	}
}

// about is what is known of a message, in order.
func (r *records) about(id messageID) []record {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]record(nil), r.of[id]...)
}

// lines are what is known of messages, as the timeline shows it.
func (r *records) lines(j *journal, ids ...messageID) []string {
	var lines []string
	for _, id := range ids {
		for _, e := range r.about(id) {
			lines = append(lines, fmt.Sprintf("%9.3fs  %-16s stored %d, delivery %d, by %s (in the stream since %s)", e.at.Sub(j.began).Seconds(), e.what,
				id.seq, e.deliveries, e.instance, j.offset(time.Unix(0, id.stored))))
		}
	}
	return lines
}

// missing tells how many records were left out for want of room.
func (r *records) missing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}
