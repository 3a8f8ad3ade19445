package checker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// script runs one checker through calls written as words: "p1" announces
// message 1 of key k, "b1" begins it at member m, "B1" at member n, "s1" and
// "u1" end its oldest open execution settled or unsettled. A word may carry
// another key: "p1@j".
func script(t *testing.T, words string) *Checker {
	t.Helper()
	c := New()
	open := map[string][]func(bool){}
	for word := range strings.FieldsSeq(words) {
		id, key, found := strings.Cut(word[1:], "@")
		if !found {
			key = "k"
		}
		var seq uint64
		if _, err := fmt.Sscan(id, &seq); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		at := key + id
		switch word[0] {
		case 'p':
			c.Published(key, seq)
		case 'b':
			open[at] = append(open[at], c.Begin("m", key, seq))
		case 'B':
			open[at] = append(open[at], c.Begin("n", key, seq))
		case 's', 'u':
			open[at][0](word[0] == 's')
			open[at] = open[at][1:]
		default:
			t.Fatalf("word %s", word)
		}
	}
	return c
}

// Each line is a history that fault runs produce. A rule that judges one
// wrongly hides a bug of the group or reports one that is not there.
func TestVerdicts(t *testing.T) {
	for name, tc := range map[string]struct {
		words   string
		want    string
		example string
	}{
		"nothing":                  {"", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"in order":                 {"p1 p2 b1 s1 b2 s2", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"keys are independent":     {"p2 p1@j b2 b1@j s2 s1@j", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"handled before announced": {"b1 s1 p1", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"never announced":          {"b1 s1", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"never begun":              {"p1", "lost=1 duplicated=0 out_of_order=0 overlapping=0", `key "k": 1 was never begun`},
		"never settled":            {"p1 b1 u1", "lost=1 duplicated=0 out_of_order=0 overlapping=0", `key "k": 1 was begun but never settled`},
		"still running":            {"p1 b1", "lost=1 duplicated=0 out_of_order=0 overlapping=0", "never settled"},
		"redelivered":              {"p1 p2 b1 u1 B1 s1 b2 s2", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"settled twice":            {"p1 b1 s1 B1 s1", "lost=0 duplicated=1 out_of_order=0 overlapping=0", `key "k": 1 was settled for the 2. time, at "n"`},
		"run again, not settled":   {"p1 b1 s1 b1 u1", "lost=0 duplicated=0 out_of_order=0 overlapping=0", ""},
		"overtaken":                {"p1 p2 b2 s2 B1 s1", "lost=0 duplicated=0 out_of_order=1 overlapping=0", `key "k": 1 began at "n" after 2 had begun at "m"`},
		"overtaken after a nak":    {"p1 p2 b1 u1 b2 s2 b1 s1", "lost=0 duplicated=0 out_of_order=1 overlapping=0", "1 began"},
		"every late run counts":    {"p1 p2 b2 s2 b1 u1 b1 s1", "lost=0 duplicated=0 out_of_order=2 overlapping=0", "1 began"},
		"lost ack, late redelivery": {"p1 p2 b1 s1 b2 s2 b1 s1", "lost=0 duplicated=1 out_of_order=0 overlapping=0",
			"settled for the 2. time"},
		"given up, later ones go on": {"p1 p2 b1 u1 b2 s2", "lost=1 duplicated=0 out_of_order=0 overlapping=0", "1 was begun"},
		"same message twice at once": {"p1 b1 B1 u1 s1", "lost=0 duplicated=0 out_of_order=0 overlapping=1",
			`key "k": 1 began at "n" while 1 was running at "m"`},
		"same key at once": {"p1 p2 b1 B2 s1 s2", "lost=0 duplicated=0 out_of_order=0 overlapping=1",
			`key "k": 2 began at "n" while 1 was running at "m"`},
		"both overlaps count once": {"p1 p2 b1 b2 b2 s1 s2 u2", "lost=0 duplicated=0 out_of_order=0 overlapping=2", "while"},
	} {
		t.Run(name, func(t *testing.T) {
			v := script(t, tc.words).Verdict()
			if v.String() != tc.want {
				t.Errorf("got  %s\nwant %s", v, tc.want)
			}
			if got := strings.Join(v.Examples, "\n"); (tc.example == "") != (got == "") || !strings.Contains(got, tc.example) {
				t.Errorf("examples %q, want one with %q", v.Examples, tc.example)
			}
			if v.OK() != (tc.example == "") {
				t.Errorf("OK is %t", v.OK())
			}
		})
	}
}

// An acknowledgement lets the server hand the next message to another member
// before this handler has returned. Ending first and settling later must then
// be neither an overlap nor a loss, and settling twice no duplicate.
func TestEndBeforeAcknowledging(t *testing.T) {
	c := New()
	c.Published("k", 1)
	c.Published("k", 2)
	end := c.Begin("m", "k", 1)
	end(false)
	end2 := c.Begin("n", "k", 2)
	end(true)
	end(true)
	end2(true)
	if v := c.Verdict(); !v.OK() || v.Handled != 2 || v.Running != 0 {
		t.Errorf("%+v", v)
	}
}

// A bad run has hundreds of thousands of violations; their descriptions must
// not fill the memory, and the first of each kind must be shown.
func TestExamplesAreBounded(t *testing.T) {
	c := New()
	for seq := range uint64(1000) {
		c.Published("lost", seq)
		c.Begin("m", "k", 1000-seq) // late and overlapping from the second on
	}
	v := c.Verdict()
	if v.Lost != 1000 || v.OutOfOrder != 999 || v.SameKeyOverlap != 999 {
		t.Errorf("%+v", v)
	}
	if len(v.Examples) != 3*maxExamples || v.Examples[0] != `key "lost": 0 was never begun` {
		t.Errorf("examples: %q", v.Examples)
	}
}

// WaitHandled must count messages, not executions, and return at the very
// event; a run that waits for the wrong thing ends too early or hangs.
func TestWaitHandled(t *testing.T) {
	c := New()
	if err := c.WaitHandled(t.Context(), 0); err != nil {
		t.Errorf("nothing to wait for: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for n := 1; n <= 3; n++ {
		wg.Go(func() {
			if err := c.WaitHandled(ctx, n); err != nil {
				t.Errorf("waiting for %d: %v", n, err)
			}
			if got := c.Verdict().Handled; got < n {
				t.Errorf("returned at %d of %d", got, n)
			}
		})
	}
	for seq := range uint64(3) {
		c.Begin("m", "k", seq)(false)
		c.Begin("m", "k", seq)(true)
		c.Begin("m", "k", seq)(true)
	}
	wg.Wait()

	gone, stop := context.WithCancel(t.Context())
	stop()
	err := c.WaitHandled(gone, 4)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "3 of 4") {
		t.Errorf("canceled: %v", err)
	}
	if len(c.waiters) != 0 {
		t.Error("a waiter that gave up is still kept")
	}
}

// A correct group under full concurrency must come out clean: a false alarm
// here would be blamed on the library.
func TestCorrectGroupIsClean(t *testing.T) {
	const keys, each = 16, 2000
	c := New()
	var wg sync.WaitGroup
	for k := range keys {
		key := fmt.Sprint("key-", k)
		wg.Go(func() {
			for seq := range uint64(each) {
				c.Published(key, seq)
			}
		})
		wg.Go(func() {
			for seq := range uint64(each) {
				if seq%10 == 0 {
					c.Begin("m", key, seq)(false)
				}
				c.Begin("m", key, seq)(true)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.WaitHandled(ctx, keys*each); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	v := c.Verdict()
	if !v.OK() || v.Published != keys*each || v.Executions != keys*each*11/10 || v.Unannounced != 0 {
		t.Errorf("%+v", v)
	}
}

// BenchmarkExecution is the cost of one published and handled message: it must
// be far below what a message costs on the wire, or fault runs test less.
func BenchmarkExecution(b *testing.B) {
	c := New()
	keys := make([]string, 64)
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key, seq := keys[i%len(keys)], uint64(i/len(keys))
		c.Published(key, seq)
		c.Begin("m", key, seq)(true)
	}
	if !c.Verdict().OK() {
		b.Error(c.Verdict())
	}
}
