//go:build unix

package demo

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const testPatience = 10 * time.Second

// script is a program that runs a shell script.
func script(text string) program {
	return program{what: "running a script", path: "/bin/sh", args: []string{"-c", text}, env: os.Environ()}
}

// Prevents: a failed program whose own words are lost.
func TestProgramFails(t *testing.T) {
	said, err := script("echo one; echo two >&2; exit 3").run(t.Context(), io.Discard)
	if err == nil || said != "one\ntwo\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if got, want := failed(err, said, "Do this.").Error(), "running a script: exit status 3\n\none\ntwo\n\nDo this."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Prevents: silence while something takes minutes.
func TestProgramTellsThatItRuns(t *testing.T) {
	in, out := io.Pipe()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := script("exec sleep 600").runWith(ctx, out, time.Millisecond, testPatience)
		done <- errors.Join(err, out.Close())
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || line != "  … running a script, 0s so far\n" {
		t.Errorf("%q, %v", line, err)
	}
	in.Close() // nobody listens any more, which must not block it
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Prevents: Ctrl-C that kills Terraform instead of asking it to end, that
// reaches it twice, or that leaves its provider behind.
func TestProgramIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	// The script ends when it is told to; its child does not.
	p := script(`
trap 'echo interrupted >> log; exit 0' INT
sh -c 'trap "" INT; echo $$ > child; mv child started; while :; do sleep 1; done' &
while :; do sleep 0.01; done`)
	p.dir = dir
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := p.runWith(ctx, io.Discard, time.Hour, 500*time.Millisecond)
		done <- err
	}()
	child := await(t, filepath.Join(dir, "started"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); string(log) != "interrupted\n" {
		t.Errorf("it was told %q, %v", log, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(child))
	if err != nil {
		t.Fatal(err)
	}
	// A killed process is gone when its parent, now the system, has noticed.
	ended, cancelEnded := context.WithTimeout(context.Background(), testPatience)
	defer cancelEnded()
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		if pause(ended, 5*time.Millisecond) != nil {
			t.Fatal("the child still runs")
		}
	}
}

// zombie tells whether the process has ended and only waits to be noticed. In
// containers without an init process it does so for ever.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// await returns what a file holds, once it is there.
func await(t *testing.T, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	for {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			t.Fatalf("%s was not written", path)
		}
	}
}
