package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	// signOfLife is the time between two lines that say that a program still
	// runs.
	signOfLife = 10 * time.Second
	// grace is how long an interrupted program may take to end by itself.
	grace = 10 * time.Second
)

// program is another program to be run to its end.
type program struct {
	what string // for people: "building the provider"
	path string
	args []string
	dir  string
	env  []string
}

// run returns what the program printed, on either output, also if it failed; the
// error does not hold that ([failed] adds it). A program that takes long is
// reported on out. When ctx ends, the program is interrupted, and killed with its
// children if that does not help.
func (p program) run(ctx context.Context, out io.Writer) (string, error) {
	return p.runWith(ctx, out, signOfLife, grace)
}

func (p program) runWith(ctx context.Context, out io.Writer, every, grace time.Duration) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// Ctrl-C at a terminal goes to a whole group of processes. In a group of its
	// own the program gets our interrupt only. Two of them make Terraform give up
	// without saving its state.
	ownGroup(cmd)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = grace

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%s: %w", p.what, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(out, "  … %s, %s so far\n", p.what, time.Since(began).Round(time.Second))
		case err := <-done:
			if ctx.Err() != nil {
				killGroup(cmd.Process) // children that did not end with it
				return said.String(), ctx.Err()
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", p.what, err)
			}
			return said.String(), err
		}
	}
}

// failed makes an error of what went wrong, what the program said about it, and
// what to do next.
func failed(err error, said, next string) error {
	if said = strings.TrimSpace(said); said != "" {
		said += "\n\n"
	}
	return fmt.Errorf("%w\n\n%s%s", err, said, next)
}
