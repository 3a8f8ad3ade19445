package checker

import (
	"fmt"
	"maps"
	"slices"
)

// Verdict is what a [Checker] has found so far. The package comment defines the
// counts.
type Verdict struct {
	// Published is the number of messages announced.
	Published int
	// Handled is the number of messages with a settled execution, announced
	// or not.
	Handled int
	// Executions is the number of times a handler began.
	Executions int
	// Running is the number of executions that have not ended.
	Running int
	// Unannounced is the number of messages that were executed without having
	// been announced. It is no violation: after an error a publisher cannot
	// know whether its message arrived.
	Unannounced int

	// Lost is the number of messages announced and not settled. It is final
	// only when the group has had the time to handle everything.
	Lost int
	// Duplicated is the number of settled executions beyond the first.
	Duplicated int
	// OutOfOrder is the number of executions that began too late.
	OutOfOrder int
	// SameMessageOverlap is the number of executions that began while another
	// of the same message was running.
	SameMessageOverlap int
	// SameKeyOverlap is the number of executions that began while one of
	// another message of the same key was running.
	SameKeyOverlap int
	// Overlapping is the number of executions that began in either overlap.
	Overlapping int

	// Examples describes the first few violations of each kind.
	Examples []string
}

// OK tells whether nothing was lost, duplicated, out of order or overlapping.
func (v Verdict) OK() bool {
	return v.Lost == 0 && v.Duplicated == 0 && v.OutOfOrder == 0 && v.Overlapping == 0
}

// String is the verdict in one line, for example
// "lost=0 duplicated=0 out_of_order=0 overlapping=0".
func (v Verdict) String() string {
	return fmt.Sprintf("lost=%d duplicated=%d out_of_order=%d overlapping=%d",
		v.Lost, v.Duplicated, v.OutOfOrder, v.Overlapping)
}

// kind is a kind of violation that examples are kept of as it happens.
type kind int

const (
	duplicated kind = iota
	outOfOrder
	overlapping
)

// example keeps the description of a violation; mu is held.
func (c *Checker) example(k kind, format string, args ...any) {
	if kept := c.examples[k]; len(kept) < maxExamples {
		c.examples[k] = append(kept, fmt.Sprintf(format, args...))
	}
}

// Verdict sums up what has been reported so far. It may be asked at any time;
// while messages are under way they count as lost.
func (c *Checker) Verdict() Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.counts
	v.Lost = v.Published - c.settledP
	if v.Lost > 0 {
		v.Examples = c.lostExamples()
	}
	for _, k := range []kind{duplicated, outOfOrder, overlapping} {
		v.Examples = append(v.Examples, c.examples[k]...)
	}
	return v
}

// lostExamples names the first lost messages by key and sequence; mu is held.
func (c *Checker) lostExamples() []string {
	var examples []string
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		k := c.keys[key]
		var lost []uint64
		for seq, m := range k.messages {
			if m.published && m.settled == 0 {
				lost = append(lost, seq)
			}
		}
		slices.Sort(lost)
		for _, seq := range lost {
			if len(examples) == maxExamples {
				return examples
			}
			fate := "was never begun"
			if k.messages[seq].executed {
				fate = "was begun but never settled"
			}
			examples = append(examples, fmt.Sprintf("key %q: %d %s", key, seq, fate))
		}
	}
	return examples
}
