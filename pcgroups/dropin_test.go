package pcgroups_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	ourPath    = "github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
	oraclePath = "github.com/synadia-io/orbit.go/pcgroups"
)

// Prevents: a call that compiles with the oracle and not with this package. The
// program calls everything the oracle exports.
func TestDropInProgram(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	text, err := os.ReadFile("testdata/dropin/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{oraclePath, ourPath} {
		t.Run(path, func(t *testing.T) { compile(t, strings.ReplaceAll(string(text), `"IMPORT"`, `"`+path+`"`)) })
	}
	program := string(text)
	for _, name := range exported(t) {
		last := name[strings.LastIndexByte(name, '.')+1:]
		if !strings.Contains(program, last) {
			t.Errorf("the program does not use %s of the oracle", name)
		}
	}
}

// compile builds a program as a package of this module that is not on disk.
func compile(t *testing.T, program string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "internal", "dropin", "main.go"): file}})
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, ".", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "program"), "./internal/dropin")
}

// Prevents: a real program of the oracle's users that does not change over by its
// import path alone. Its own command line tool is one.
func TestDropInCommandLineTool(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	src := moduleDir(t)
	dir := t.TempDir()
	for from, to := range map[string]string{"cg/main.go": "main.go", "go.mod": "go.mod", "go.sum": "go.sum"} {
		text, err := os.ReadFile(filepath.Join(src, from))
		if err != nil {
			t.Fatal(err)
		}
		if to == "main.go" {
			text = []byte(strings.ReplaceAll(string(text), `"`+oraclePath+`"`, `"`+ourPath+`"`))
			if !strings.Contains(string(text), ourPath) {
				t.Fatal("the tool does not import the oracle")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "mod", "edit", "-module=example.test/cg",
		"-require="+strings.TrimSuffix(ourPath, "/pcgroups")+"@v0.0.0", "-replace="+strings.TrimSuffix(ourPath, "/pcgroups")+"="+here)
	run(t, dir, "build", "-mod=mod", "-o", "cg", ".")
}

func moduleDir(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", "list", "-m", "-f", "{{.Dir}}", oraclePath))
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// exported lists what the oracle offers to callers: functions, types with their
// fields, methods. Its …ConsumerInstance structs are internals.
func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleDir(t), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(name string) {
		if !strings.Contains(name, "ConsumerInstance") && ast.IsExported(name[strings.LastIndexByte(name, '.')+1:]) {
			names = append(names, name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
				} else if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					add(star.X.(*ast.Ident).Name + "." + d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					add(ts.Name.Name)
					if st, ok := ts.Type.(*ast.StructType); ok {
						for _, field := range st.Fields.List {
							for _, n := range field.Names {
								add(ts.Name.Name + "." + n.Name)
							}
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	if len(names) < 50 {
		t.Fatalf("only %d exported names found: %v", len(names), names)
	}
	return names
}

// Prevents: a field with another name, type, tag or place, any of which would
// change what is stored.
func TestDropInTypes(t *testing.T) {
	t.Parallel()
	types := [][2]reflect.Type{
		{reflect.TypeFor[pcgroups.MemberMapping](), reflect.TypeFor[oracle.MemberMapping]()},
		{reflect.TypeFor[pcgroups.PartitioningFilter](), reflect.TypeFor[oracle.PartitioningFilter]()},
		{reflect.TypeFor[pcgroups.StaticConsumerGroupConfig](), reflect.TypeFor[oracle.StaticConsumerGroupConfig]()},
		{reflect.TypeFor[pcgroups.ElasticConsumerGroupConfig](), reflect.TypeFor[oracle.ElasticConsumerGroupConfig]()},
	}
	for _, ty := range types {
		if a, b := fields(ty[0]), fields(ty[1]); !slices.Equal(a, b) {
			t.Errorf("%s has\n%q\nthe oracle\n%q", ty[0], a, b)
		}
	}
	// Users' fakes have these two methods and no more.
	ours := reflect.TypeFor[pcgroups.ConsumerGroupConsumeContext]()
	theirs := reflect.TypeFor[oracle.ConsumerGroupConsumeContext]()
	if !ours.ConvertibleTo(theirs) || !theirs.ConvertibleTo(ours) {
		t.Error("ConsumerGroupConsumeContext has other methods than the oracle's")
	}
}

func fields(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			out = append(out, f.Name+" "+f.Type.String()+" "+string(f.Tag))
		}
	}
	return out
}
