// Command conformance runs the conformance suite and writes its report.
//
//	go run ./conformance/cmd/conformance
//	go run ./conformance/cmd/conformance -impl "python3 adapter.py" -servers 2.11.17,2.15.3
//
// It exits with 0 if everything is as it should be or known to differ, with 1 if
// something is not, and with 2 if the suite could not tell.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/conformance"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	os.Exit(code)
}

func run() (int, error) {
	impl := flag.String("impl", "", "`command` of an adapter to test, instead of this repository's library")
	servers := flag.String("servers", "", "`versions` of nats-server to test on, separated by commas; none is the embedded one")
	pick := flag.String("run", "", "run only cases whose name matches this `regexp`")
	reports := flag.String("reports", "conformance/reports", "`folder` for report.json, report.md and junit.xml")
	withCLI := flag.Bool("cg", true, "let the reference's command line tool, which is built once, take part in live cases")
	parallel := flag.Int("parallel", 0, "how many cases run at once; 0 is a number that fits the machine")
	verbose := flag.Bool("v", false, "print every case")
	flag.Parse()
	// The reference writes to the process's logger whenever it meets a fault,
	// which here it is meant to.
	log.SetOutput(io.Discard)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()

	suite := conformance.Suite{
		Subjects: []conformance.Implementation{conformance.Ours()},
		Partners: []conformance.Implementation{conformance.Oracle()},
		Parallel: *parallel,
		Log:      func(r conformance.Result) { show(r, *verbose) },
	}
	if *impl != "" {
		program, err := conformance.Program(ctx, *impl)
		if err != nil {
			return 2, err
		}
		suite.Subjects = []conformance.Implementation{program}
		suite.Partners = append(suite.Partners, conformance.Ours())
	}
	if *withCLI {
		cg, err := conformance.CLI(ctx)
		if err != nil {
			return 2, err
		}
		suite.Partners = append(suite.Partners, cg)
	}
	if *pick != "" {
		re, err := regexp.Compile(*pick)
		if err != nil {
			return 2, err
		}
		suite.Select = re.MatchString
	}
	report := conformance.NewReport(command(), revision(ctx), append(suite.Subjects, suite.Partners...)...)
	for _, version := range strings.Split(*servers, ",") {
		lab, err := labFor(ctx, version)
		if err != nil {
			return 2, err
		}
		suite.Lab = lab
		began := time.Now()
		results, err := suite.Run(ctx)
		if err != nil {
			return 2, err
		}
		report.Add(lab, time.Since(began), results)
	}
	fmt.Print(report.Summary())
	if err := report.Write(*reports); err != nil {
		return 2, err
	}
	fmt.Println("report:", *reports+"/report.md")
	return report.ExitCode(), ctx.Err()
}

func labFor(ctx context.Context, version string) (*conformance.Lab, error) {
	if version == "" {
		return conformance.EmbeddedLab(ctx)
	}
	return conformance.ReleaseLab(ctx, version)
}

// show prints what is not as it should be, or everything.
func show(r conformance.Result, all bool) {
	if !all && r.Status != conformance.Fail && r.Status != conformance.HarnessError {
		return
	}
	fmt.Printf("%-19s %6.2fs %s (%s) %s\n", r.Status, r.Took.Seconds(), r.Case, strings.Join(r.Implementations, ", "), r.Note)
	for _, d := range r.Differences {
		fmt.Printf("    %s: %s\n", d.Implementation, d.Text)
	}
}

// command is how to run this again.
func command() string {
	out := "go run ./conformance/cmd/conformance"
	flag.Visit(func(f *flag.Flag) { out += fmt.Sprintf(" -%s=%q", f.Name, f.Value) })
	return out
}

func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
