// Command bench measures pcgroups beside orbit.go/pcgroups and prints a table of
// what it found. See package bench for how, and -help for what can be chosen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/bench"
)

// interrupted is the exit code of a program that was ended by Ctrl-C.
const interrupted = 130

func main() {
	// The oracle logs to the process logger what is normal when members change.
	log.SetOutput(io.Discard)
	os.Exit(run())
}

func run() int {
	var o bench.Options
	flag.Func("run", "measure only rows whose name matches this `regexp`", func(s string) (err error) {
		o.Run, err = regexp.Compile(s)
		return err
	})
	flag.IntVar(&o.Rounds, "rounds", 0, "rounds of each throughput row, the first of which is dropped (default 10)")
	flag.DurationVar(&o.RoundTime, "round-time", 0, "how long each side is measured in a round (default 3s)")
	flag.BoolVar(&o.Quick, "quick", false, "make everything short, to see that it works")
	file := flag.String("json", "bench.json", "write the results to this `file` too; empty for none")
	plot := flag.String("plot", "", "draw rate against round trip (row ordered_by_rtt) into this SVG `file`")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this `file`; its samples carry a label \"side\"")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unexpected argument %q\n", flag.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := profiled(*profile, func() error { return measure(ctx, o, *file, *plot) })
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
		return interrupted
	default:
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		return 1
	}
}

func measure(ctx context.Context, o bench.Options, file, plot string) error {
	if plot != "" && o.Run != nil && !o.Run.MatchString(bench.PlotRow) {
		return fmt.Errorf("-plot draws row %s, which -run does not select", bench.PlotRow)
	}
	report, err := bench.Run(ctx, os.Stdout, os.Stderr, o)
	if report == nil {
		return err
	}
	if file != "" {
		err = errors.Join(err, write(file, report.WriteJSON))
	}
	// After an error there may be nothing to draw, and the last plot stays.
	if plot != "" && len(report.ByRTT) > 0 {
		err = errors.Join(err, write(plot, report.WriteSVG))
	}
	return err
}

func write(file string, content func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

func profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = do()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}
