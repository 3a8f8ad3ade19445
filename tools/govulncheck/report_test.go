package main

import (
	"strings"
	"testing"
)

// Prevents: a check that passes whatever is found, or one that can not pass
// because the toolchain is older than the newest; and one that complains of what
// nobody calls.
func TestReport(t *testing.T) {
	const config = `{"config":{"scanner_version":"v1","go_version":"go1.26.8"}} {"osv":{"id":"GO-1","summary":"sums up"}}`
	finding := func(id, module, function string) string {
		return `{"finding":{"osv":"` + id + `","fixed_version":"v2","trace":[{"module":"` + module + `","version":"v1","package":"p","receiver":"*T","function":"` + function + `"},{"module":"m","package":"main","function":"main"}]}}`
	}
	for name, tc := range map[string]struct {
		output string
		bad    bool
		says   string
	}{
		"nothing":             {config, false, "0 in dependencies, 0 in the standard library of go1.26.8"},
		"called":              {config + finding("GO-1", "x.org/y", "F"), true, "GO-1 in x.org/y v1, mended in v2: sums up\n  p.*T.F\n  from main.main\n"},
		"not called":          {config + finding("GO-1", "x.org/y", ""), false, "0 in dependencies"},
		"standard library":    {config + finding("GO-1", "stdlib", "F"), false, "GO-1 in the standard library of go1.26.8, mended in v2"},
		"both":                {config + finding("GO-1", "stdlib", "F") + finding("GO-2", "x.org/y", "F"), true, "1 in dependencies, 1 in"},
		"twice":               {config + finding("GO-2", "x.org/y", "F") + finding("GO-2", "x.org/y", "G"), true, "1 in dependencies"},
		"without what is new": {config + `{"progress":{"message":"…"}} {"SBOM":{}}`, false, "0 in dependencies"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := read(strings.NewReader(tc.output))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if bad := r.tell(&out); bad != tc.bad || !strings.Contains(out.String(), tc.says) {
				t.Errorf("bad %t: %s", bad, &out)
			}
		})
	}
	for name, output := range map[string]string{"no output": "", "cut off": config + `{"finding":`, "not JSON": "panic: x"} {
		if _, err := read(strings.NewReader(output)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
