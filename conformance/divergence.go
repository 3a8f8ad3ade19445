package conformance

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// divergence is a known difference of one implementation from the reference.
type divergence struct {
	line int
	// impl is the ID of the implementation.
	impl string
	// sometimes says that timing decides whether it shows; otherwise it must show
	// in every case that it is listed for.
	sometimes  bool
	cases      string // pattern
	difference string // pattern
	reason     string
}

func (d divergence) String() string {
	return fmt.Sprintf("divergences.txt:%d: %s | %s", d.line, d.cases, d.difference)
}

// divergences is the list of testdata/divergences.txt.
type divergences []divergence

func loadDivergences() (divergences, error) {
	text, err := fs.ReadFile(testdata, "testdata/divergences.txt")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	return parseDivergences(string(text))
}

// parseDivergences reads lines of four columns: implementation, cases,
// difference, reason. A ~ before the cases marks what only shows sometimes.
func parseDivergences(text string) (divergences, error) {
	var out divergences
	for n, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		columns := strings.Split(l, " | ")
		if len(columns) != 4 {
			return nil, fmt.Errorf("%w: divergences.txt:%d: %d columns, not 4", ErrHarness, n+1, len(columns))
		}
		for i := range columns {
			if columns[i] = strings.TrimSpace(columns[i]); columns[i] == "" {
				return nil, fmt.Errorf("%w: divergences.txt:%d: column %d is empty", ErrHarness, n+1, i+1)
			}
		}
		d := divergence{line: n + 1, impl: columns[0], cases: columns[1], difference: columns[2], reason: columns[3]}
		d.cases, d.sometimes = strings.CutPrefix(d.cases, "~")
		out = append(out, d)
	}
	return out, nil
}

// matches tells whether text fits a pattern, in which * stands for anything.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	return len(rest) >= len(last) && strings.HasSuffix(rest, last)
}

// apply sorts what was found in a case into known and new, and adds a failure for
// every listed difference that should have shown and did not, unless the case was
// cut short before it could.
func (ds divergences) apply(r *Result, found []finding, cut bool) {
	for _, f := range found {
		i := slices.IndexFunc(ds, func(d divergence) bool {
			return d.impl == f.impl && matches(d.cases, r.Case) && matches(d.difference, f.text)
		})
		if i < 0 {
			r.Differences = append(r.Differences, Difference{Implementation: f.impl, Text: f.text})
			continue
		}
		r.Known = append(r.Known, Difference{Implementation: f.impl, Text: f.text, Reason: ds[i].reason})
		r.used = append(r.used, ds[i].line)
	}
	for _, d := range ds {
		if cut || d.sometimes || !slices.Contains(r.Implementations, d.impl) || !matches(d.cases, r.Case) || slices.Contains(r.used, d.line) {
			continue
		}
		r.Differences = append(r.Differences, Difference{Implementation: d.impl,
			Text: fmt.Sprintf("unexpectedly conforms: %v did not show; take it off the list", d)})
	}
}

// implementationID finds who is named in the pattern of a case.
var implementationID = regexp.MustCompile(`[\w-]+@v[\w.]*\w`)

// stale are the entries about these implementations whose cases do not exist, or
// that showed in none of them. It is known only when they played every case.
func (ds divergences) stale(results []Result, about []Implementation) []divergence {
	var out []divergence
	takesPart := func(id string) bool {
		return slices.ContainsFunc(about, func(i Implementation) bool { return i.ID() == id })
	}
	for _, d := range ds {
		// Cases with somebody who is not here do not exist today.
		absent := slices.ContainsFunc(implementationID.FindAllString(d.cases, -1), func(id string) bool { return !takesPart(id) })
		if !takesPart(d.impl) || absent {
			continue
		}
		matched, played, used := false, false, false
		for _, r := range results {
			if !slices.Contains(r.Implementations, d.impl) {
				continue
			}
			if !matches(d.cases, r.Case) {
				continue
			}
			matched = true
			played = played || r.Status == Pass || r.Status == Fail || r.Status == Known
			used = used || slices.Contains(r.used, d.line)
		}
		if !matched || played && !used {
			out = append(out, d)
		}
	}
	return out
}
