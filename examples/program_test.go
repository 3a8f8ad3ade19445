//go:build unix

package examples

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// programs is where the examples are built. It goes with the tests.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "pcgroups-examples-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(programs)
		os.Exit(code)
	}))
}

// build compiles all examples, once, as a user would.
var build = sync.OnceValue(func() error {
	for _, args := range [][]string{
		{"build", "-o", programs + "/", "./go/...", "./migrate-from-orbit/..."},
		// A module of its own. Should it need an update: go mod tidy, there.
		{"build", "-C", "go/worker", "-o", programs + "/", "."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return nil
})

// running is an example that runs.
type running struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	out  natstest.Recorder[string] // lines of the standard output
	log  natstest.Recorder[string] // lines of the standard error
	read sync.WaitGroup
}

// start runs an example until it is ended, at the latest with the test. env holds
// what its environment has beyond the test's.
func start(t *testing.T, env []string, name string, args ...string) *running {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	p := &running{t: t, name: name, cmd: exec.Command(filepath.Join(programs, name), args...)}
	p.cmd.Env = append(os.Environ(), "NATS_CREDS=", "NATS_URL=", "MEMBER=")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.follow(p.cmd.StdoutPipe, &p.out)
	p.follow(p.cmd.StderrPipe, &p.log)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test failed half-way
			_ = p.cmd.Process.Kill()
			p.read.Wait()
			_ = p.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%s %v\n%s\n%s", name, args, strings.Join(p.out.All(), "\n"), strings.Join(p.log.All(), "\n"))
		}
	})
	return p
}

func (p *running) follow(pipe func() (io.ReadCloser, error), lines *natstest.Recorder[string]) {
	r, err := pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.read.Go(func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			lines.Add(s.Text())
		}
	})
}

// logs waits for a line of the log that has the text, and returns it.
func (p *running) logs(text string) string {
	p.t.Helper()
	for _, line := range p.log.Wait(p.t, patience, func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), text) }) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// end sends SIGTERM, as platforms do, and checks that the program takes it for
// what it is.
func (p *running) end() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if code := p.exit(); code != 0 {
		p.t.Errorf("%s exits with %d after SIGTERM", p.name, code)
	}
}

// exit waits for the program's end and returns its exit code.
func (p *running) exit() int {
	p.t.Helper()
	over := make(chan struct{})
	go func() {
		p.read.Wait()
		close(over)
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-over
		p.t.Errorf("%s did not end", p.name)
	}
	_ = p.cmd.Wait() // the exit code tells
	return p.cmd.ProcessState.ExitCode()
}
