package tfcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// recipe says how one CLI is built. Its version is whatever the go.mod of its
// folder requires, so that there is one place to change it.
type recipe struct {
	title   string // for people
	name    string // of the program, and of its folder under tools
	module  string
	pkg     string
	release string // the linker flag that drops "-dev" from the version
	usually string
}

var recipes = []recipe{
	{
		title: "OpenTofu", name: OpenTofu,
		module: "github.com/opentofu/opentofu", pkg: "github.com/opentofu/opentofu/cmd/tofu",
		release: "-X github.com/opentofu/opentofu/version.dev=no", usually: "5–13 minutes",
	},
	{
		title: "Terraform", name: Terraform,
		module: "github.com/hashicorp/terraform", pkg: "github.com/hashicorp/terraform",
		release: "-X github.com/hashicorp/terraform/version.dev=no", usually: "3–6 minutes",
	},
}

// Pinned returns the CLI called name ("terraform" or "tofu") at the version
// that its folder under tools pins. It is built once and then reused from the
// user's cache folder; builds of several processes wait for the first one.
func Pinned(ctx context.Context, name string, progress io.Writer) (CLI, error) {
	for _, r := range recipes {
		if r.name == name {
			return builder{recipe: r, progress: progress, every: 10 * time.Second}.cli(ctx)
		}
	}
	return CLI{}, fmt.Errorf("no pinned CLI is called %q: there are %s and %s", name, OpenTofu, Terraform)
}

// builder is one use of a recipe.
type builder struct {
	recipe
	progress io.Writer
	every    time.Duration // between two signs of life
}

func (b builder) cli(ctx context.Context) (CLI, error) {
	folder, err := b.folder()
	if err != nil {
		return CLI{}, err
	}
	version, err := b.version(filepath.Join(folder, "go.mod"))
	if err != nil {
		return CLI{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return CLI{}, fmt.Errorf("no folder to keep it in: %w; set HOME or XDG_CACHE_HOME", err)
	}
	title := b.title + " " + version
	home := filepath.Join(cache, "pcgroups-tools", b.name+"-"+version)
	path := filepath.Join(home, b.name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if cli, err := b.reuse(ctx, path); err == nil {
		return cli, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return CLI{}, err
	}
	unlock, err := b.lock(ctx, filepath.Join(home, ".lock"), title)
	if err != nil {
		return CLI{}, err
	}
	defer unlock()
	// The process that held the lock may have built it.
	if cli, err := b.reuse(ctx, path); err == nil {
		return cli, nil
	}
	return b.build(ctx, folder, path, title)
}

// reuse fails if nothing was built yet, and also if what is there no longer
// runs, as after a change of the machine under a kept home folder.
func (b builder) reuse(ctx context.Context, path string) (CLI, error) {
	if _, err := os.Stat(path); err != nil {
		return CLI{}, err
	}
	return probe(ctx, path)
}

// build leaves path untouched until the new program has run once.
func (b builder) build(ctx context.Context, folder, path, title string) (CLI, error) {
	scratch, err := os.MkdirTemp(filepath.Dir(path), ".build-")
	if err != nil {
		return CLI{}, err
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, filepath.Base(path))

	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w "+b.release, "-o", built, b.pkg)
	cmd.Dir = folder
	// The caller's flags and workspace are meant for the caller's module. The
	// CLI needs no C, and without it builds the same wherever Go does.
	// Go's own scratch files go with ours, also when it is interrupted.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOTMPDIR="+scratch)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// go removes its scratch files when it is interrupted, not when killed.
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = 10 * time.Second

	begun := time.Now()
	err = b.whileTelling(func(sofar time.Duration) string {
		return fmt.Sprintf("building %s, %s so far (usually %s, once)", title, sofar, b.usually)
	}, cmd.Run)
	if ctx.Err() != nil {
		return CLI{}, fmt.Errorf("building %s was interrupted: %w", title, ctx.Err())
	}
	if errors.Is(err, exec.ErrNotFound) {
		return CLI{}, fmt.Errorf("building %s needs the go command on PATH: %w", title, err)
	}
	if err != nil {
		return CLI{}, fmt.Errorf("building %s in %s: %w%s", title, folder, err, indented(out.Bytes()))
	}
	if _, err := probe(ctx, built); err != nil {
		return CLI{}, fmt.Errorf("%s was built, but: %w", title, err)
	}
	if err := os.Rename(built, path); err != nil {
		return CLI{}, err
	}
	fmt.Fprintf(b.progress, "built %s in %s: %s\n", title, time.Since(begun).Round(time.Second), path)
	return probe(ctx, path)
}

func interrupt(process *os.Process) error {
	if runtime.GOOS == "windows" {
		return process.Kill()
	}
	return process.Signal(os.Interrupt)
}

// whileTelling runs work, with a line of text at once and another every now
// and then until it returns.
func (b builder) whileTelling(line func(sofar time.Duration) string, work func() error) error {
	begun := time.Now()
	fmt.Fprintln(b.progress, line(0))
	done := make(chan error, 1)
	go func() { done <- work() }()
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			fmt.Fprintln(b.progress, line(time.Since(begun).Round(time.Second)))
		}
	}
}

// folder finds tools/NAME of this repository, from any folder inside it.
func (b builder) folder() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, "tools", b.name)
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is built from tools/%s of this repository, which is not above %s; run this inside a clone",
				b.title, b.name, start)
		}
	}
}

// version reads the line "MODULE vVERSION" of a go.mod.
func (b builder) version(gomod string) (string, error) {
	text, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == b.module && strings.HasPrefix(fields[1], "v") {
			return fields[1][1:], nil
		}
	}
	return "", fmt.Errorf("%s requires no version of %s", gomod, b.module)
}
