package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a dependency.
type module struct {
	path        string
	dir         string
	fromLibrary bool // the library needs it, so each program that uses it does
}

// systems are those that a release is built for: each links other modules.
var systems = []string{"darwin", "freebsd", "linux", "windows"}

// root is the folder of the repository.
func root() (string, error) {
	out, err := goCommand("", "", "env", "GOMOD")
	return filepath.Dir(strings.TrimSpace(out)), err
}

// linked are the modules that are linked into the provider, sorted.
func linked(root string) ([]module, error) {
	found := map[string]module{}
	for _, system := range systems {
		for _, packages := range []string{".", "./pcgroups"} {
			out, err := goCommand(root, system, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", packages)
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(out) {
				path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
				if !ok {
					continue
				}
				m := found[path]
				m.path, m.dir, m.fromLibrary = path, dir, m.fromLibrary || packages != "."
				found[path] = m
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no dependency was found")
	}
	var modules []module
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules, nil
}

func goCommand(dir, system string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH=amd64")
	}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}
