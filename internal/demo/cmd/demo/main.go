// Command demo shows a consumer group from end to end: it starts a NATS server,
// declares the group with Terraform or OpenTofu, lets three members handle
// orders while the membership changes, and counts what was lost, duplicated, out
// of order or overlapping. It needs Go and a clone of this repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/demo"
)

// interrupted is the exit code of a program that was ended by Ctrl-C.
const interrupted = 130

func main() {
	opts := demo.Defaults()
	flag.DurationVar(&opts.Duration, "duration", opts.Duration, "how long to watch the throughput, in all")
	flag.IntVar(&opts.Rate, "rate", opts.Rate, "orders published per second")
	flag.BoolVar(&opts.Keep, "keep", opts.Keep, "keep the work folder")
	flag.Parse()
	os.Exit(run(opts))
}

func run(opts demo.Options) int {
	// A closed terminal and a closed pipe are treated like Ctrl-C, because by
	// themselves they would end the program before it has cleaned up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	quiet := context.AfterFunc(ctx, func() {
		fmt.Fprintln(os.Stderr, "\ndemo: interrupted, cleaning up")
	})
	defer quiet() // before stop, which ends ctx too
	err := demo.Run(ctx, os.Stdout, opts)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "demo: ended before it was through; everything it started has ended")
		return interrupted
	case errors.Is(err, demo.ErrViolated):
		// The report has said it all.
		return 1
	default:
		fmt.Fprintln(os.Stderr, "\ndemo: "+err.Error())
		return 1
	}
}
