// Command acctest runs the provider's acceptance tests and counts them. Its
// arguments go to "go test": packages, and flags such as -run.
//
// A plain "go test" is not enough. Without TF_ACC it skips every acceptance
// test and still succeeds, so a run that proved nothing looks like one that
// proved everything. Here a skipped test is a failure, and so is having none.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
)

// signOfLife is the longest time without a line.
const signOfLife = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "acctest:", err)
		os.Exit(1)
	}
}

// run prints the counts as its last line on stdout in every case in which
// tests were started.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cli, err := tfcli.Find(ctx, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "acceptance tests use %s; compiling them takes a minute or two the first time\n", cli)

	// No cached results: the cache does not know when the CLI changes. The
	// tests mostly wait for CLI processes, hence more of them than cores.
	cmd := exec.CommandContext(ctx, "go", append([]string{
		"test", "-json", "-count=1", "-run=^TestAcc", "-parallel=4", "-timeout=14m",
	}, args...)...)
	cmd.Env = append(cli.Environ(os.Environ()), "TF_ACC=1")
	cmd.Stderr = stderr
	// Interrupted, not killed, so that tests can stop their servers.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	life := &alive{out: stdout, every: signOfLife}
	counts := newTally(life)
	life.state = counts.state
	stop := life.watch()
	readErr := counts.read(events)
	waitErr := cmd.Wait()
	stop()
	verdict := counts.verdict()
	fmt.Fprintln(stdout, counts.line())
	if waitErr != nil {
		waitErr = fmt.Errorf("go test: %w", waitErr)
	}
	return errors.Join(verdict, readErr, waitErr)
}
