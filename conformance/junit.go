package conformance

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit is the report in the form that CI systems read. A known divergence is a
// passed case there that tells of it; JUnit has no more than four outcomes.
func (r *Report) junit() junitSuites {
	var out junitSuites
	for _, run := range r.Runs {
		s := junitSuite{
			Name: "conformance on nats-server " + run.Server, Tests: len(run.Results),
			Failures: run.Counts[Fail], Errors: run.Counts[HarnessError], Skipped: run.Counts[Unsupported],
			Time:       fmt.Sprintf("%.3f", run.Took.Seconds()),
			Properties: []junitProperty{{"reproduce", r.Reproduce}, {"revision", r.Revision}, {"nats-server", run.Server}, {"nats.go", r.Client}, {"go", r.Go}},
		}
		for _, h := range r.Implementations {
			s.Properties = append(s.Properties, junitProperty{"implementation", strings.TrimSpace(h.Name + " " + h.Version)})
		}
		for _, res := range run.Results {
			c := junitCase{Class: strings.Join(res.Implementations, "+"), Name: res.Case, Time: fmt.Sprintf("%.3f", res.Took.Seconds())}
			switch res.Status {
			case Fail:
				c.Failure = &junitText{string(Fail), differences(res.Differences)}
			case HarnessError:
				c.Error = &junitText{string(HarnessError), res.Note}
			case Unsupported:
				c.Skipped = &junitText{Message: string(Unsupported) + ": " + res.Note}
			}
			if len(res.Known) > 0 {
				c.Out = "known divergences:\n" + differences(res.Known)
			}
			s.Cases = append(s.Cases, c)
		}
		out.Suites = append(out.Suites, s)
	}
	return out
}

func differences(list []Difference) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s: %s\n", d.Implementation, d.Text)
		if d.Reason != "" {
			fmt.Fprintf(&b, "    known: %s\n", d.Reason)
		}
	}
	return b.String()
}
