package pcgroups

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goList runs go list -deps and returns import paths with the module each is
// from; none for the standard library.
func goList(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}"}, packages...)
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	deps := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, module, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("go list printed %q", line)
		}
		deps[path] = module
	}
	return deps
}

const natsModule = "github.com/nats-io/nats.go"

// Every further dependency becomes one of each program that uses the library,
// with its faults and its licence. The library builds on the standard library
// and nats.go; whatever nats.go itself needs comes with it.
func TestLibraryDependsOnlyOnTheClient(t *testing.T) {
	client := goList(t, natsModule, natsModule+"/jetstream")
	if client[natsModule+"/jetstream"] != natsModule {
		t.Fatalf("the client's own list is wrong: %v", client)
	}
	const self = "github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
	deps := goList(t, ".")
	if deps[self] == "" {
		t.Fatalf("the library's own list is wrong: %v", deps)
	}
	for path, module := range deps {
		if _, fromClient := client[path]; !fromClient && module != natsModule && path != self {
			t.Errorf("the library depends on %s", path)
		}
	}
}

// pureFiles decide; others do I/O. They can be tested exhaustively and by scripts
// only as long as nothing in them waits, asks a server or looks at a clock. Those
// with true may use package time, for types and lengths.
var pureFiles = map[string]bool{
	"names.go": false, "config.go": false, "validate.go": false, "partition.go": false, "transform.go": false, "edit.go": false, "errors.go": false,
	"machine.go": true, "learn.go": true, "event.go": true, "automember_judge.go": true,
}

// allowedOfTime is what pure code may take from package time: no clock, no timer.
var allowedOfTime = []string{"Duration", "Time", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

func TestPureFilesStayPure(t *testing.T) {
	forbidden := []string{"context", "os", "net", "sync", "math/rand", "math/rand/v2", "log", "log/slog", "syscall", "runtime"}
	for file, mayTime := range pureFiles {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range importsOf(t, f) {
			if slices.Contains(forbidden, path) || strings.Contains(path, ".") || (path == "time" && !mayTime) {
				t.Errorf("%s imports %s", file, path)
			}
		}
		for _, name := range usesOf(f, "time") {
			if !slices.Contains(allowedOfTime, name) {
				t.Errorf("%s uses time.%s", file, name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", file)
			}
			return true
		})
	}
}

func importsOf(t *testing.T, f *ast.File) (paths []string) {
	t.Helper()
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// usesOf returns the names that a file takes from an imported package, under
// whatever name it imports it.
func usesOf(f *ast.File, path string) (names []string) {
	local := ""
	for _, imp := range f.Imports {
		if imp.Path.Value != strconv.Quote(path) {
			continue
		}
		local = path[strings.LastIndexByte(path, '/')+1:]
		if imp.Name != nil {
			local = imp.Name.Name
		}
	}
	if local == "" {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// The library must log only where it was told to. The functions of log and the
// package-level ones of slog write to the process logger, which is the program's.
func TestLibraryHasNoLoggerOfItsOwn(t *testing.T) {
	ofProcess := []string{"Default", "SetDefault", "SetLogLoggerLevel", "Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "With",
		"DebugContext", "InfoContext", "WarnContext", "ErrorContext"}
	for _, file := range goFiles(t, ".") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(importsOf(t, f), "log") {
			t.Errorf("%s imports log", file)
		}
		for _, name := range usesOf(f, "log/slog") {
			if slices.Contains(ofProcess, name) {
				t.Errorf("%s uses slog.%s", file, name)
			}
		}
		for _, name := range usesOf(f, "fmt") {
			if strings.HasPrefix(name, "Print") {
				t.Errorf("%s uses fmt.%s", file, name)
			}
		}
	}
}

// A long file has two jobs, and nobody reads it to its end.
func TestFilesAreShort(t *testing.T) {
	for _, file := range goFiles(t, "..") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		most := 300
		if strings.HasSuffix(file, "_test.go") {
			most = 500
		}
		if n := bytes.Count(b, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, more than %d", file, n, most)
		}
	}
}

// A sleep in a test is too short on a busy machine and too long on all others.
// The library itself may not block a caller with one either.
func TestNothingSleeps(t *testing.T) {
	for _, file := range goFiles(t, "..") {
		library := filepath.Dir(file) == filepath.Join("..", "pcgroups")
		if !library && !strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(usesOf(f, "time"), "Sleep") {
			t.Errorf("%s sleeps", file)
		}
	}
}

// goFiles returns the Go files of this module under a folder: not those of other
// modules, of hidden folders or of test data.
func goFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			otherModule := err == nil && path != ".."
			hidden := strings.HasPrefix(d.Name(), ".") && path != root
			if otherModule || hidden || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}
