// Command chaos runs consumer groups on a cluster of three server processes and
// breaks one thing after another. See package chaos for how, and -help for what
// can be chosen. It exits with 1 if a promise was broken.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/chaos"
)

// interrupted is the exit code of a program that was ended by Ctrl-C.
const interrupted = 130

func main() {
	// The oracle logs to the process logger what is normal when members change.
	log.SetOutput(io.Discard)
	if len(os.Args) == 3 && os.Args[1] == chaos.NodeArg {
		if err := chaos.ServeNode(os.Args[2], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "chaos: "+err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(run())
}

func run() int {
	var o chaos.Options
	flag.DurationVar(&o.Duration, "duration", 2*time.Minute, "how long to make faults")
	flag.Uint64Var(&o.Seed, "seed", 0, "decides the faults; 0 is one by chance")
	flag.StringVar(&o.Only, "only", "", "make only these faults: a list of "+strings.Join(chaos.Faults(), ", ")+"; kill,kill is twice as many of them")
	flag.BoolVar(&o.Explain, "explain", false, "print what led to the longest waits and to bursts of duplicates")
	flag.BoolVar(&o.Keep, "keep", false, "leave the servers' folders behind")
	flag.Func("fleet", "who consumes: \"ours\", or \"mixed\" with members of the oracle, too (default ours)", func(s string) error {
		if s != "ours" && s != "mixed" {
			return fmt.Errorf("no such fleet")
		}
		o.Mixed = s == "mixed"
		return nil
	})
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "chaos: unexpected argument %q\n", flag.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := chaos.Run(ctx, os.Stdout, o)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "chaos: interrupted")
		return interrupted
	default:
		fmt.Fprintln(os.Stderr, "chaos: "+err.Error())
		return 1
	}
}
