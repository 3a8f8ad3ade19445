package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
)

func printed(print func(report)) string {
	var b strings.Builder
	print(report{&b})
	return b.String()
}

// Prevents: a table that says something else than who owns what.
func TestOwners(t *testing.T) {
	o := newOwnership(4, map[string][]int{"m2": {2, 3}, "m1": {0, 1}})
	const want = "" +
		"  partition   0  1  2  3\n" +
		"  owner      m1 m1 m2 m2\n" +
		"\n" +
		"  m1         owns 0-1\n" +
		"  m2         owns 2-3\n"
	if got := printed(func(r report) { r.owners(o) }); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Prevents: a move that is missing from the table of a change, or told of the
// wrong member. Names of different lengths keep the columns in line.
func TestChange(t *testing.T) {
	before := newOwnership(8, map[string][]int{"m1": {0, 1, 2, 3}, "m2": {4, 5, 6, 7}})
	after := newOwnership(8, map[string][]int{"m1": {0, 1, 6}, "m2": {2, 3, 7}, "new": {4, 5}})
	const want = "" +
		"  partition    0   1   2   3   4   5   6   7\n" +
		"  before      m1  m1  m1  m1  m2  m2  m2  m2\n" +
		"  after       m1  m1  m2  m2 new new  m1  m2\n" +
		"  moves                *   *   *   *   *\n" +
		"\n" +
		"  m1         keeps 0-1, gives 2-3 to m2, takes 6 from m2\n" +
		"  m2         keeps 7, gives 6 to m1, takes 2-3 from m1, gives 4-5 to new\n" +
		"  new        takes 4-5 from m2\n"
	if got := printed(func(r report) { r.change(before, after) }); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Prevents: partitions that nobody owns, as in a group without members, being
// shown as somebody's.
func TestChangeFromNobody(t *testing.T) {
	got := printed(func(r report) {
		r.change(newOwnership(2, nil), newOwnership(2, map[string][]int{"m1": {0, 1}}))
	})
	if !strings.Contains(got, "m1         takes 0-1 from nobody\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestRanges(t *testing.T) {
	for _, test := range []struct {
		list []int
		want string
	}{
		{nil, ""}, {[]int{3}, "3"}, {[]int{0, 1}, "0-1"}, {[]int{0, 2, 3, 4, 7}, "0 2-4 7"},
	} {
		if got := ranges(test.list); got != test.want {
			t.Errorf("%v: got %q, want %q", test.list, got, test.want)
		}
	}
}

// Prevents: a last line in another form than the one that CI looks for, or one
// that says ok although something was violated.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		v    checker.Verdict
		last string
	}{
		{checker.Verdict{Published: 9, Handled: 9}, "demo: ok lost=0 duplicated=0 out_of_order=0 overlapping=0"},
		{checker.Verdict{Lost: 1}, "demo: FAILED lost=1 duplicated=0 out_of_order=0 overlapping=0"},
		{checker.Verdict{Overlapping: 2, Examples: []string{"this one"}}, "demo: FAILED lost=0 duplicated=0 out_of_order=0 overlapping=2"},
	} {
		got := printed(func(r report) { r.verdict(test.v, nil) })
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if last := lines[len(lines)-1]; last != test.last {
			t.Errorf("last line %q, want %q", last, test.last)
		}
		for _, example := range test.v.Examples {
			if !strings.Contains(got, example) {
				t.Errorf("no word of the violation in:\n%s", got)
			}
		}
	}
}

// Prevents: a command line that does something else when it is typed in.
func TestCommandIsQuoted(t *testing.T) {
	got := printed(func(r report) {
		r.command("tofu", []string{"apply", "-var", `members=["m1"]`, "it's"})
	})
	if want := `  $ tofu apply -var 'members=["m1"]' 'it'\''s'` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Prevents: a wrong order of the times, or a clock's last digit shown as a
// takeover before its cause.
func TestTakeover(t *testing.T) {
	stored := time.Now()
	got := printed(func(r report) {
		r.takeover([]time.Time{stored.Add(90 * time.Millisecond), stored.Add(-time.Microsecond)}, stored)
	})
	if !strings.Contains(got, "first of 2") || !strings.Contains(got, "after 0 ms, the last after 90 ms") {
		t.Errorf("got:\n%s", got)
	}
}
