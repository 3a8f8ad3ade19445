package natstest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A wait that times out without saying what was missing costs an hour of
// guessing in a CI log.
func TestEventuallyFailsWithTheLastError(t *testing.T) {
	looks := 0
	got := failureOf(t, func(t testing.TB) {
		Eventually(t, 30*time.Millisecond, func() error {
			looks++
			return errors.New("no leader yet")
		})
	})
	if !strings.Contains(got, "no leader yet") || !strings.Contains(got, "30ms") {
		t.Errorf("failure: %q", got)
	}
	if looks < 2 {
		t.Errorf("looked %d times", looks)
	}
}

// A condition that is true at once, or becomes true, must not fail; one that is
// true at once must not cost a tick.
func TestEventuallyStopsAtSuccess(t *testing.T) {
	looks := 0
	Eventually(t, 0, func() error { looks++; return nil })
	if looks != 1 {
		t.Errorf("looked %d times at what was true at once", looks)
	}
	looks = 0
	Eventually(t, patience, func() error {
		if looks++; looks < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if looks != 3 {
		t.Errorf("looked %d times, want 3", looks)
	}
}

// A Never that only looks at the end of its window misses what comes and goes.
func TestNeverSeesWhatComesAndGoes(t *testing.T) {
	looks := 0
	got := failureOf(t, func(t testing.TB) {
		Never(t, patience, func() bool { looks++; return looks == 3 }, "two pins at once")
	})
	if !strings.Contains(got, "two pins at once") {
		t.Errorf("failure: %q", got)
	}
	Never(t, 20*time.Millisecond, func() bool { return false }, "impossible")
}

// Items added by many goroutines while a test waits must all be there, in each
// goroutine's order, and must wake the waiter: a lost wake-up shows as a test
// that needs its whole timeout.
func TestRecorderCollectsFromManyGoroutines(t *testing.T) {
	const writers, each = 8, 500
	var r Recorder[[2]int]
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r.Add([2]int{w, i})
			}
		})
	}
	items := r.WaitN(t, writers*each, patience)
	wg.Wait()
	if len(items) != writers*each || r.Len() != len(items) {
		t.Fatalf("got %d items, Len %d", len(items), r.Len())
	}
	next := [writers]int{}
	for _, it := range items {
		if it[1] != next[it[0]] {
			t.Fatalf("writer %d: item %d where %d was due", it[0], it[1], next[it[0]])
		}
		next[it[0]]++
	}
}

// What a caller does with a returned slice must not change the record.
func TestRecorderReturnsCopies(t *testing.T) {
	var r Recorder[int]
	r.Add(1, 2, 3)
	r.All()[0] = 9
	_ = append(r.WaitN(t, 3, patience)[:1], 9)
	if got := r.All(); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("record is now %v", got)
	}
}

// A wait that fails must say how far it got, and one for something else than a
// number must see every arrival.
func TestRecorderWait(t *testing.T) {
	var r Recorder[string]
	r.Add("joined")
	got := failureOf(t, func(t testing.TB) { r.WaitN(t, 2, 20*time.Millisecond) })
	if !strings.Contains(got, "1 of 2") || !strings.Contains(got, "joined") {
		t.Errorf("failure: %q", got)
	}
	got = failureOf(t, func(t testing.TB) {
		r.Wait(t, 20*time.Millisecond, func(s []string) bool { return slices.Contains(s, "left") })
	})
	if !strings.Contains(got, "1 arrived") || !strings.Contains(got, "joined") {
		t.Errorf("failure: %q", got)
	}
	time.AfterFunc(10*time.Millisecond, func() { r.Add("pinned", "left") })
	items := r.Wait(t, patience, func(s []string) bool { return slices.Contains(s, "left") })
	if len(items) != 3 {
		t.Errorf("items: %v", items)
	}
}
