package pcgroups

import (
	"slices"
)

// SequenceRange is a stretch of sequences, both ends included. First 0 is none.
type SequenceRange struct{ First, Last uint64 }

// Len is how many sequences the stretch has.
func (r SequenceRange) Len() uint64 {
	if r.First == 0 || r.Last < r.First {
		return 0
	}
	return r.Last - r.First + 1
}

// cut is the part of a stretch inside another.
func (r SequenceRange) cut(within SequenceRange) SequenceRange {
	c := SequenceRange{max(r.First, within.First), min(r.Last, within.Last)}
	if c.Len() == 0 {
		return SequenceRange{}
	}
	return c
}

// AuditSpan is a stretch of the origin of which only numbers can be compared,
// because what arrived of it has left the work-queue stream.
type AuditSpan struct {
	SequenceRange
	Held    uint64 // messages of the group that the origin has there, if Counted
	Arrived uint64 // messages that arrived from there, repeated ones included
	Counted bool   // the origin could be counted
}

// Missing is how many messages of the span never arrived, at least.
func (s AuditSpan) Missing() uint64 {
	if !s.Counted || s.Held <= s.Arrived {
		return 0
	}
	return s.Held - s.Arrived
}

// ledger is what an audit has found so far. It goes through the arrivals in the
// order in which the work-queue stream stored them, and asks nobody.
//
// Messages are stored in the order of the origin, but for those that come again.
// So all that arrived between two arrivals that the ledger sees was stored under
// the sequences of the work-queue stream in between: if there is none, nothing did.
type ledger struct {
	within SequenceRange // of the origin
	most   int           // how many ranges and spans to keep

	last    uint64 // sequence in the work-queue stream of the newest arrival
	high    uint64 // highest origin sequence among the arrivals
	unseen  uint64 // stored since high, but not seen
	unknown bool   // where the ledger begins in the origin is not known

	missing  []SequenceRange // ascending
	spans    []AuditSpan
	repeated uint64
}

// gap is the stretch of the origin between two arrivals.
type gap struct {
	SequenceRange
	unseen uint64 // how many were stored meanwhile
	begins bool   // it begins where nothing is known of what was before
}

// arrive enters an arrival and returns the gap before it, to be closed by missed or
// span before the next one is entered. ok is false if there is none to look at.
func (l *ledger) arrive(a Arrival) (g gap, ok bool) {
	if a.Buffered > l.last {
		l.unseen += a.Buffered - l.last - 1
		l.last = a.Buffered
	}
	if a.Origin <= l.high {
		l.repeated++
		l.strike(a.Origin)
		return gap{}, false
	}
	g = l.gap(l.high+1, a.Origin-1)
	l.high, l.unseen, l.unknown = a.Origin, 0, false
	return g, l.looksAt(g)
}

// end enters that the newest message stored has the first sequence, and that the
// newest one that came from the origin has the second.
func (l *ledger) end(last, origin uint64) (g gap, ok bool) {
	if last > l.last {
		l.unseen += last - l.last
		l.last = last
	}
	if origin <= l.high {
		return gap{}, false
	}
	g = l.gap(l.high+1, origin)
	l.high, l.unseen, l.unknown = origin, 0, false
	return g, l.looksAt(g)
}

func (l *ledger) gap(first, last uint64) gap {
	return gap{SequenceRange: SequenceRange{first, last}, unseen: l.unseen, begins: l.unknown}
}

// looksAt tells whether a gap is inside what is audited.
func (l *ledger) looksAt(g gap) bool { return g.cut(l.within).Len() > 0 }

// full tells whether no more can be kept.
func (l *ledger) full() bool { return len(l.missing)+len(l.spans) >= l.most }

// missed enters a message of the group that did not arrive.
func (l *ledger) missed(seq uint64) {
	if n := len(l.missing); n > 0 && l.missing[n-1].Last+1 == seq {
		l.missing[n-1].Last = seq
		return
	}
	l.missing = append(l.missing, SequenceRange{seq, seq})
}

// span enters the numbers of a gap.
func (l *ledger) span(g gap, t tally) {
	s := AuditSpan{SequenceRange: g.SequenceRange, Held: t.n, Arrived: g.unseen, Counted: t.known && !g.begins}
	if s.Counted && t.exact && t.n == g.unseen {
		return // all arrived
	}
	if t.known && t.n == 0 && s.Counted && t.exact {
		return // what arrived meanwhile came again
	}
	l.spans = append(l.spans, s)
}

// strike takes back that a message did not arrive: it came later, out of order.
func (l *ledger) strike(seq uint64) {
	i, found := slices.BinarySearchFunc(l.missing, seq, func(r SequenceRange, seq uint64) int {
		switch {
		case r.Last < seq:
			return -1
		case r.First > seq:
			return 1
		}
		return 0
	})
	if !found {
		return
	}
	r := l.missing[i]
	l.repeated-- // it is a first arrival
	var rest []SequenceRange
	if r.First < seq {
		rest = append(rest, SequenceRange{r.First, seq - 1})
	}
	if r.Last > seq {
		rest = append(rest, SequenceRange{seq + 1, r.Last})
	}
	l.missing = slices.Replace(l.missing, i, i+1, rest...)
}
