package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// message is what concerns us of one of govulncheck's JSON messages
// (golang.org/x/vuln/internal/govulncheck).
type message struct {
	Config *struct {
		Scanner string `json:"scanner_version"`
		Go      string `json:"go_version"`
	} `json:"config"`
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV   string  `json:"osv"`
		Fixed string  `json:"fixed_version"`
		Trace []frame `json:"trace"` // what is vulnerable first, then who calls it
	} `json:"finding"`
}

type frame struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Receiver string `json:"receiver"`
	Function string `json:"function"` // empty unless it is called
}

func (f frame) String() string {
	name := f.Function
	if f.Receiver != "" {
		name = f.Receiver + "." + name
	}
	return f.Package + "." + name
}

// standard is the module name that govulncheck gives the standard library.
const standard = "stdlib"

// report is what was found.
type report struct {
	scanned   bool              // the scanner told of itself, so it ran
	toolchain string            // the Go version that findings in the standard library are about
	summaries map[string]string // of each vulnerability that concerns a module here
	called    map[string]called
}

// called is a vulnerable function that is called, by vulnerability.
type called struct {
	module, version, fixed string
	by                     []string // the shortest way there
}

// read reads govulncheck's output.
func read(in io.Reader) (*report, error) {
	r := &report{summaries: map[string]string{}, called: map[string]called{}}
	for d := json.NewDecoder(in); ; {
		var m message
		err := d.Decode(&m)
		switch {
		case errors.Is(err, io.EOF) && !r.scanned:
			return nil, errors.New("govulncheck wrote nothing")
		case errors.Is(err, io.EOF):
			return r, nil
		case err != nil:
			return nil, fmt.Errorf("govulncheck's output: %w", err)
		case m.Config != nil:
			r.scanned, r.toolchain = true, m.Config.Go
		case m.OSV != nil:
			r.summaries[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0 && m.Finding.Trace[0].Function != "":
			var by []string
			for _, f := range m.Finding.Trace {
				by = append(by, f.String())
			}
			if was, known := r.called[m.Finding.OSV]; known && len(was.by) <= len(by) {
				continue
			}
			at := m.Finding.Trace[0]
			r.called[m.Finding.OSV] = called{module: at.Module, version: at.Version, fixed: m.Finding.Fixed, by: by}
		}
	}
}

// tell writes what is called, and whether any of it is not the standard library's.
func (r *report) tell(out io.Writer) (bad bool) {
	var ours, theirs int
	for _, id := range slices.Sorted(maps.Keys(r.called)) {
		c := r.called[id]
		if c.module == standard {
			theirs++
			fmt.Fprintf(out, "%s in the standard library of %s, mended in %s: %s\n", id, r.toolchain, c.fixed, r.summaries[id])
			continue
		}
		ours++
		fmt.Fprintf(out, "%s in %s %s, mended in %s: %s\n  %s\n", id, c.module, c.version, c.fixed, r.summaries[id], strings.Join(c.by, "\n  from "))
	}
	fmt.Fprintf(out, "vulnerabilities that are called: %d in dependencies, %d in the standard library of %s (not a failure: build with a newer Go)\n",
		ours, theirs, r.toolchain)
	return ours > 0
}
