package conformance

import (
	"context"
	"flag"
	"io/fs"
	"testing"
)

var update = flag.Bool("update", false, "record the goldens and vectors anew, from the reference")

// Every case has a golden, and every golden a case: one that no case reads would
// be taken for a promise that nothing keeps. That a golden still is what the
// reference sends is checked by the suite, where the reference plays too.
func TestGoldensBelongToCases(t *testing.T) {
	if *update {
		recordGoldens(t)
		return // what is built into this binary is the goldens as they were
	}
	used := map[string]bool{}
	for _, c := range wireCases() {
		if used[goldenFile(c.Name)] {
			t.Errorf("%s: two cases have this golden", c.Name)
		}
		used[goldenFile(c.Name)] = true
		want, err := readGolden(c.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if again, err := parseTranscript(want.String()); err != nil || again.String() != want.String() {
			t.Errorf("%s: written and read again it is another: %v", c.Name, err)
		}
	}
	files, err := fs.ReadDir(testdata, goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] {
			t.Errorf("%s belongs to no case", f.Name())
		}
	}
}

func recordGoldens(t *testing.T) {
	lab, err := EmbeddedLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range wireCases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got, err := playWire(context.WithoutCancel(t.Context()), lab, c, Oracle())
			if err == nil {
				err = writeGolden(c.Name, got)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
