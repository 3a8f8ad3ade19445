// Package poll waits for a condition that nothing announces: server state that
// can only be asked for. Whatever can be announced (a message, a recorded
// event) should be waited for by its own channel instead.
package poll

import (
	"fmt"
	"time"
)

// Interval is the pause between two looks at a condition. It is short against
// every timer of the protocol (the smallest is hundreds of milliseconds) and
// long against the cost of a look at an in-process server.
const Interval = 5 * time.Millisecond

// Until calls cond at once and then every [Interval], on the caller's
// goroutine, until it returns nil. After timeout it gives up and returns an
// error that wraps cond's last one, because "timed out" alone never tells what
// was missing. A cond that blocks is not interrupted.
func Until(timeout time.Duration, cond func() error) error {
	last := cond()
	if last == nil {
		return nil
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-deadline.C:
			// One more look: on a loaded machine the timer may have
			// overtaken several ticks.
			if last = cond(); last == nil {
				return nil
			}
			return fmt.Errorf("not so after %v: %w", timeout, last)
		case <-tick.C:
			if last = cond(); last == nil {
				return nil
			}
		}
	}
}

// While calls cond at once and then every [Interval] for the whole window, and
// reports whether it held at every look. It returns false at the first look at
// which it did not.
func While(window time.Duration, cond func() bool) bool {
	if !cond() {
		return false
	}
	end := time.NewTimer(window)
	defer end.Stop()
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return cond()
		case <-tick.C:
			if !cond() {
				return false
			}
		}
	}
}
