//go:build unix

package tfcli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each case names what a user has on the machine and what must be chosen.
// Prevents: a demo that ignores the CLI the user asked for, or that builds for
// minutes although a good one is there.
func TestFindOrder(t *testing.T) {
	const terraform, tofu, built = "Terraform v1.11.4", "OpenTofu v1.10.1", "OpenTofu v1.12.6"
	for _, test := range []struct {
		name      string
		named     string // written to a file outside PATH, and named
		terraform string
		tofu      string
		want      string // CLI.Name + " " + CLI.Version
		builds    int
		notice    string
	}{
		{name: "the named one wins", named: "OpenTofu v1.9.0", terraform: terraform, tofu: tofu, want: "tofu 1.9.0"},
		{name: "terraform before tofu", terraform: terraform, tofu: tofu, want: "terraform 1.11.4"},
		{name: "tofu alone", tofu: tofu, want: "tofu 1.10.1"},
		{name: "none: build", want: "tofu 1.12.6", builds: 1},
		{name: "terraform before functions", terraform: "Terraform v1.5.7", tofu: tofu, want: "tofu 1.10.1", notice: "1.5.7, older than the 1.8 needed"},
		{name: "the oldest that works", terraform: "Terraform v1.8.0", want: "terraform 1.8.0"},
		{name: "two digits are newer than one", terraform: "Terraform v1.10.0-rc1", want: "terraform 1.10.0-rc1"},
		{name: "a version manager without a version", terraform: "no version is set", want: "tofu 1.12.6", builds: 1, notice: "names neither Terraform nor OpenTofu"},
		{name: "a link called terraform", terraform: tofu, want: "tofu 1.10.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			m.goThatBuilds(built, "")
			if test.named != "" {
				path := filepath.Join(t.TempDir(), "my-cli")
				m.file(path, "#!/bin/sh\n"+says(test.named)+"\n", 0o755)
				t.Setenv(PathVariable, path)
			}
			if test.terraform != "" {
				m.script("terraform", says(test.terraform))
			}
			if test.tofu != "" {
				m.script("tofu", says(test.tofu))
			}
			var progress transcript
			cli, err := Find(t.Context(), &progress)
			if err != nil {
				t.Fatal(err)
			}
			if got := cli.Name + " " + cli.Version; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if !filepath.IsAbs(cli.Path) {
				t.Errorf("%s is not absolute: tests run in other folders", cli.Path)
			}
			if m.builds() != test.builds {
				t.Errorf("%d builds, want %d", m.builds(), test.builds)
			}
			if !strings.Contains(progress.String(), test.notice) {
				t.Errorf("%q is not told in %q", test.notice, progress.String())
			}
		})
	}
}

// Prevents: a mistyped path that is silently replaced by some other CLI, so
// that a user believes to have tested with a version that was never run; and advice
// on a line of its own that begins with a semicolon.
func TestNamedCLIMustWork(t *testing.T) {
	m := newMachine(t)
	m.script("terraform", says("Terraform v1.14.3"))
	m.file(filepath.Join(m.repo, "broken"), "#!/bin/sh\necho 'licence expired' >&2\nexit 3\n", 0o755)
	m.file(filepath.Join(m.repo, "data"), "not a program", 0o644)
	m.file(filepath.Join(m.repo, "old"), "#!/bin/sh\n"+says("OpenTofu v1.6.2")+"\n", 0o755)
	for name, reason := range map[string]string{
		"/nowhere/terraform": "no such file",
		"./broken":           "licence expired",
		"./data":             "permission denied",
		"./old":              "older than the 1.8 needed",
		"terraforn":          "not found",
	} {
		t.Setenv(PathVariable, name)
		_, err := Find(t.Context(), &transcript{})
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, part := range []string{PathVariable, name, reason, "unset the variable"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is missing in: %v", name, part, err)
			}
		}
		if text := err.Error(); strings.Index(text, "correct the path") > strings.Index(text, reason) || strings.HasSuffix(text, "\n") {
			t.Errorf("%s: what to do stands behind what the program says, which may be long: %v", name, err)
		}
	}
}

// Prevents: a name that works in a shell, or a path relative to the repository,
// being refused, or working only in the folder it was given in.
func TestNamedCLIByNameOrRelativePath(t *testing.T) {
	m := newMachine(t)
	want := m.script("tofu", says("OpenTofu v1.12.6"))
	m.file(filepath.Join(m.repo, "bin/tf"), "#!/bin/sh\n"+says("Terraform v1.12.2")+"\n", 0o755)
	for name, want := range map[string]string{"tofu": want, "bin/tf": filepath.Join(m.repo, "bin/tf")} {
		t.Setenv(PathVariable, name)
		cli, err := Find(t.Context(), &transcript{})
		if err != nil {
			t.Fatal(err)
		}
		if !sameFile(t, cli.Path, want) || !filepath.IsAbs(cli.Path) {
			t.Errorf("%s: got %s, want %s", name, cli.Path, want)
		}
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	return os.SameFile(infoA, infoB)
}

// Prevents: Ctrl-C while a CLI is being asked for its version leading on to a
// build of several minutes.
func TestFindStopsWithItsContext(t *testing.T) {
	m := newMachine(t)
	m.goThatBuilds("OpenTofu v1.12.6", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.script("terraform", says("Terraform v1.14.3"))
	if cli, err := Find(ctx, &transcript{}); err == nil || m.builds() != 0 {
		t.Errorf("got %v, %v after %d builds", cli, err, m.builds())
	}
}

// Prevents: a machine without any CLI that is only told what failed, not what
// to do about it.
func TestFindWithoutAnything(t *testing.T) {
	newMachine(t)
	_, err := Find(t.Context(), &transcript{})
	if err == nil {
		t.Fatal("found something")
	}
	for _, part := range []string{"needs the go command", "install either one", PathVariable} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}
