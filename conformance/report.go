package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Report is everything that a run has found, with what is needed to run it
// again.
type Report struct {
	// Schema is the version of this form.
	Schema          int       `json:"schema"`
	Made            time.Time `json:"made"`
	Reproduce       string    `json:"reproduce"` // the command
	Revision        string    `json:"revision"`  // of this repository
	Go              string    `json:"go"`
	Client          string    `json:"nats.go"` // of the implementations in this process
	Implementations []Hello   `json:"implementations"`
	Runs            []Run     `json:"runs"`
}

// Run is the suite on one version of the server.
type Run struct {
	Server  string         `json:"nats-server"`
	Real    bool           `json:"real_binary"` // not embedded in the suite's process
	Counts  map[Status]int `json:"counts"`
	Took    time.Duration  `json:"took_ns"`
	Results []Result       `json:"results"`
}

// NewReport begins a report about these implementations.
func NewReport(reproduce, revision string, implementations ...Implementation) *Report {
	r := &Report{Schema: 1, Made: time.Now().UTC().Truncate(time.Second), Reproduce: reproduce, Revision: revision, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/nats-io/nats.go" {
				r.Client = d.Version
			}
		}
	}
	for _, i := range implementations {
		r.Implementations = append(r.Implementations, i.Hello)
	}
	return r
}

// Add adds the results on one server.
func (r *Report) Add(lab *Lab, took time.Duration, results []Result) {
	run := Run{Server: lab.Version, Real: !lab.clusters, Counts: map[Status]int{}, Took: took, Results: results}
	for _, res := range results {
		run.Counts[res.Status]++
	}
	r.Runs = append(r.Runs, run)
}

// Count is how many cases of all runs ended so.
func (r *Report) Count(s Status) int {
	n := 0
	for _, run := range r.Runs {
		n += run.Counts[s]
	}
	return n
}

// ExitCode is 0 if every case passed, is known to differ or is unsupported, 2 if
// the harness failed anywhere, so that not everything is known, else 1. A run
// without a case that passed tells nothing, which is the harness's fault too.
func (r *Report) ExitCode() int {
	switch {
	case r.Count(HarnessError) > 0 || r.Count(Pass)+r.Count(Known)+r.Count(Fail) == 0:
		return 2
	case r.Count(Fail) > 0:
		return 1
	}
	return 0
}

// Write writes report.json, report.md and junit.xml into a folder.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	asJSON, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	asXML, err := xml.MarshalIndent(r.junit(), "", "  ")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"report.json": append(asJSON, '\n'),
		"report.md":   []byte(r.Markdown()),
		"junit.xml":   append([]byte(xml.Header), append(asXML, '\n')...),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Summary is one line for each run.
func (r *Report) Summary() string {
	var b strings.Builder
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "nats-server %s:", run.Server)
		for i, s := range Statuses {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %d %s", run.Counts[s], s)
		}
		fmt.Fprintf(&b, " (%d cases in %v)\n", len(run.Results), run.Took.Round(time.Second))
	}
	return b.String()
}
