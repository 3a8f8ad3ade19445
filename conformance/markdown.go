package conformance

import (
	"fmt"
	"strings"
	"time"
)

// Markdown is the report for people: what is wrong first, then what is known to
// differ and why, then what was left out and why.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance report\n\nMade %s from revision %s. Reproduce:\n\n```sh\n%s\n```\n\n",
		r.Made.Format(time.RFC3339), r.Revision, r.Reproduce)
	fmt.Fprintf(&b, "| party | version |\n|---|---|\n")
	for _, h := range r.Implementations {
		version := h.Version
		if version == "" {
			version = r.Revision
		}
		fmt.Fprintf(&b, "| %s (%s) | %s |\n", h.Name, h.Language, version)
	}
	fmt.Fprintf(&b, "| nats.go, of those in Go | %s |\n| Go | %s |\n\n", r.Client, r.Go)

	fmt.Fprintf(&b, "| nats-server |")
	for _, s := range Statuses {
		fmt.Fprintf(&b, " %s |", s)
	}
	fmt.Fprintf(&b, " time |\n|---|%s---|\n", strings.Repeat("---|", len(Statuses)))
	for _, run := range r.Runs {
		kind := "embedded"
		if run.Real {
			kind = "binary"
		}
		fmt.Fprintf(&b, "| %s (%s) |", run.Server, kind)
		for _, s := range Statuses {
			fmt.Fprintf(&b, " %d |", run.Counts[s])
		}
		fmt.Fprintf(&b, " %v |\n", run.Took.Round(time.Second))
	}
	for _, s := range []Status{Fail, HarnessError} {
		r.section(&b, s, func(res Result) string { return differences(res.Differences) + res.Note })
	}
	r.known(&b)
	r.section(&b, Unsupported, func(res Result) string { return res.Note })
	return b.String()
}

func (r *Report) section(b *strings.Builder, s Status, text func(Result) string) {
	fmt.Fprintf(b, "\n## %s: %d\n", s, r.Count(s))
	for _, run := range r.Runs {
		for _, res := range run.Results {
			if res.Status != s {
				continue
			}
			fmt.Fprintf(b, "\n- `%s` by %s on %s\n", res.Case, strings.Join(res.Implementations, " and "), run.Server)
			for l := range strings.Lines(strings.TrimSpace(text(res))) {
				fmt.Fprintf(b, "  - %s\n", strings.TrimSpace(l))
			}
		}
	}
}

// known lists the known divergences by reason, as most show in many cases.
func (r *Report) known(b *strings.Builder) {
	type key struct{ impl, reason string }
	var order []key
	cases := map[key]int{}
	example := map[key]string{}
	for _, run := range r.Runs {
		for _, res := range run.Results {
			seen := map[key]bool{}
			for _, d := range res.Known {
				k := key{d.Implementation, d.Reason}
				if example[k] == "" {
					order = append(order, k)
					example[k] = d.Text
				}
				if !seen[k] {
					seen[k] = true
					cases[k]++
				}
			}
		}
	}
	fmt.Fprintf(b, "\n## %s: %d\n\n| implementation | why | cases | for example |\n|---|---|---|---|\n", Known, r.Count(Known))
	for _, k := range order {
		fmt.Fprintf(b, "| %s | %s | %d | `%s` |\n", k.impl, k.reason, cases[k], strings.ReplaceAll(example[k], "|", "\\|"))
	}
}
