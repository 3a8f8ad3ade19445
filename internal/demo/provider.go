package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const example = "examples/quickstart"

// repository finds the clone that the working directory is in: the folder with
// the example.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, errExample := os.Stat(filepath.Join(dir, filepath.FromSlash(example)))
		_, errModule := os.Stat(filepath.Join(dir, "go.mod"))
		if errExample == nil && errModule == nil {
			return dir, nil
		}
		if err := errors.Join(notMissing(errExample), notMissing(errModule)); err != nil {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("neither %s nor a folder above it is a clone of the repository with %s; run this inside one", start, example)
		}
	}
}

func notMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// buildProvider builds the provider from source and returns the folder that it
// is in.
func buildProvider(ctx context.Context, out io.Writer, root, work string) (string, error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("the provider is built with the go command: %w; install Go and put it on PATH", err)
	}
	plugins := filepath.Join(work, "plugins")
	name := "terraform-provider-pcgroups"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	said, err := program{
		what: "building the provider",
		path: goCommand,
		// Stamping fails where git distrusts the folder's owner, as in many
		// containers, and nobody looks at the stamp of this one.
		args: []string{"build", "-buildvcs=false", "-o", filepath.Join(plugins, name), "."},
		dir:  root,
		// An interrupted build may leave its scratch files behind; in the work
		// folder they are removed with it.
		env: append(os.Environ(), "GOTMPDIR="+work),
	}.run(ctx, out)
	if err != nil {
		return "", failed(err, said, fmt.Sprintf("Run \"go build .\" in %s to see it alone.", root))
	}
	return plugins, nil
}
