package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// compareTranscripts tells how an implementation differs from what the
// reference sent in the same case. Each difference is one line that begins with
// the step, names the message and says what is different about it, so that a
// pattern in the list of divergences can catch that and nothing else. Without
// bytes, JSON is compared by what it says.
func compareTranscripts(want, got transcript, bytes bool) ([]string, error) {
	if len(want) != len(got) {
		return nil, fmt.Errorf("%w: %d steps were taken, the golden has %d: record it with -update", ErrHarness, len(got), len(want))
	}
	var out []string
	for i, w := range want {
		g := got[i]
		if w.name != g.name {
			return nil, fmt.Errorf("%w: step %q was taken, the golden has %q: record it with -update", ErrHarness, g.name, w.name)
		}
		c := comparison{step: w.name, bytes: bytes}
		if w.refused != g.refused {
			why := ""
			if g.why != "" {
				why = ": " + g.why
			}
			c.add("outcome: %s, the reference is %s%s", outcome(g.refused), outcome(w.refused), why)
		}
		c.ordered(w.ordered(), g.ordered())
		for _, kind := range []string{kindPull, kindAck, kindRead} {
			c.sets(w.set(kind), g.set(kind))
		}
		out = append(out, c.found...)
	}
	return out, nil
}

func outcome(refused bool) string {
	if refused {
		return "refused"
	}
	return "ok"
}

type comparison struct {
	step  string
	bytes bool
	found []string
}

func (c *comparison) add(format string, args ...any) {
	c.found = append(c.found, c.step+": "+fmt.Sprintf(format, args...))
}

// ordered pairs the messages of both sides by kind and subject, keeping their
// order, and compares each pair.
func (c *comparison) ordered(want, got []entry) {
	pairs := align(want, got)
	i, j := 0, 0
	for _, p := range append(pairs, [2]int{len(want), len(got)}) {
		for ; i < p[0]; i++ {
			c.add("missing %s %s", want[i].kind, want[i].subject)
		}
		for ; j < p[1]; j++ {
			c.add("added %s %s", got[j].kind, got[j].subject)
		}
		if i < len(want) && j < len(got) {
			c.message(want[i], got[j])
			i, j = i+1, j+1
		}
	}
}

// align is a longest common subsequence by kind and subject.
func align(want, got []entry) [][2]int {
	length := make([][]int, len(want)+1)
	for i := range length {
		length[i] = make([]int, len(got)+1)
	}
	same := func(i, j int) bool { return want[i].kind == got[j].kind && want[i].subject == got[j].subject }
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if same(i, j) {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(want) && j < len(got); {
		switch {
		case same(i, j):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

func (c *comparison) message(want, got entry) {
	what := got.kind + " " + got.subject
	for _, h := range want.header {
		if !slices.Contains(got.header, h) {
			c.add("%s: missing header %s", what, h)
		}
	}
	for _, h := range got.header {
		if !slices.Contains(want.header, h) {
			c.add("%s: added header %s", what, h)
		}
	}
	if want.body == got.body {
		return
	}
	diffs, err := compareJSON(want.body, got.body, want.kind == kindPublish || c.bytes)
	switch {
	case err != nil:
		c.add("%s: bytes: %s", what, got.body)
	case len(diffs) == 0 && c.bytes:
		c.add("%s: encoding: %s", what, got.body)
	}
	for _, d := range diffs {
		c.add("%s: %s", what, d)
	}
}

// sets tells what only one side sent. Pulls are matched by what they say.
func (c *comparison) sets(want, got []entry) {
	in := func(e entry, all []entry) bool {
		return slices.ContainsFunc(all, func(o entry) bool {
			if e.kind != kindPull || e.subject != o.subject {
				return e.same(o)
			}
			diffs, err := compareJSON(e.body, o.body, false)
			return err == nil && len(diffs) == 0
		})
	}
	for _, e := range want {
		if !in(e, got) {
			c.add("missing %s", oneLine(e))
		}
	}
	for _, e := range got {
		if !in(e, want) {
			c.add("added %s", oneLine(e))
		}
	}
}

func oneLine(e entry) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(e.String(), "\n  | ", " "), "\n", " "))
}
