//go:build unix

package tfcli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// machine is a make-believe computer: its only programs are the scripts that
// the test puts on its PATH, its only repository is a folder with pins.
type machine struct {
	t     *testing.T
	bin   string // the only folder on PATH
	cache string // the user's cache folder
	repo  string // working directory: a clone
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{t: t, bin: t.TempDir(), repo: t.TempDir()}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("PATH", m.bin)
	t.Setenv(PathVariable, "")
	t.Setenv("TF_CLI_CONFIG_FILE", "")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	m.cache = filepath.Join(cache, "pcgroups-tools")
	m.file(filepath.Join(m.repo, "tools/tofu/go.mod"),
		"module m\n\nrequire (\n\tgithub.com/opentofu/opentofu v1.12.6 // indirect\n)\n", 0o644)
	m.file(filepath.Join(m.repo, "tools/terraform/go.mod"),
		"module m\n\nrequire github.com/hashicorp/terraform v1.14.3\n", 0o644)
	t.Chdir(m.repo)
	return m
}

func (m machine) file(path, text string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

// script puts a program on PATH and returns where it is.
func (m machine) script(name, body string) string {
	m.t.Helper()
	path := filepath.Join(m.bin, name)
	m.file(path, "#!/bin/sh\n"+body+"\n", 0o755)
	return path
}

// says is the body of a CLI that answers "version" with line.
func says(line string) string {
	return `[ "$1" = version ] && echo '` + line + `'`
}

// goThatBuilds puts a go command on PATH that notes its call in the file
// "calls", does what extra says and "builds" a CLI that prints line.
func (m machine) goThatBuilds(line, extra string) {
	m.t.Helper()
	m.script("go", `echo "$PWD $GOFLAGS|$GOWORK|$CGO_ENABLED $*" >> "`+m.calls()+`"
`+extra+`
while [ "$1" != -o ]; do shift; done
echo '#!/bin/sh
echo "`+line+`"' > "$2"
/bin/chmod +x "$2"`)
}

func (m machine) calls() string { return filepath.Join(m.repo, "calls") }

// builds is how often the go command was called.
func (m machine) builds() int {
	text, err := os.ReadFile(m.calls())
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// fifo makes a pipe that a script can wait on: "read x < PATH" returns once
// the test has called release.
func (m machine) fifo() (path string, release func()) {
	m.t.Helper()
	path = filepath.Join(m.repo, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path, func() {
		if err := os.WriteFile(path, []byte("go on\n"), 0); err != nil {
			m.t.Error(err)
		}
	}
}

// transcript is a progress writer that calls back, once, as soon as a word was
// written to it.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	word string
	call func()
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	if t.call != nil && strings.Contains(t.text.String(), t.word) {
		go t.call()
		t.call = nil
	}
	return len(p), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
