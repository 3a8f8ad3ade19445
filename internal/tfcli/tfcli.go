// Package tfcli finds the Terraform or OpenTofu program that the demo and the
// acceptance tests run, and builds a pinned one where the machine has none.
//
// The order is: the program named by TF_ACC_TERRAFORM_PATH, then terraform and
// tofu on PATH, then OpenTofu built from tools/tofu and kept in the user's
// cache folder. Nothing is ever downloaded as a binary, so a machine that has
// only Go and a module proxy can run everything.
package tfcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// PathVariable names the environment variable that picks the CLI. It is the
// one terraform-plugin-testing reads, so one setting steers both.
const PathVariable = "TF_ACC_TERRAFORM_PATH"

// The names of the two CLIs, as in [CLI.Name] and for [Pinned].
const (
	Terraform = "terraform"
	OpenTofu  = "tofu"
)

// Provider functions and moves between resource types need 1.8, in both CLIs.
const oldestMajor, oldestMinor = 1, 8

// A CLI hands out its version in well under a second; the limit only keeps a
// wrapper script that waits for input from hanging every caller.
const probeTimeout = 30 * time.Second

// CLI is a Terraform or OpenTofu program that was run once and answered.
type CLI struct {
	Path    string // absolute
	Name    string // Terraform or OpenTofu, whatever the file is called
	Version string // such as "1.11.4", without a leading v
}

// String gives the name, version and path for people to read.
func (c CLI) String() string {
	return fmt.Sprintf("%s %s (%s)", c.Name, c.Version, c.Path)
}

// Find returns the CLI to use. Building one takes minutes; progress tells what
// is going on meanwhile. A CLI on PATH that does not work, or is older than
// 1.8, is reported on progress and passed over; one that PathVariable names is
// an error, because the user asked for exactly that one.
func Find(ctx context.Context, progress io.Writer) (CLI, error) {
	if named := os.Getenv(PathVariable); named != "" {
		cli, err := resolve(ctx, named)
		if err != nil {
			return CLI{}, fmt.Errorf("%s names %q, which cannot be used (correct the path, or unset the variable to have one found): %w",
				PathVariable, named, err)
		}
		return cli, nil
	}
	for _, name := range []string{Terraform, OpenTofu} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cli, err := probe(ctx, path)
		if err == nil {
			return cli, nil
		}
		if ctx.Err() != nil {
			return CLI{}, ctx.Err()
		}
		fmt.Fprintf(progress, "passing over %s: %v\n", path, err)
	}
	cli, err := Pinned(ctx, OpenTofu, progress)
	if err != nil {
		return CLI{}, fmt.Errorf("neither terraform nor tofu on PATH can be used, and building OpenTofu failed: %w\n"+
			"install either one (1.8 or newer), or name one with %s", err, PathVariable)
	}
	return cli, nil
}

func resolve(ctx context.Context, named string) (CLI, error) {
	path, err := exec.LookPath(named)
	if err != nil {
		return CLI{}, err
	}
	return probe(ctx, path)
}

var versionLine = regexp.MustCompile(`(?m)^(Terraform|OpenTofu) v(\d+)\.(\d+)\.(\S+)`)

// probe runs "version" and trusts nothing else: not the file's name, which is
// often a wrapper's or a link's.
func probe(ctx context.Context, path string) (CLI, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return CLI{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.Env = CLI{Path: path}.Environ(os.Environ())
	// "version" lists the providers locked in the current folder: go elsewhere.
	cmd.Dir = os.TempDir()
	// A wrapper's child may hold the pipe open after the wrapper was killed.
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return CLI{}, fmt.Errorf("%q does not run: %w%s", path+" version", err, indented(out))
	}
	found := versionLine.FindSubmatch(out)
	if found == nil {
		return CLI{}, fmt.Errorf("%q names neither Terraform nor OpenTofu%s", path+" version", indented(out))
	}
	major, errMajor := strconv.Atoi(string(found[2]))
	minor, errMinor := strconv.Atoi(string(found[3]))
	if err := errors.Join(errMajor, errMinor); err != nil {
		return CLI{}, fmt.Errorf("%q gives a version that cannot be read: %w", path+" version", err)
	}
	cli := CLI{Path: path, Name: Terraform, Version: fmt.Sprintf("%d.%d.%s", major, minor, found[4])}
	if string(found[1]) == "OpenTofu" {
		cli.Name = OpenTofu
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return CLI{}, fmt.Errorf("%s is version %s, older than the %d.%d needed", path, cli.Version, oldestMajor, oldestMinor)
	}
	return cli, nil
}

// indented keeps the last lines of a program's output, which say what went
// wrong, set off from our own words.
func indented(out []byte) string {
	text := strings.TrimSpace(string(out))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	const kept = 20
	if len(lines) > kept {
		lines = append([]string{"…"}, lines[len(lines)-kept:]...)
	}
	return "\n    " + strings.Join(lines, "\n    ")
}
