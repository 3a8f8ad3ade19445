package natstest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The demo and the fault runs are programs, not tests: importing package
// testing, or this package, would give them the test binary's flags.
func TestCorePackagesAreFreeOfTesting(t *testing.T) {
	for _, dir := range []string{"embedded", "faultproxy", "poll", "../checker"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path, err := strconv.Unquote(imp.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if path == "testing" || strings.HasPrefix(path, "testing/") || path == "log" || strings.HasSuffix(path, "/natstest") {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}
