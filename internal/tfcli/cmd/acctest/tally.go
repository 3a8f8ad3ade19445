package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// test is one top-level acceptance test while it runs.
type test struct{ pkg, name string }

// tally counts top-level acceptance tests and passes on what a person wants to
// read: one line a test, everything that a failed one said, package results.
type tally struct {
	out     io.Writer
	running map[test]*strings.Builder // started, not ended; with its output
	passed  []test
	failed  []test
	skipped []test

	begun, ended atomic.Int64 // tests, for state
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, running: make(map[test]*strings.Builder)}
}

// read takes events until their end. Whatever is not an event, such as a
// complaint of the go command itself, is passed on as it is.
func (t *tally) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(t.out, line)
			} else {
				t.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			t.abandon("")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) add(e event) {
	name, _, isSubtest := strings.Cut(e.Test, "/")
	if name == "" {
		t.addPackage(e)
		return
	}
	if !strings.HasPrefix(name, "TestAcc") {
		return
	}
	id := test{e.Package, name}
	switch {
	case e.Action == "output":
		if said := t.running[id]; said != nil && !strings.HasPrefix(e.Output, "=== ") {
			said.WriteString(e.Output)
		}
	case isSubtest:
	case e.Action == "run":
		t.running[id] = new(strings.Builder)
		t.begun.Add(1)
	case e.Action == "pass":
		t.end(id, &t.passed, false)
	case e.Action == "fail":
		t.end(id, &t.failed, true)
	case e.Action == "skip":
		t.end(id, &t.skipped, true)
	}
}

func (t *tally) addPackage(e event) {
	switch e.Action {
	case "output", "build-output":
		if e.Output != "PASS\n" {
			fmt.Fprint(t.out, e.Output)
		}
	case "fail":
		t.abandon(e.Package)
	}
}

// end prints the test's own result line, or all that it said.
func (t *tally) end(id test, list *[]test, all bool) {
	*list = append(*list, id)
	said := t.running[id]
	delete(t.running, id)
	if said == nil {
		return
	}
	t.ended.Add(1)
	for line := range strings.Lines(said.String()) {
		if all || strings.HasPrefix(line, "--- ") {
			fmt.Fprint(t.out, line)
		}
	}
}

// abandon counts the tests that a panic or the time limit cut short: they get
// no result of their own. An empty pkg means every package.
func (t *tally) abandon(pkg string) {
	var left []test
	for id := range t.running {
		if pkg == "" || id.pkg == pkg {
			left = append(left, id)
		}
	}
	slices.SortFunc(left, func(a, b test) int { return strings.Compare(a.pkg+a.name, b.pkg+b.name) })
	for _, id := range left {
		t.end(id, &t.failed, true)
		fmt.Fprintf(t.out, "--- FAIL: %s (did not end)\n", id.name)
	}
}

// state says how far the run is. It may be called from any goroutine.
func (t *tally) state() string {
	begun, ended := t.begun.Load(), t.ended.Load()
	if begun == 0 {
		return "compiling the tests"
	}
	return fmt.Sprintf("%d tests have ended, %d are under way", ended, begun-ended)
}

// verdict says why the run proves less than it should.
func (t *tally) verdict() error {
	var reasons []error
	if len(t.failed) > 0 {
		reasons = append(reasons, fmt.Errorf("failed: %s", names(t.failed)))
	}
	if len(t.skipped) > 0 {
		reasons = append(reasons, fmt.Errorf("skipped, which counts as failed here: %s", names(t.skipped)))
	}
	if len(t.passed)+len(t.failed)+len(t.skipped) == 0 {
		reasons = append(reasons, errors.New("no test whose name begins with TestAcc was run; check the packages and the -run pattern"))
	}
	return errors.Join(reasons...)
}

func names(tests []test) string {
	list := make([]string, 0, len(tests))
	for _, id := range tests {
		list = append(list, id.name)
	}
	return strings.Join(list, ", ")
}

// line is the closing line; other programs read it, so its form is fixed.
func (t *tally) line() string {
	return fmt.Sprintf("acceptance: %d passed, %d failed, %d skipped", len(t.passed), len(t.failed), len(t.skipped))
}
