package pcgroups

import "time"

// anchor tells the time, at half the price: time.Now reads two clocks, and at a
// hundred thousand messages a second that is seen. It goes by the monotonic one, and
// looks at the other once a second. After that was set, or the machine has slept, it is
// wrong for up to a second: it is for arrivals, not for whether a message may start late.
type anchor struct{ at time.Time }

// now is not safe for concurrent use.
func (a *anchor) now() time.Time {
	since := time.Since(a.at) // of the zero time it is the longest
	if since > time.Second {
		a.at, since = time.Now(), 0
	}
	return a.at.Add(since)
}
