package pcgroups

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestBacklogScripts runs the scripts in testdata/backlog: commented stories of
// what a backlog is told and what it says may be done. They are re-recorded with
// -update; the diff is what to review.
//
// Prevents: a rule of the order of a partition that changes without anyone
// noticing.
func TestBacklogScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/backlog/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runBacklogScript(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s: want\n%s\ngot\n%s", file, want, got)
			}
		})
	}
}

// runBacklogScript answers each line that starts with "> " by what the backlog
// says to it, and keeps comments and empty lines.
func runBacklogScript(t *testing.T, script string) string {
	var out strings.Builder
	var s scripted
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		cmd, isEvent := strings.CutPrefix(line, "> ")
		if strings.HasPrefix(line, "    ") {
			continue // recorded before
		}
		fmt.Fprintln(&out, line)
		if !isEvent {
			continue
		}
		answers, err := s.do(strings.Fields(cmd))
		if err == nil && s.b != nil {
			err = recount(s.b)
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, a := range answers {
			fmt.Fprintln(&out, "    "+a)
		}
	}
	return out.String()
}

// scripted is a backlog under a script. Times are in milliseconds there, and
// the server waits 1000 for each delivery.
type scripted struct {
	b     *backlog
	now   int64
	hands map[spot]*fakeHand
}

type spot struct {
	partition int
	seq       uint64
}

func (p spot) String() string { return fmt.Sprintf("%d/%d", p.partition, p.seq) }

// fakeHand stands for a delivery whose handler was started.
type fakeHand struct {
	left bool
	end  int64 // its deadline
}

func (h *fakeHand) leaving() bool { return h.left }
func (h *fakeHand) ends() int64   { return h.end }

// fakeBody is a message nothing is asked of.
type fakeBody struct {
	jetstream.Msg
	spot
	deliveries uint64
}

// do carries out one line of a script:
//
//	new PARTITIONS MAXDELIVER [PARTITION:MARK…]    a backlog, its fence closed
//	at TIME                            the clock goes on
//	arrive PARTITION/SEQ DELIVERIES [empty]
//	start [all]                        the next handler, or all that may run
//	acking PARTITION/SEQ               a handler has just acknowledged, and still runs
//	extend PARTITION/SEQ               a handler asks for more time
//	done PARTITION/SEQ [acked|nak [TIME]]    a handler returns
//	acked PARTITION/SEQ                it is acknowledged after that
//	nak PARTITION/SEQ [TIME]           it is given back after that, to come again at TIME
//	fence    unpinned    unfence INFLIGHT DELIVERED    candidates MOST    clear PARTITION/SEQ [AFTER]
//	give-back    drop    for other instances, for nobody
//	pause    close    pass             the pull is about to end, it has, out of turn
//	overdue GRACE    release PARTITION/SEQ    doubt PARTITION/SEQ INFLIGHT DELIVERED
//	renewals BEFORE    renew PARTITION/SEQ DELIVERIES UNTIL
//	stalled LIMIT    marks    deadlines    show
func (s *scripted) do(w []string) ([]string, error) {
	var at spot
	if len(w) > 1 {
		if p, seq, ok := strings.Cut(w[1], "/"); ok {
			at.partition, _ = strconv.Atoi(p)
			at.seq, _ = strconv.ParseUint(seq, 10, 64)
		}
	}
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	num := func(i int) int64 { n, _ := strconv.ParseInt(arg(i), 10, 64); return n }
	one := func(format string, a ...any) ([]string, error) { return []string{fmt.Sprintf(format, a...)}, nil }
	b := s.b
	if slices.Contains([]string{"acking", "extend", "done", "acked", "nak"}, w[0]) && s.hands[at] == nil {
		return nil, errors.New("it was not started")
	}
	switch w[0] {
	case "new":
		marks := make(map[int]uint64)
		for _, m := range w[3:] {
			p, seq, _ := strings.Cut(m, ":")
			partition, _ := strconv.Atoi(p)
			marks[partition], _ = strconv.ParseUint(seq, 10, 64)
		}
		*s = scripted{b: newBacklog(int(num(1)), int(num(2)), marks), hands: make(map[spot]*fakeHand)}
		return nil, nil
	case "at":
		s.now = num(1)
		return nil, nil
	case "arrive":
		var body jetstream.Msg = &fakeBody{spot: at, deliveries: uint64(num(2))}
		if arg(3) == "empty" {
			body = nil
		}
		if !b.arrive(at.partition, at.seq, uint64(num(2)), body, s.now+1000) {
			return one("acknowledge it again")
		}
		return nil, nil
	case "start":
		return s.start(arg(1) == "all"), nil
	case "acking":
		s.hands[at].left = true
		return nil, nil
	case "extend":
		s.hands[at].end = s.now + 1000
		return nil, nil
	case "done":
		return s.done(at, arg(2), num(3)), nil
	case "acked":
		s.hands[at].left = true
		b.settle(at.partition, at.seq)
		return nil, nil
	case "nak":
		s.hands[at].left = true
		return s.nak(at, num(2)), nil
	case "fence":
		b.fence()
		return nil, nil
	case "unpinned":
		b.unpinned()
		return nil, nil
	case "unfence":
		return one("%v", map[bool]string{true: "open", false: "closed"}[b.unfence(s.now, int(num(1)), uint64(num(2)))])
	case "candidates":
		out := []string{}
		for _, p := range b.candidates(int(num(1)), 0) {
			words := spot{p.partition, p.seq}.String()
			if p.after > 0 {
				words += fmt.Sprintf(" after %d", p.after)
			}
			out = append(out, words)
		}
		return sortedOr(out), nil
	case "clear":
		p := candidate{partition: at.partition, seq: at.seq}
		if len(w) > 2 {
			p.after = uint64(num(2))
		}
		if !b.clear(p) {
			return []string{"not that"}, nil
		}
		return nil, nil
	case "give-back":
		return givenInWords(b.giveBack()), nil
	case "drop":
		b.drop()
		return nil, nil
	case "pause":
		b.pause()
		return nil, nil
	case "close":
		b.close()
		return nil, nil
	case "pass":
		b.pass()
		return nil, nil
	case "overdue":
		return holdingsInWords(b.overdue(s.now, num(1))), nil
	case "release":
		return one("%v", b.release(at.partition, at.seq))
	case "doubt":
		return one("%d times", b.doubt(at.partition, at.seq, b.inFlight(s.now, uint64(num(3)), holding{partition: at.partition, seq: at.seq}) > int(num(2))))
	case "renewals":
		return renewalsInWords(b.renewals(s.now, num(1))), nil
	case "renew":
		msg, err := s.body(at, uint64(num(2)))
		if err == nil {
			b.renew(renewal{at.partition, at.seq, msg}, num(3))
		}
		return nil, err
	case "stalled":
		return one("%v", b.stalled(int(num(1))))
	case "marks":
		return one("%v", b.marks())
	case "deadlines":
		return one("to start %d, to settle %d", b.left(), b.unsettled())
	case "show":
		return backlogInWords(b), nil
	}
	return nil, errors.New("no such event")
}

func (s *scripted) start(all bool) (out []string) {
	for {
		l, w, body := s.b.start(s.now)
		if body == nil && len(out) == 0 {
			return []string{"nothing"}
		}
		if body == nil {
			return out
		}
		at, h := spot{l.partition, w.seq}, &fakeHand{end: w.until}
		s.hands[at] = h
		w.take(h)
		out = append(out, fmt.Sprintf("run %v, delivery %d", at, w.deliveries))
		if !all {
			return out
		}
	}
}

func (s *scripted) done(at spot, how string, again int64) []string {
	s.hands[at].left = how != ""
	s.b.finish(s.b.lane(at.partition), at.seq, how == "acked")
	if how == "nak" {
		return s.nak(at, again)
	}
	return nil
}

func (s *scripted) nak(at spot, again int64) []string {
	if n, over := s.b.nak(at.partition, at.seq, max(again, s.now, 1)); over {
		return []string{fmt.Sprintf("given up after %d", n)}
	}
	return nil
}

func (s *scripted) body(at spot, deliveries uint64) (jetstream.Msg, error) {
	l := s.b.lane(at.partition)
	if i, found := l.find(at.seq); found && l.queue[i].body != nil && l.queue[i].body.(*fakeBody).deliveries == deliveries {
		return l.queue[i].body, nil
	}
	return &fakeBody{spot: at, deliveries: deliveries}, nil // what was there before
}

func holdingsInWords(list []holding) []string {
	out := []string{}
	for _, h := range list {
		words := spot{h.partition, h.seq}.String()
		if h.given {
			words += fmt.Sprintf(" given up after %d", h.deliveries)
		}
		out = append(out, words)
	}
	return sortedOr(out)
}

func givenInWords(list []given) []string {
	last := make(map[int]uint64)
	out := []string{}
	for _, g := range list {
		at := g.msg.(*fakeBody).spot
		if at.seq <= last[at.partition] {
			return []string{"in the wrong order: " + at.String()}
		}
		last[at.partition] = at.seq
		out = append(out, at.String())
	}
	return sortedOr(out)
}

func renewalsInWords(list []renewal) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, spot{r.partition, r.seq}.String())
	}
	return sortedOr(out)
}

func sortedOr(words []string) []string {
	if len(words) == 0 {
		return []string{"nothing"}
	}
	slices.Sort(words) // partitions come in any order
	return words
}
