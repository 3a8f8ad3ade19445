package pcgroups

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// audited runs a ledger over arrivals, with an origin that has the group's messages
// listed in held, and prints what it found.
func audited(l *ledger, held []uint64, exact bool, arrivals []Arrival, last, place uint64) string {
	count := func(r SequenceRange) (in []uint64) {
		for _, seq := range held {
			if seq >= r.First && seq <= r.Last {
				in = append(in, seq)
			}
		}
		return in
	}
	closing := func(g gap, ok bool) {
		switch {
		case !ok:
		case g.unseen == 0 && !g.begins:
			for _, seq := range count(g.cut(l.within)) {
				l.missed(seq)
			}
		default:
			l.span(g, tally{n: uint64(len(count(g.SequenceRange))), exact: exact, known: true})
		}
	}
	for _, a := range arrivals {
		closing(l.arrive(a))
	}
	closing(l.end(last, place))
	out := fmt.Sprintf("missing %v", l.missing)
	for _, s := range l.spans {
		out += fmt.Sprintf(" span %d-%d %d of %d missing %d", s.First, s.Last, s.Arrived, s.Held, s.Missing())
	}
	if l.repeated > 0 {
		out += fmt.Sprintf(" repeated %d", l.repeated)
	}
	return out
}

func pairs(p ...uint64) (a []Arrival) {
	for i := 0; i < len(p); i += 2 {
		a = append(a, Arrival{Buffered: p[i], Origin: p[i+1]})
	}
	return a
}

func upTo(n uint64) (seqs []uint64) {
	for i := range n {
		seqs = append(seqs, i+1)
	}
	return seqs
}

// What is listed as missing is what users bring back by hand: one message too many
// is handled twice, one too few is lost.
func TestLedger(t *testing.T) {
	all := SequenceRange{1, 100}
	for name, c := range map[string]struct {
		within   SequenceRange
		held     []uint64
		gone     bool // some are not in the origin any more
		arrivals []Arrival
		last     uint64
		place    uint64
		want     string
	}{
		"nothing ever":                     {all, nil, false, nil, 0, 0, "missing []"},
		"all there":                        {all, upTo(3), false, pairs(1, 1, 2, 2, 3, 3), 3, 3, "missing []"},
		"all consumed":                     {all, upTo(9), false, nil, 9, 9, "missing []"},
		"one skipped":                      {all, upTo(4), false, pairs(1, 1, 2, 2, 3, 4), 3, 4, "missing [{3 3}]"},
		"several skipped":                  {all, upTo(9), false, pairs(1, 1, 2, 4, 3, 8), 4, 9, "missing [{2 3} {5 7}]"},
		"the first ones skipped":           {all, upTo(4), false, pairs(1, 3, 2, 4), 2, 4, "missing [{1 2}]"},
		"messages of others between":       {all, []uint64{1, 5, 9}, false, pairs(1, 1, 2, 9), 2, 9, "missing [{5 5}]"},
		"skipped, the rest consumed":       {all, upTo(9), false, nil, 7, 9, "missing [] span 1-9 7 of 9 missing 2"},
		"skipped among consumed ones":      {all, upTo(9), false, pairs(5, 6, 6, 7), 8, 9, "missing [] span 1-5 4 of 5 missing 1"},
		"consumed in the middle":           {all, upTo(9), false, pairs(1, 1, 2, 2, 6, 6), 9, 9, "missing []"},
		"gone from the origin":             {all, []uint64{4, 5, 6}, true, nil, 6, 6, "missing [] span 1-6 6 of 3 missing 0"},
		"gone, and more than arrived":      {all, upTo(9), true, nil, 7, 9, "missing [] span 1-9 7 of 9 missing 2"},
		"repeated":                         {all, upTo(4), false, pairs(1, 1, 2, 2, 3, 1, 4, 2, 5, 3, 6, 4), 6, 4, "missing [] repeated 2"},
		"repeated, unseen":                 {all, upTo(4), false, nil, 6, 4, "missing [] span 1-4 6 of 4 missing 0"},
		"skipped, then it came late":       {all, upTo(5), false, pairs(1, 1, 2, 4, 3, 2, 4, 3, 5, 4, 6, 5), 6, 5, "missing [] repeated 1"},
		"skipped, one of them came late":   {all, upTo(6), false, pairs(1, 1, 2, 5, 3, 3, 4, 6), 4, 6, "missing [{2 2} {4 4}]"},
		"the record is behind":             {all, upTo(4), false, pairs(1, 1, 2, 2, 3, 3, 4, 4), 4, 2, "missing []"},
		"the record is unknown":            {all, upTo(4), false, nil, 4, 0, "missing []"},
		"outside of the range":             {SequenceRange{5, 6}, upTo(9), false, pairs(1, 1, 2, 4, 3, 9), 3, 9, "missing [{5 6}]"},
		"a stretch that reaches out of it": {SequenceRange{5, 6}, upTo(9), false, nil, 7, 9, "missing [] span 1-9 7 of 9 missing 2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{within: c.within, most: 100}
			if got := audited(l, c.held, !c.gone, c.arrivals, c.last, c.place); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Whatever is skipped, consumed and repeated, nothing may be listed that arrived;
// and with all arrivals seen exactly what was skipped must be.
func TestLedgerAtRandom(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 60
		skipped, last := map[uint64]bool{}, uint64(0)
		var everything, visible []Arrival
		consumed := r.Float64()
		store := func(seq uint64) {
			last++
			a := Arrival{Buffered: last, Origin: seq}
			everything = append(everything, a)
			if r.Float64() >= consumed {
				visible = append(visible, a)
			}
		}
		for seq := uint64(1); seq <= n; seq++ {
			if seq < n && r.IntN(8) == 0 {
				skipped[seq] = true
				continue
			}
			store(seq)
			if r.IntN(20) == 0 { // the place is lost: from here, again
				for again := seq - min(seq-1, r.Uint64N(5)); again <= seq; again++ {
					if !skipped[again] {
						store(again)
					}
				}
			}
		}
		for _, exact := range []bool{true, false} {
			l := &ledger{within: SequenceRange{1, n}, most: 1000}
			arrivals := visible
			if exact {
				arrivals = everything
			}
			audited(l, upTo(n), true, arrivals, last, n)
			var listed uint64
			for _, m := range l.missing {
				listed += m.Len()
				for seq := m.First; seq <= m.Last; seq++ {
					if !skipped[seq] {
						t.Fatalf("seed %d: %d is listed and arrived", seed, seq)
					}
				}
			}
			for _, s := range l.spans {
				listed += s.Missing()
			}
			if listed > uint64(len(skipped)) || exact && (listed != uint64(len(skipped)) || len(l.spans) > 0) {
				t.Fatalf("seed %d, all seen %v: %d of %d skipped ones found; spans %v", seed, exact, listed, len(skipped), l.spans)
			}
		}
	}
}

// A range list must stay ascending and disjoint when one in the middle is taken
// back, or the next search misses.
func TestStrike(t *testing.T) {
	l := &ledger{missing: []SequenceRange{{1, 3}, {7, 7}, {9, 12}}, repeated: 5}
	for _, seq := range []uint64{2, 7, 12, 8, 9} {
		l.strike(seq)
	}
	if want := []SequenceRange{{1, 1}, {3, 3}, {10, 11}}; !slices.Equal(l.missing, want) || l.repeated != 1 {
		t.Errorf("got %v, repeated %d", l.missing, l.repeated)
	}
}
