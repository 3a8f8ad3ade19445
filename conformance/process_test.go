package conformance

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built compiles an adapter, in the module that its folder belongs to.
func built(t *testing.T, dir string) Implementation {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "adapter")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
	i, err := Program(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func runCases(t *testing.T, subject Implementation, pick func(string) bool) []Result {
	t.Helper()
	lab, err := EmbeddedLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	results, err := Suite{Lab: lab, Subjects: []Implementation{subject}, Partners: []Implementation{Oracle(), Ours()}, Select: pick}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// The protocol must neither hide nor add anything: the reference has to score as
// a program as it does in this process.
func TestProgramScoresAsInProcess(t *testing.T) {
	program := built(t, "adapters/oracle")
	if program.Hello.Version != OracleVersion || !program.Has(Oracle().Hello.Features...) {
		t.Errorf("introduces itself as %+v", program.Hello)
	}
	results := runCases(t, program, func(name string) bool {
		return strings.HasPrefix(name, "wire/") || strings.Contains(name, "/step-down/") || strings.Contains(name, "/walk/creator=ours,admin=oracle-program")
	})
	outcome := map[string]map[string]Result{} // case → implementation → result
	live := 0
	for _, r := range results {
		if strings.HasPrefix(r.Case, "live/") {
			if live++; r.Status != Pass {
				t.Errorf("%s: %s\n%s%s", r.Case, r.Status, differences(r.Differences), r.Note)
			}
			continue
		}
		if outcome[r.Case] == nil {
			outcome[r.Case] = map[string]Result{}
		}
		outcome[r.Case][r.Implementations[0]] = r
	}
	if live < 10 || len(outcome) < 90 {
		t.Errorf("%d live and %d wire cases were played", live, len(outcome))
	}
	for name, by := range outcome {
		here, there := by[Oracle().ID()], by[program.ID()]
		if here.Status != there.Status || differences(here.Differences) != differences(there.Differences) {
			t.Errorf("%s: %s in this process, %s as a program\n%s%s", name, here.Status, there.Status, differences(there.Differences), there.Note)
		}
	}
}

// What the first release breaks must be told as what it is: known where it is
// listed, unsupported where it says so, and never passed over.
func TestFirstReleaseIsToldApart(t *testing.T) {
	orbit := built(t, "adapters/orbit-v0.1.0")
	want := map[string]struct {
		status Status
		says   string
	}{
		"wire/elastic/create/filter-one":                                            {Known, "legacy format"},
		"wire/elastic/create/filters-many":                                          {Unsupported, FeatureManyFilters},
		"wire/elastic/create/filters-null":                                          {Unsupported, FeatureWholeSubject},
		"wire/static/create/filter-one":                                             {Known, `added .filter: "orders.*"`},
		"wire/static/session/stay/ackwait-30s":                                      {Known, "the priority group has the member's name"},
		"wire/elastic/add/first":                                                    {Known, `no key "filter"`},
		"live/static/walk/creator=orbit@v0.1.0,admin=ours,members=ours":             {Known, "legacy format"},
		"live/elastic/walk/creator=ours,admin=ours,members=orbit@v0.1.0":            {Known, "refuses every current elastic configuration"},
		"live/static/step-down/first=orbit@v0.1.0,second=oracle@v0.2.2":             {Known, "has other settings"},
		"live/static/delete-while-running/admin=oracle@v0.2.2,members=orbit@v0.1.0": {Pass, ""},
	}
	seen := 0
	for _, r := range runCases(t, orbit, func(name string) bool { _, ok := want[name]; return ok }) {
		w := want[r.Case]
		if !strings.Contains(strings.Join(r.Implementations, " "), orbit.ID()) {
			continue
		}
		seen++
		if said := differences(r.Known) + r.Note; r.Status != w.status || !strings.Contains(said, w.says) {
			t.Errorf("%s: %s, and not %s with %q:\n%s%s", r.Case, r.Status, w.status, w.says, said, differences(r.Differences))
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d cases were played", seen, len(want))
	}
}

// An adapter that does not work is the harness's trouble, not a verdict on an
// implementation, and must not hang the suite.
func TestBrokenAdapters(t *testing.T) {
	for name, script := range map[string]string{
		"ends at once":         `exit 3`,
		"says nothing of self": `read l; echo '{"id":1,"result":{}}'; read l`,
		"another protocol":     `read l; echo '{"id":1,"result":{"hello":{"protocol":99,"name":"x"}}}'; read l`,
		"noise, then the end":  `read l; echo 'Traceback (most recent call last)' >&2; echo not-json; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "adapter.sh")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Program(context.WithoutCancel(t.Context()), "sh "+file); !errors.Is(err, ErrHarness) {
				t.Errorf("error %v is not the harness's", err)
			}
		})
	}
}
