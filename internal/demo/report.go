package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
)

// report writes the story for people. It uses no control codes, so that it reads
// the same in a log.
type report struct{ out io.Writer }

func (r report) intro() {
	fmt.Fprint(r.out, `pcgroups demo

A shop publishes its orders to a NATS stream. The orders of one customer must be
handled one by one and in order. A single program would be too slow for all of
them, and several programs that just share the stream would mix up the order.

A consumer group does both. It cuts the stream into partitions by customer and
gives every partition to one of its members. Here the group is declared with
Terraform, its members are changed while orders flow, and every order is counted.
`)
}

func (r report) title(n int, title string) {
	head := fmt.Sprintf("--- %d. %s ", n, title)
	fmt.Fprintf(r.out, "\n\n%s%s\n", head, strings.Repeat("-", max(0, 80-len(head))))
}

// text is prose, between blank lines.
func (r report) text(text string) {
	fmt.Fprintf(r.out, "\n%s\n\n", strings.TrimSpace(text))
}

func (r report) gap() { fmt.Fprintln(r.out) }

func (r report) line(format string, args ...any) {
	fmt.Fprintf(r.out, "  "+format+"\n", args...)
}

// command shows what is run as one would type it.
func (r report) command(name string, args []string) {
	shown := []string{"$", name}
	for _, arg := range args {
		if strings.ContainsAny(arg, ` "'$`) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		shown = append(shown, arg)
	}
	r.line("%s", strings.Join(shown, " "))
}

// quote sets off what another program said.
func (r report) quote(lines []string) {
	for _, line := range lines {
		r.line("| %s", line)
	}
}

// takeover tells how soon the new owners of partitions were at work.
func (r report) takeover(times []time.Time, stored time.Time) {
	if len(times) == 0 {
		return
	}
	slices.SortFunc(times, time.Time.Compare)
	after := func(t time.Time) int64 { return max(0, t.Sub(stored).Milliseconds()) }
	r.gap()
	r.line("Counted from the change, the first of %d moved partitions was at work with its", len(times))
	r.line("new owner after %d ms, the last after %d ms, when its next order had its turn.", after(times[0]), after(times[len(times)-1]))
}

// throughput is what was counted between two moments.
type throughput struct {
	elapsed       time.Duration
	members       []*member
	before, after []int
	published     int
	waiting       int
	owners        ownership
}

func (r report) throughput(t throughput) {
	perSecond := func(n int) float64 { return float64(n) / t.elapsed.Seconds() }
	total := 0
	for i, m := range t.members {
		n := t.after[i] - t.before[i]
		total += n
		note := ""
		if !t.owners.has(m.name) {
			note = "   not a member, waiting to become one"
		}
		r.line("%-10s %4.0f%s", m.name, perSecond(n), note)
	}
	r.line("%-10s %4.0f", "handled", perSecond(total))
	r.line("%-10s %4.0f   %d orders are waiting now", "published", perSecond(t.published), t.waiting)
}

// recovered tells of faults that members got over. There should be none, as
// nothing is broken on purpose here.
func (r report) recovered(members []*member) {
	for _, m := range members {
		if s := m.session.Status(); s.Recovered > 0 {
			r.line("note          %s got over %d faults, the last: %v", m.name, s.Recovered, s.LastRecovered)
		}
	}
}

// verdict ends with the line that other programs read, so its form is fixed.
func (r report) verdict(v checker.Verdict, members []*member) {
	r.text("What the members recorded, order by order:")
	shares := make([]string, len(members))
	for i, m := range members {
		shares[i] = fmt.Sprintf("%s %d", m.name, m.handled.Load())
	}
	r.line("%-13s %5d", "published", v.Published)
	r.line("%-13s %5d   %s", "handled", v.Handled, strings.Join(shares, ", "))
	r.line("%-13s %5d   published, but never handled", "lost", v.Lost)
	r.line("%-13s %5d   handled once more after they were done", "duplicated", v.Duplicated)
	r.line("%-13s %5d   begun after a later order of the same customer", "out of order", v.OutOfOrder)
	r.line("%-13s %5d   begun while the same customer's order was in other hands", "overlapping", v.Overlapping)
	for _, example := range v.Examples {
		r.line("for example   %s", example)
	}
	outcome := "ok"
	if !v.OK() {
		outcome = "FAILED"
		r.text("This is a fault of the project. Please report it with everything above.")
	}
	fmt.Fprintf(r.out, "\ndemo: %s %s\n", outcome, v)
}

func (r report) kept(work string) {
	fmt.Fprintf(r.out, "\nWhat is written goes to %s, and is kept.\n", work)
}

// indented is for lines that others write, one at a time.
type indented struct{ out io.Writer }

func (i indented) Write(p []byte) (int, error) {
	if _, err := fmt.Fprintf(i.out, "  %s", p); err != nil {
		return 0, err
	}
	return len(p), nil
}
