package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Report is everything that a run has found.
type Report struct {
	Began     time.Time     `json:"began"`
	Go        string        `json:"go"`
	Platform  string        `json:"platform"`
	CPUs      int           `json:"cpus"`
	Quick     bool          `json:"quick,omitempty"`
	Rounds    int           `json:"rounds"`
	RoundTime time.Duration `json:"round_time_ns"`
	Rows      []*Row        `json:"rows"`
	// ByRTT is what the plot shows, if it was measured.
	ByRTT []Point `json:"by_rtt,omitempty"`
	// Versions are those of the modules under measurement.
	Versions Versions `json:"versions"`
}

// Versions are versions of modules, without a "v".
type Versions struct {
	Server string `json:"nats_server"`
	Client string `json:"nats_go"`
	Oracle string `json:"orbit_pcgroups"`
}

func versions() Versions {
	v := Versions{Server: server.VERSION, Client: nats.Version, Oracle: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/synadia-io/orbit.go/pcgroups" {
				v.Oracle = strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return v
}

func newReport(o Options, p plan) *Report {
	return &Report{
		Began: time.Now(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Quick: o.Quick, Rounds: p.rounds, RoundTime: p.roundTime, Versions: versions(),
	}
}

// add judges a row and takes it in.
func (r *Report) add(row Row) *Row {
	row.judge(bars())
	r.Rows = append(r.Rows, &row)
	return &row
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *Report) writeHead(out io.Writer) {
	fmt.Fprintf(out, "# pcgroups (ours) beside orbit.go/pcgroups %s (oracle), nats-server %s, nats.go %s, %s on %s, %d CPUs shared by the servers, publishers and members of both\n",
		r.Versions.Oracle, r.Versions.Server, r.Versions.Client, r.Go, r.Platform, r.CPUs)
	fmt.Fprintf(out, "# Throughput: %d rounds, the first dropped, %s for each side and round, in the order ABBA. A ratio is the median of the rounds'\n"+
		"# ratios [95 %% bootstrap interval]; it reaches a bar if the nearer end of its interval does. Times and counts have to reach it themselves.\n",
		r.Rounds, r.RoundTime)
	if r.Quick {
		fmt.Fprintln(out, "# A quick run: it shows that the benchmark works, not how fast anything is.")
	}
}

func (r *Report) writeTable(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join([]string{"NAME", "OURS", "ORACLE", "RATIO [95 %]", "BAR", "VERDICT"}, "\t"))
	for _, row := range r.Rows {
		fmt.Fprintln(w, strings.Join(row.cells(), "\t"))
	}
	w.Flush()
}
