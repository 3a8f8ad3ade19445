package conformance

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"a*c", "abc", true}, {"a*c", "ac", true},
		{"a*b*c", "axbyc", true}, {"a*b*c", "axc", false}, {"ab*ba", "aba", false}, {"*", "", true}, {"wire/*/list", "wire/static/list", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

// The list is code that nobody compiles: a line that is read wrongly would let
// anything pass.
func TestDivergenceListIsRead(t *testing.T) {
	for _, bad := range []string{"x | y | z", "x | y | z | ", "a | b | c | d | e"} {
		if _, err := parseDivergences(bad); !errors.Is(err, ErrHarness) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if ds, err := loadDivergences(); err != nil || len(ds) < 20 {
		t.Errorf("%d entries, %v", len(ds), err)
	}
}

// A listed difference that does not show, and one that belongs to no case, must
// fail, or the list would rot.
func TestDivergencesMustBeTrue(t *testing.T) {
	ds, err := parseDivergences("ours | wire/a | step: x* | why\nours | ~wire/b | step: y | why\nours | wire/gone | step: z | why\nother@v1 | wire/a | step: x | why\nours | ~wire/with-other@v1 | q | why")
	if err != nil {
		t.Fatal(err)
	}
	shown := Result{Case: "wire/a", Implementations: []string{"ours"}}
	ds.apply(&shown, []finding{{"ours", "step: x1"}, {"ours", "step: new"}}, false)
	if len(shown.Known) != 1 || len(shown.Differences) != 1 || shown.Differences[0].Text != "step: new" {
		t.Errorf("known %v, differences %v", shown.Known, shown.Differences)
	}
	missing := Result{Case: "wire/a", Implementations: []string{"ours"}}
	ds.apply(&missing, nil, false)
	if len(missing.Differences) != 1 || !strings.Contains(missing.Differences[0].Text, "unexpectedly conforms") {
		t.Errorf("differences %v", missing.Differences)
	}
	quiet := Result{Case: "wire/b", Implementations: []string{"ours"}, Status: Pass}
	ds.apply(&quiet, nil, false)
	if len(quiet.Differences) != 0 {
		t.Errorf("what shows only sometimes did not: %v", quiet.Differences)
	}
	shown.Status = Known
	stale := ds.stale([]Result{shown, quiet}, []Implementation{{Hello: Hello{Name: "ours"}}})
	var lines []int
	for _, d := range stale {
		lines = append(lines, d.line)
	}
	if !slices.Equal(lines, []int{2, 3}) {
		t.Errorf("stale are lines %v, not 2 (never shown) and 3 (no such case)", lines)
	}
	quiet.Status = Unsupported
	if stale := ds.stale([]Result{shown, quiet}, []Implementation{{Hello: Hello{Name: "ours"}}}); len(stale) != 1 {
		t.Errorf("an entry whose cases were not played is called stale: %v", stale)
	}
}

// nil, empty and missing decide whether running members of the reference live,
// so they must be told apart in what is stored.
func TestJSONComparison(t *testing.T) {
	for _, c := range []struct {
		want, got string
		strict    bool
		found     int
	}{
		{`{"a":[]}`, `{"a":null}`, true, 1}, {`{"a":[]}`, `{}`, true, 1}, {`{"a":null}`, `{}`, true, 1},
		{`{"a":[]}`, `{"a":null}`, false, 0}, {`{"a":0,"b":false}`, `{}`, false, 0}, {`{}`, `{"a":1}`, false, 1},
		{`{"a":["x","y"]}`, `{"a":["y","x"]}`, true, 1}, {`{"a":1,"b":"\u003e"}`, `{ "b":">", "a":1}`, true, 0},
		{`{"a":9223372036854775807}`, `{"a":9223372036854775806}`, true, 1},
	} {
		if got, err := compareJSON(c.want, c.got, c.strict); err != nil || len(got) != c.found {
			t.Errorf("%s and %s: %v, %v", c.want, c.got, got, err)
		}
	}
}

func TestExtraAndMissingRequests(t *testing.T) {
	write := func(subjects ...string) (out []entry) {
		for _, s := range subjects {
			out = append(out, entry{kind: kindWrite, subject: s})
		}
		return out
	}
	c := comparison{step: "s"}
	c.ordered(write("a", "b", "c"), write("a", "x", "c", "c"))
	want := []string{"s: missing write b", "s: added write x", "s: added write c"}
	slices.Sort(c.found)
	slices.Sort(want)
	if !slices.Equal(c.found, want) {
		t.Errorf("found %q", c.found)
	}
}

// The exit code is what a pipeline goes by.
func TestExitCodeTellsTheTruth(t *testing.T) {
	for _, c := range []struct {
		statuses []Status
		want     int
	}{
		{[]Status{Pass, Known, Unsupported}, 0}, {[]Status{Pass, Fail}, 1}, {[]Status{Pass, HarnessError}, 2},
		{[]Status{Fail, HarnessError}, 2}, {[]Status{Unsupported}, 2}, {nil, 2},
	} {
		if got := reportOf(c.statuses...).ExitCode(); got != c.want {
			t.Errorf("%v: exit code %d, not %d", c.statuses, got, c.want)
		}
	}
}

func reportOf(statuses ...Status) *Report {
	r := NewReport("make conformance", "abc", Ours(), Oracle())
	var results []Result
	for i, s := range statuses {
		res := Result{Case: "wire/" + string(rune('a'+i)), Implementations: []string{"ours"}, Status: s, Note: "note & <more>"}
		if s == Fail {
			res.Differences = []Difference{{"ours", "step: <x> | y", ""}}
		}
		if s == Known {
			res.Known = []Difference{{"ours", "step: z", "because"}}
		}
		results = append(results, res)
	}
	r.Add(&Lab{Version: "2.15.3", clusters: true}, 0, results)
	return r
}

// The five outcomes must stay apart in every form of the report.
func TestReportForms(t *testing.T) {
	dir := t.TempDir()
	if err := reportOf(Statuses...).Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var asJSON Report
	if err := json.Unmarshal(read("report.json"), &asJSON); err != nil || len(asJSON.Runs) != 1 || len(asJSON.Runs[0].Counts) != len(Statuses) {
		t.Errorf("report.json: %v, %+v", err, asJSON.Runs)
	}
	var asXML junitSuites
	if err := xml.Unmarshal(read("junit.xml"), &asXML); err != nil || len(asXML.Suites) != 1 {
		t.Fatalf("junit.xml: %v", err)
	}
	if s := asXML.Suites[0]; s.Tests != 5 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || !strings.Contains(s.Cases[2].Out, "because") {
		t.Errorf("junit.xml: %+v", s)
	}
	md := string(read("report.md"))
	for _, want := range []string{"make conformance", "| oracle (go) | v0.2.2 |", "## fail: 1", "## harness error: 1", "## known divergence: 1", "## unsupported feature: 1", "because"} {
		if !strings.Contains(md, want) {
			t.Errorf("report.md lacks %q", want)
		}
	}
}

// Two cases of one name could not be told apart in the list of divergences.
func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range append(wireCases(), liveCases([]Implementation{Ours()}, []Implementation{Oracle()})...) {
		if seen[c.Name] || (c.wire == nil) == (c.live == nil) {
			t.Errorf("%s: is there twice, or is not one of wire and live", c.Name)
		}
		seen[c.Name] = true
	}
}
