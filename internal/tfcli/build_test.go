//go:build unix

package tfcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// quick is Pinned for OpenTofu with signs of life that a test can wait for.
func quick(progress *transcript) builder {
	return builder{recipe: recipes[0], progress: progress, every: time.Millisecond}
}

// Prevents: building again on every run, in a folder that is not the pin's, or
// with flags that are meant for the caller's own module.
func TestPinnedBuildsOnce(t *testing.T) {
	m := newMachine(t)
	t.Setenv("GOFLAGS", "-mod=vendor")
	m.goThatBuilds("OpenTofu v1.12.6", "")
	below := filepath.Join(m.repo, "provider", "testdata")
	m.file(filepath.Join(below, "main.tf"), "", 0o644)
	t.Chdir(below)
	for range 2 {
		cli, err := Pinned(t.Context(), OpenTofu, &transcript{})
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(m.cache, "tofu-1.12.6", "tofu"); cli.Path != want {
			t.Errorf("built %s, want %s", cli.Path, want)
		}
	}
	call, err := os.ReadFile(m.calls())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"tools/tofu |off|0 build -mod=readonly", "version.dev=no", "github.com/opentofu/opentofu/cmd/tofu"} {
		if strings.Count(string(call), part) != 1 {
			t.Errorf("%q is not there once in the calls of go:\n%s", part, call)
		}
	}
}

// Prevents: a raised pin that goes on using the old program.
func TestPinnedFollowsThePin(t *testing.T) {
	m := newMachine(t)
	m.goThatBuilds("Terraform v1.14.3", "")
	if _, err := Pinned(t.Context(), Terraform, &transcript{}); err != nil {
		t.Fatal(err)
	}
	m.file(filepath.Join(m.repo, "tools/terraform/go.mod"), "require github.com/hashicorp/terraform v1.15.0\n", 0o644)
	m.goThatBuilds("Terraform v1.15.0", "")
	cli, err := Pinned(t.Context(), Terraform, &transcript{})
	if err != nil {
		t.Fatal(err)
	}
	if cli.Version != "1.15.0" || m.builds() != 2 {
		t.Errorf("got %s after %d builds", cli, m.builds())
	}
}

// Prevents: a build that says nothing for minutes and looks hung.
func TestBuildShowsThatItIsAlive(t *testing.T) {
	m := newMachine(t)
	fifo, release := m.fifo()
	m.goThatBuilds("OpenTofu v1.12.6", `read x < "`+fifo+`"`)
	// The second line is the first that only a running build can write.
	progress := &transcript{word: "once)\nbuilding OpenTofu 1.12.6, ", call: release}
	if _, err := quick(progress).cli(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := progress.String(); !strings.Contains(text, "so far (usually ") || !strings.Contains(text, "built OpenTofu 1.12.6 in ") {
		t.Errorf("progress was: %s", text)
	}
}

// Prevents: two builds at once, say of the demo and of the tests, that take
// twice as long, or of which one sees the other's half-written program.
func TestConcurrentBuildsShareOne(t *testing.T) {
	m := newMachine(t)
	fifo, release := m.fifo()
	m.goThatBuilds("OpenTofu v1.12.6", `read x < "`+fifo+`"`)
	// The build ends only when somebody else was seen to wait for it.
	progress := &transcript{word: "waiting for another process", call: release}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := quick(progress).cli(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if m.builds() != 1 {
		t.Errorf("%d builds, want 1", m.builds())
	}
}

// Prevents: a waiting process that cannot be stopped.
func TestWaitEndsWithItsContext(t *testing.T) {
	m := newMachine(t)
	m.goThatBuilds("OpenTofu v1.12.6", "")
	home := filepath.Join(m.cache, "tofu-1.12.6")
	m.file(filepath.Join(home, ".lock"), "", 0o644)
	unlock, err := quick(&transcript{}).lock(t.Context(), filepath.Join(home, ".lock"), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	progress := &transcript{word: "waiting for another process", call: cancel}
	if _, err := quick(progress).cli(ctx); !errors.Is(err, context.Canceled) || m.builds() != 0 {
		t.Errorf("got %v after %d builds", err, m.builds())
	}
}

// Prevents: leftovers of a failed or stopped build that the next run takes for
// a working program, and errors without the compiler's reason.
func TestFailedBuildLeavesNothing(t *testing.T) {
	for _, test := range []struct{ name, line, extra, want string }{
		{"go fails", "", `echo "tofu.go:1: no such module" >&2; exit 1`, "no such module"},
		{"what was built does not run", "Segmentation fault", "", "was built, but"},
		{"interrupted", "", `echo interrupting; trap 'exit 1' INT; read x < "$PWD/../../fifo"`, "was interrupted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			m.fifo()
			m.goThatBuilds(test.line, test.extra)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			progress := &transcript{}
			if test.name == "interrupted" {
				progress.word, progress.call = "once)\nbuilding", cancel
			}
			_, err := quick(progress).cli(ctx)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			entries, err := os.ReadDir(filepath.Join(m.cache, "tofu-1.12.6"))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if entry.Name() != ".lock" {
					t.Errorf("left behind: %s", entry.Name())
				}
			}
		})
	}
}

// Prevents: a cached program that stopped working (another architecture under
// the same home folder) blocking every later run.
func TestBrokenCacheIsRebuilt(t *testing.T) {
	m := newMachine(t)
	m.goThatBuilds("OpenTofu v1.12.6", "")
	m.file(filepath.Join(m.cache, "tofu-1.12.6", "tofu"), "junk", 0o755)
	cli, err := Pinned(t.Context(), OpenTofu, &transcript{})
	if err != nil {
		t.Fatal(err)
	}
	if cli.Version != "1.12.6" || m.builds() != 1 {
		t.Errorf("got %s after %d builds", cli, m.builds())
	}
}

// Prevents: an error deep inside the go command when run outside a clone.
func TestPinnedOutsideAClone(t *testing.T) {
	newMachine(t)
	t.Chdir(t.TempDir())
	if _, err := Pinned(t.Context(), OpenTofu, &transcript{}); err == nil || !strings.Contains(err.Error(), "inside a clone") {
		t.Errorf("got %v", err)
	}
	if _, err := Pinned(t.Context(), "pulumi", &transcript{}); err == nil || !strings.Contains(err.Error(), "tofu and terraform") {
		t.Errorf("got %v", err)
	}
}

// Prevents: a pin that the parser cannot read, noticed only on a machine
// without a CLI, by a user.
func TestRealPinsAreRead(t *testing.T) {
	for _, r := range recipes {
		version, err := builder{recipe: r}.version(filepath.Join("../../tools", r.name, "go.mod"))
		if err != nil || strings.Count(version, ".") != 2 {
			t.Errorf("%s: got %q, %v", r.name, version, err)
		}
	}
}
