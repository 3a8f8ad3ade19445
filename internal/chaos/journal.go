package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// grace is how long after a disturbance its effects may show: an acknowledgement
// that was on its way, a connection that was not yet back, a new leader.
const grace = 2 * time.Second

// reach is how long before a disturbance a handler may have sent the
// acknowledgement that it takes away.
const reach = 2 * time.Second

// journal is what happened, in order.
type journal struct {
	began time.Time

	mu           sync.Mutex
	entries      []entry
	disturbances []*disturbance
	counts       map[string]int
	order        []string               // kinds in the order of their first occurrence
	leaders      map[string][]time.Time // when consumers got one, by stream and consumer
}

type entry struct {
	at         time.Time
	what, text string
}

// disturbance is a time in which acknowledgements may get lost.
type disturbance struct {
	from, to time.Time // to is zero while it lasts
	group    string    // that it is about; empty: all
	instance string    // that it is about; empty: all of the group
}

func newJournal() *journal {
	return &journal{began: time.Now(), counts: map[string]int{}, leaders: map[string][]time.Time{}}
}

// offset is a time as the journal shows it.
func (j *journal) offset(t time.Time) string {
	return fmt.Sprintf("%.3fs", t.Sub(j.began).Seconds())
}

func (j *journal) note(what, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry{time.Now(), what, fmt.Sprintf(format, args...)})
}

// fault notes a fault and counts it by its kind.
func (j *journal) fault(kind, format string, args ...any) {
	j.note(kind, format, args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.counts[kind] == 0 {
		j.order = append(j.order, kind)
	}
	j.counts[kind]++
}

// disturb tells that acknowledgements may get lost until over is called.
func (j *journal) disturb(group, instance string) (over func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := &disturbance{from: time.Now(), group: group, instance: instance}
	j.disturbances = append(j.disturbances, d)
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if d.to.IsZero() {
			d.to = time.Now()
		}
	}
}

// disturbed tells whether an acknowledgement that was sent at a time may have got
// lost, so that the message came back at another.
func (j *journal) disturbed(sent, back time.Time, group, instance string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.disturbances, func(d *disturbance) bool {
		about := (d.group == "" || d.group == group) && (d.instance == "" || d.instance == instance)
		return about && d.from.Before(back) && sent.After(d.from.Add(-reach)) && (d.to.IsZero() || sent.Before(d.to.Add(grace)))
	})
}

// faults is how many there were, by kind.
func (j *journal) faults() (kinds []string, counts map[string]int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts = map[string]int{}
	for k, n := range j.counts {
		counts[k] = n
	}
	return slices.Clone(j.order), counts
}

// all are the entries of a kind, one a line.
func (j *journal) all(what string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if e.what == what {
			lines = append(lines, fmt.Sprintf("%s at %s: %s", what, j.offset(e.at), e.text))
		}
	}
	return lines
}

// around are the entries between two times that are wanted, one a line.
func (j *journal) around(from, to time.Time, want func(entry) bool) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, e := range j.entries {
		if !e.at.Before(from) && !e.at.After(to) && want(e) {
			lines = append(lines, fmt.Sprintf("%9.3fs  %-16s %s", e.at.Sub(j.began).Seconds(), e.what, e.text))
		}
	}
	return lines
}
