package pcgroups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// What a session with automatic membership decides about its group. Like the
// state machine it is pure: facts in, decision out. automember_run.go looks and
// acts.

// longestPatience bounds what is computed with.
const longestPatience = 10 * 365 * 24 * time.Hour

// groupSight is what one look at a group has found.
type groupSight struct {
	at        time.Time
	revision  uint64              // of the configuration
	owners    map[string][]string // the filters of each member that has partitions
	member    bool                // this session's member is in the group
	consumers []consumerSight     // all on the group's stream
	consuming time.Time           // since when this session consumes without a break; zero: it does not
}

// consumerSight is a consumer. One without filters may have any.
type consumerSight struct {
	name    string
	filters []string
	ackWait time.Duration
}

// evictor decides from looks that follow each other which members are gone for
// good. It errs on the side of waiting: a member that is dropped by mistake comes
// back, but its partitions have moved twice then.
type evictor struct {
	self  string
	after time.Duration
	may   func(member string) bool

	seen     time.Time // the newest look
	revision uint64
	since    time.Time                // when that revision was seen first, without a gap since
	missing  map[string]time.Time     // since when nothing speaks against a member being gone
	waits    map[string]time.Duration // of the members' consumers, as seen last
}

// judgement is what follows from a look.
type judgement struct {
	evict []string      // the members to drop, if the revision is still that of the look
	held  string        // members are gone, but this speaks against dropping them
	next  time.Duration // until the next look
}

// every is how often to look at most, for what nobody tells: consumers that go.
func (e *evictor) every() time.Duration { return e.after / 4 }

// blind has what was seen before count no more: what happened since is not known.
func (e *evictor) blind() { e.seen = time.Time{} }

func (e *evictor) see(s groupSight) judgement {
	if s.revision != e.revision || e.seen.IsZero() || s.at.Sub(e.seen) > 2*e.every() {
		e.revision, e.since = s.revision, s.at
	}
	e.seen = s.at
	e.learnWaits(s)

	j := judgement{next: e.every()}
	absent, held := e.absent(s)
	if held != "" || len(absent) == 0 {
		e.missing, j.held = nil, held
		if held != "" {
			j.next /= 2 // the time counts from when nothing speaks against it
		}
		return j
	}
	missing := make(map[string]time.Time, len(absent))
	ripe := e.since
	for _, m := range absent {
		since, known := e.missing[m]
		if !known {
			since = s.at
		}
		missing[m] = since
		ripe = later(ripe, since)
	}
	e.missing = missing

	patience := e.patience()
	_, owns := s.owners[e.self]
	switch {
	case !s.consuming.IsZero():
		ripe = later(ripe, s.consuming)
	case s.member && !owns && len(absent) == len(s.owners):
		// Nobody consumes at all, so nobody else will ever do this. But we have
		// less to go by.
		patience *= 2
	default:
		return j
	}
	if wait := ripe.Add(patience).Sub(s.at); wait > 0 {
		j.next = min(j.next, max(wait, 10*time.Millisecond))
		return j
	}
	j.evict = absent
	return j
}

// absent returns the members that have partitions but no consumer, or what
// speaks against them being gone. All others must be where the configuration has
// them: during a hand-over a member has no consumer until another lets go.
func (e *evictor) absent(s groupSight) (absent []string, held string) {
	there := make(map[string]consumerSight, len(s.consumers))
	for _, c := range s.consumers {
		there[c.name] = c
	}
	moving := ""
	for _, m := range slices.Sorted(maps.Keys(s.owners)) {
		c, exists := there[m]
		if !exists {
			absent = append(absent, m)
		} else if moving == "" && !sameFilters(c.filters, s.owners[m]) {
			moving = m
		}
	}
	if len(absent) == 0 {
		return nil, ""
	}
	if moving != "" {
		return nil, fmt.Sprintf("member %q has not taken over its partitions yet", moving)
	}
	lost := make(map[string]bool)
	for _, m := range absent {
		if m == e.self {
			return nil, "this member has no consumer itself"
		}
		if !e.may(m) {
			return nil, fmt.Sprintf("member %q does not run either and may not be evicted", m)
		}
		for _, f := range s.owners[m] {
			lost[partitionToken(f)] = true
		}
	}
	for _, c := range s.consumers {
		if _, own := s.owners[c.name]; !own && holdsAny(c.filters, lost) {
			return nil, fmt.Sprintf("consumer %q still holds some of its partitions", c.name)
		}
	}
	return absent, ""
}

// holdsAny tells whether a consumer with these filters may hold one of the
// partitions.
func holdsAny(filters []string, partitions map[string]bool) bool {
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool {
		p := partitionToken(f)
		return p == ">" || p == "*" || partitions[p]
	})
}

func partitionToken(filter string) string {
	p, _, _ := strings.Cut(filter, ".")
	return p
}

// learnWaits keeps the ack wait of a member whose consumer is gone: its messages
// and handlers may take that long.
func (e *evictor) learnWaits(s groupSight) {
	if e.waits == nil {
		e.waits = make(map[string]time.Duration)
	}
	for _, c := range s.consumers {
		e.waits[c.name] = c.ackWait
	}
	maps.DeleteFunc(e.waits, func(m string, _ time.Duration) bool { _, owns := s.owners[m]; return !owns })
}

// patience is how long everything must have been as it is.
func (e *evictor) patience() time.Duration {
	p := min(e.after, longestPatience)
	for _, w := range e.waits {
		p = max(p, 3*min(w, longestPatience))
	}
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// comeback decides when a session adds its member again that someone has
// dropped: the first time at once, then after evictAfter and twice as long each
// time, so that two who disagree do not move the partitions all the time.
type comeback struct {
	after time.Duration
	drops int       // one soon after the other
	back  time.Time // when it was seen in the group again
	due   time.Time // when to add it; zero: it is in the group
}

const (
	comebackDoublings = 3  // 8 times evictAfter at most
	comebackCalm      = 16 // times evictAfter in the group, and the drops are forgotten
)

func (c *comeback) see(now time.Time, member bool) {
	after := min(c.after, longestPatience)
	switch {
	case member && !c.due.IsZero():
		c.back, c.due = now, time.Time{}
	case !member && c.due.IsZero():
		if now.Sub(c.back) >= comebackCalm*after {
			c.drops = 0
		}
		c.due = now
		if c.drops > 0 {
			c.due = now.Add(after << min(c.drops-1, comebackDoublings))
		}
		c.drops++
	}
}

// failed puts off an attempt that went wrong.
func (c *comeback) failed(now time.Time) {
	c.due = now.Add(min(c.after, longestPatience))
}
