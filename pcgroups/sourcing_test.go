package pcgroups

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// look is a sight in a test's terms: seconds, and what is told by the servers.
func lookAt(second float64, change ...func(*sourceSight)) sourceSight {
	o := sourceSight{
		at: time.Unix(1000, 0).Add(time.Duration(second * float64(time.Second))), answered: true, leader: "A",
		active: 500 * time.Millisecond, seq: 100, last: 100,
		deep: true, originAlive: true, originLeader: "B", originFirst: 1, originLast: 100,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func quiet(o *sourceSight)      { o.active = -1 }
func waits(o *sourceSight)      { o.next, o.originLast = 101, 200 }
func shallow(o *sourceSight)    { o.deep, o.originAlive, o.next = false, false, 0 }
func full(o *sourceSight)       { o.full = true }
func orphaned(o *sourceSight)   { o.originAlive, o.next = false, 0 }
func leaderless(o *sourceSight) { *o = sourceSight{at: o.at, deep: o.deep} }

func silentFor(d time.Duration) func(*sourceSight) { return func(o *sourceSight) { o.active = d } }
func led(by string) func(*sourceSight)             { return func(o *sourceSight) { o.leader = by } }
func originLed(by string) func(*sourceSight)       { return func(o *sourceSight) { o.originLeader = by } }
func place(seq, last uint64) func(*sourceSight) {
	return func(o *sourceSight) { o.seq, o.last, o.originLast = seq, last, max(o.originLast, seq, last) }
}
func originFrom(first uint64) func(*sourceSight) {
	return func(o *sourceSight) { o.originFirst, o.originLast = first, max(o.originLast, first) }
}

// saw prints what a script of looks tells, with the second at which it does.
func saw(whole bool, looks ...sourceSight) []string {
	s := sourceState{whole: whole}
	var out []string
	for _, o := range looks {
		for _, news := range s.see(o) {
			at := o.at.Sub(time.Unix(1000, 0)).Seconds()
			switch n := news.(type) {
			case SourceStall:
				out = append(out, fmt.Sprintf("%g stalled since %g, %d then %d", at, n.Since.Sub(time.Unix(1000, 0)).Seconds(), n.Last, n.Next))
			case sourceRecovered:
				out = append(out, fmt.Sprintf("%g recovered after %g", at, n.after.Seconds()))
			case SourceSkip:
				out = append(out, fmt.Sprintf("%g %s %d-%d %d", at, n.Kind, n.First, n.Last, n.Messages))
			}
		}
	}
	return out
}

// Each rule has a script: a stall that is not told leaves users waiting for their
// messages with no idea why, and one that is told wrongly makes an operator move a
// leader, which can lose messages.
func TestStallRules(t *testing.T) {
	for name, c := range map[string]struct {
		looks []sourceSight
		want  []string
	}{
		"idle and healthy": {[]sourceSight{lookAt(0), lookAt(5), lookAt(10)}, nil},
		"a new leader that has not connected yet": {
			[]sourceSight{lookAt(0), lookAt(5, led("C"), quiet, waits), lookAt(6, led("C"), quiet, waits), lookAt(7, led("C"))}, nil,
		},
		"a stall, told once, and its end": {
			[]sourceSight{
				lookAt(0), lookAt(5, led("C"), quiet, shallow), lookAt(6, led("C"), quiet, waits), lookAt(7, led("C"), quiet, waits),
				lookAt(8, led("C"), quiet, waits), lookAt(46, led("C")), lookAt(51, led("C")),
			},
			[]string{"7 stalled since 5, 100 then 101", "46 recovered after 41"},
		},
		"silence after it has been heard": {
			[]sourceSight{lookAt(0), lookAt(5, silentFor(4*time.Second), shallow), lookAt(6, silentFor(5*time.Second), waits), lookAt(7, silentFor(6*time.Second), waits)},
			[]string{"7 stalled since 1, 100 then 101"},
		},
		"heartbeats that are a little late": {[]sourceSight{lookAt(0, silentFor(2900*time.Millisecond), waits), lookAt(5, silentFor(3*time.Second), waits)}, nil},
		"nothing waits":                     {[]sourceSight{lookAt(0, quiet), lookAt(5, quiet), lookAt(60, quiet)}, nil},
		"the work queue is full":            {[]sourceSight{lookAt(0, quiet, waits, full), lookAt(5, quiet, waits, full), lookAt(60, quiet, waits, full)}, nil},
		"the origin has no leader":          {[]sourceSight{lookAt(0, quiet, orphaned), lookAt(5, quiet, orphaned), lookAt(60, quiet, orphaned)}, nil},
		"the origin has just got its leader": {
			[]sourceSight{lookAt(0, quiet, orphaned), lookAt(5, quiet, waits), lookAt(5.5, quiet, waits)}, nil,
		},
		"the origin changes its leader again": {
			[]sourceSight{lookAt(0, quiet, orphaned), lookAt(5, quiet, waits), lookAt(5.9, quiet, waits, originLed("C")), lookAt(6.5, quiet, waits, originLed("C"))}, nil,
		},
		"the work queue has no leader in between": {
			[]sourceSight{lookAt(0, quiet, waits), lookAt(1, leaderless), lookAt(2, quiet, waits), lookAt(3, quiet, waits)}, nil,
		},
		"what waited is gone": {
			[]sourceSight{lookAt(0, quiet, waits), lookAt(3, quiet, waits), lookAt(4, quiet)},
			[]string{"3 stalled since 0, 100 then 101", "4 recovered after 4"},
		},
		"a leader that says how long it has led": {
			[]sourceSight{lookAt(0, quiet, waits, func(o *sourceSight) { o.led, o.originLed = 8*time.Second, 5*time.Second })},
			[]string{"0 stalled since -8, 100 then 101"},
		},
		"a stall that outlives a change of leader": {
			[]sourceSight{lookAt(0, quiet, waits), lookAt(3, quiet, waits), lookAt(4, led("C"), quiet, waits), lookAt(9, led("C"), quiet, waits), lookAt(10, led("C"))},
			[]string{"3 stalled since 0, 100 then 101", "10 recovered after 10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := saw(false, c.looks...); !slices.Equal(got, c.want) {
				t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A record that drops or disappears is the only sign of a lost place, and must be
// told at once; a replica that is still catching up after its election looks much
// like it, and must not be taken for it.
func TestPlaceRules(t *testing.T) {
	for name, c := range map[string]struct {
		whole bool
		looks []sourceSight
		want  []string
	}{
		"it only grows":            {false, []sourceSight{lookAt(0, place(5, 5)), lookAt(5, place(50, 50)), lookAt(10, place(50, 50))}, nil},
		"a server that keeps none": {false, []sourceSight{lookAt(0, place(0, 5)), lookAt(5, place(0, 50))}, nil},
		"it drops (measured: 7728 to 1223)": {
			false, []sourceSight{lookAt(0, place(7728, 7728)), lookAt(5, place(7728, 7728)), lookAt(10, led("C"), place(1223, 7728)), lookAt(15, led("C"), place(7728, 14233))},
			[]string{"10 place lost 1224-7728 0"},
		},
		"it disappears (measured: 6695)": {
			false, []sourceSight{lookAt(0, place(6695, 6695)), lookAt(5, place(6695, 6695)), lookAt(10, led("C"), place(0, 6695)), lookAt(15, led("C"), place(6700, 6698))},
			[]string{"10 place lost 0-6695 0"},
		},
		"a new leader is behind for a moment": {
			false, []sourceSight{lookAt(0, place(90, 90)), lookAt(5, place(100, 100)), lookAt(6, led("C"), place(95, 95)), lookAt(7, led("C"), place(100, 100))}, nil,
		},
		"messages came within the look before": {
			// The length was read before the record.
			false, []sourceSight{lookAt(0, place(90, 90)), lookAt(5, place(103, 100)), lookAt(6, led("C"), place(101, 101)), lookAt(7, led("C"), place(103, 103))}, nil,
		},
		"the origin was made anew": {
			false, []sourceSight{
				lookAt(0), lookAt(5), lookAt(10, func(o *sourceSight) { o.seq, o.originLast = 0, 3 }),
				lookAt(15, place(3, 103)), lookAt(20, quiet, func(o *sourceSight) { o.seq, o.last, o.originLast, o.next = 3, 103, 4, 4 }),
				lookAt(23, quiet, func(o *sourceSight) { o.seq, o.last, o.originLast, o.next = 3, 103, 4, 4 }),
			},
			[]string{"10 place lost 0-100 0", "23 stalled since 0, 3 then 4"},
		},
		"the group was made anew": {
			false, []sourceSight{lookAt(0), lookAt(5), lookAt(10, place(3, 3), func(o *sourceSight) { o.created = o.at })}, nil,
		},
		"messages left the origin unsourced": {
			true, []sourceSight{lookAt(0), lookAt(5, originFrom(111)), lookAt(6, originFrom(111)), lookAt(7, originFrom(121)), lookAt(8, originFrom(121))},
			[]string{"6 expired 101-110 10", "7 expired 111-120 10"},
		},
		"messages leave the origin while they are on their way": {
			true, []sourceSight{lookAt(0), lookAt(5, originFrom(103)), lookAt(6, place(102, 102), originFrom(104)), lookAt(7, place(103, 103), originFrom(104))}, nil,
		},
		"other subjects leave the origin": {
			false, []sourceSight{lookAt(0), lookAt(5, originFrom(111)), lookAt(6, originFrom(111))}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := saw(c.whole, c.looks...); !slices.Equal(got, c.want) {
				t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// The balance must be struck only over stretches between two still moments, and
// never be troubled by a record that went back in between.
func TestStillMoments(t *testing.T) {
	still := func(whole bool, looks ...sourceSight) (out []string) {
		s := sourceState{whole: whole}
		var before sourceSight
		for _, o := range looks {
			s.see(o)
			if from, to, arrived, ok := s.still(before, o); ok {
				out = append(out, fmt.Sprintf("%d-%d %d", from, to, arrived))
			}
			before = o
		}
		return out
	}
	for name, c := range map[string]struct {
		got  []string
		want []string
	}{
		"traffic never stands still": {still(true, lookAt(0, place(1, 1)), lookAt(5, place(20, 9)), lookAt(10, place(30, 29))), nil},
		"all arrived":                {still(true, lookAt(0, place(10, 10)), lookAt(5, place(10, 10)), lookAt(10, place(30, 30)), lookAt(15, place(30, 30))), nil},
		"some did not":               {still(true, lookAt(0, place(10, 10)), lookAt(5, place(10, 10)), lookAt(10, place(30, 28)), lookAt(15, place(30, 28))), []string{"11-30 18"}},
		"a filter, one leader":       {still(false, lookAt(0, place(10, 5)), lookAt(5, place(10, 5)), lookAt(10, place(30, 15)), lookAt(15, place(30, 15))), nil},
		"a filter, a new leader":     {still(false, lookAt(0, place(10, 5)), lookAt(5, place(10, 5)), lookAt(10, led("C"), place(30, 15)), lookAt(15, led("C"), place(30, 15))), []string{"11-30 10"}},
		"the record went back": {
			still(true, lookAt(0, place(77, 77)), lookAt(5, place(77, 77)), lookAt(10, led("C"), place(12, 77)), lookAt(15, led("C"), place(12, 77)),
				lookAt(20, led("C"), place(80, 145)), lookAt(25, led("C"), place(80, 145))),
			[]string{"78-80 68"},
		},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: to count %q, want %q", name, c.got, c.want)
		}
	}
}

// What is counted must not be called missing when it may have expired, nor
// repeated when the origin may have had more.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		whole            bool
		arrived, counted uint64
		exact            bool
		want             string
	}{
		{true, 10, 10, true, ""},
		{false, 5, 5, false, ""},
		{false, 4, 6, false, "missing 2"},
		{false, 6, 4, true, "repeated 2"},
		{false, 6, 4, false, ""},
		{true, 12, 4, false, "repeated 2"},
		{true, 8, 3, false, "expired 2"},
		{true, 8, 9, false, "missing 1"},
	} {
		s := sourceState{whole: c.whole}
		got := ""
		if skip, ok := s.balance(1, 10, c.arrived, c.counted, c.exact); ok {
			got = fmt.Sprintf("%s %d", skip.Kind, skip.Messages)
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// The header's form has changed before, and an identity was added in 2.15.
func TestOriginSequence(t *testing.T) {
	for header, want := range map[string]uint64{
		"ORDERS 17 orders.* {{Partition(4,1)}}.orders.{{Wildcard(1)}} orders.a": 17,
		"ORDERS 18 > {{Partition(4)}}.> orders.a XYZ":                           18,
		"ORDERS 19":                        19,
		"":                                 0,
		"ORDERS":                           0,
		"ORDERS -1 >":                      0,
		"ORDERS 99999999999999999999999 >": 0,
		"$JS.ACK.ORDERS.consumer.1.5.5.1700000000000000000.0": 0,
	} {
		if got := originSequence(header); got != want {
			t.Errorf("%q: got %d, want %d", header, got, want)
		}
	}
}
