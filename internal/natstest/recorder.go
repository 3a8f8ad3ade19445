package natstest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// Recorder collects what happens, in order, from any goroutine, and lets the
// test wait for it. A wait is woken by the arrival itself. The zero value is
// ready to use; do not copy it.
type Recorder[T any] struct {
	mu      sync.Mutex
	items   []T
	arrived chan struct{} // made by a waiter, closed by the next arrival
}

// Add appends items.
func (r *Recorder[T]) Add(items ...T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, items...)
	if r.arrived != nil {
		close(r.arrived)
		r.arrived = nil
	}
}

// All copies what has arrived so far.
func (r *Recorder[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.items)
}

// Len is the number of items that have arrived so far.
func (r *Recorder[T]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.items)
}

// WaitN waits until at least n items have arrived and returns all of them. It
// fails the test after timeout.
func (r *Recorder[T]) WaitN(t testing.TB, n int, timeout time.Duration) []T {
	t.Helper()
	items, ok := r.wait(timeout, func(items []T) bool { return len(items) >= n })
	if !ok {
		t.Fatalf("%d of %d arrived in %v%s", len(items), n, timeout, lastOf(items))
	}
	return items
}

// Wait waits until enough, called at once and after every arrival with all
// items so far, returns true, and returns those items. It fails the test after
// timeout. enough must not keep or change the slice.
func (r *Recorder[T]) Wait(t testing.TB, timeout time.Duration, enough func([]T) bool) []T {
	t.Helper()
	items, ok := r.wait(timeout, enough)
	if !ok {
		t.Fatalf("%d arrived in %v, but not what was waited for%s", len(items), timeout, lastOf(items))
	}
	return items
}

func (r *Recorder[T]) wait(timeout time.Duration, enough func([]T) bool) ([]T, bool) {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		items, arrived := r.snapshot()
		if enough(items) {
			return slices.Clone(items), true
		}
		select {
		case <-arrived:
		case <-deadline.C:
			items, _ = r.snapshot()
			return slices.Clone(items), enough(items)
		}
	}
}

// snapshot is what has arrived, not copied (later arrivals never change it),
// and a channel that is closed by the next arrival.
func (r *Recorder[T]) snapshot() ([]T, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.arrived == nil {
		r.arrived = make(chan struct{})
	}
	return r.items[:len(r.items):len(r.items)], r.arrived
}

// lastOf shows the end of a record in a failure: it tells where things stopped.
func lastOf[T any](items []T) string {
	const show = 5
	if len(items) == 0 {
		return ""
	}
	return fmt.Sprintf("; the last ones: %+v", items[max(0, len(items)-show):])
}
