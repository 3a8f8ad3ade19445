package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// delivered is a message as a member's handler gets it.
type delivered struct {
	jetstream.Msg // unused methods
	data          string
	stored        uint64
	times         uint64
	at            time.Time
}

func (m delivered) Data() []byte         { return []byte(m.data) }
func (m delivered) Headers() nats.Header { return nil }
func (m delivered) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: m.stored}, NumDelivered: m.times, Timestamp: m.at}, nil
}

func newTestJudge(t *testing.T) *judge {
	t.Helper()
	return newJudge(&group{stream: "S", name: "g"}, newJournal())
}

func begin(t *testing.T, j *judge, key string, seq int, stored uint64, instance string) *execution {
	t.Helper()
	x, err := j.begin(delivered{data: fmt.Sprintf("%s %d", key, seq), stored: stored, times: 1, at: time.Now()}, "m", instance)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func handle(t *testing.T, j *judge, key string, seq int, stored uint64, instance string) {
	t.Helper()
	x := begin(t, j, key, seq, stored, instance)
	x.worked()
	x.acknowledged()
}

func kinds(j *judge) string {
	var all []string
	for _, v := range j.bad {
		all = append(all, v.kind)
	}
	return strings.Join(all, " ")
}

// Prevents: a harness that is blind. Each violation is made once, and must be the
// only thing that is found.
func TestJudgeSeesViolations(t *testing.T) {
	for want, play := range map[string]func(*judge){
		"overlap": func(j *judge) {
			begin(t, j, "k", 1, 1, "a")
			begin(t, j, "k", 2, 2, "b")
		},
		"order": func(j *judge) {
			handle(t, j, "k", 2, 2, "a")
			handle(t, j, "k", 1, 1, "a")
		},
		"duplicate": func(j *judge) {
			handle(t, j, "k", 1, 1, "a")
			handle(t, j, "k", 1, 1, "b")
		},
		"": func(j *judge) {
			handle(t, j, "k", 1, 1, "a")
			handle(t, j, "l", 1, 2, "b")
			handle(t, j, "k", 2, 3, "b")
		},
	} {
		j := newTestJudge(t)
		if play(j); kinds(j) != want {
			t.Errorf("found %q, want %q", kinds(j), want)
		}
	}
}

// Prevents: a duplicate that is excused by what had nothing to do with it, and an
// excusable one that fails the run.
func TestJudgeExplainsDuplicates(t *testing.T) {
	for name, c := range map[string]struct {
		group, instance string
		explained       bool
	}{
		"a server":             {"", "", true},
		"the instance's link":  {"S/g", "a", true},
		"its group":            {"S/g", "", true},
		"another's link":       {"S/g", "b", false},
		"another group":        {"T/g", "", false},
		"another group's link": {"T/g", "a", false},
	} {
		j := newTestJudge(t)
		over := j.journal.disturb(c.group, c.instance)
		handle(t, j, "k", 1, 1, "a")
		over()
		handle(t, j, "k", 1, 1, "b")
		if got := kinds(j) == ""; got != c.explained {
			t.Errorf("%s was disturbed: explained %t, want %t", name, got, c.explained)
		}
	}
	// What was over long ago explains nothing.
	j := newTestJudge(t)
	j.journal.disturb("", "")()
	j.journal.disturbances[0].from = time.Now().Add(-time.Hour)
	j.journal.disturbances[0].to = time.Now().Add(-time.Hour / 2)
	handle(t, j, "k", 1, 1, "a")
	handle(t, j, "k", 1, 1, "b")
	if kinds(j) != "duplicate" {
		t.Errorf("found %q", kinds(j))
	}
}

// Prevents: executions that the server knows nothing of any more, of an instance
// that was killed or of a consumer that was deleted, being taken for overlaps.
func TestJudgeAbandons(t *testing.T) {
	j := newTestJudge(t)
	begin(t, j, "k", 1, 1, "a")
	j.abandon("crash", func(x *execution) bool { return x.instance == "a" })
	handle(t, j, "k", 1, 1, "b")
	x := begin(t, j, "k", 2, 2, "a")
	done := j.forget("m")
	handle(t, j, "k", 2, 2, "b")
	done()
	x.worked()
	x.acknowledged() // it had gone out before: handled twice, but nothing to blame
	begin(t, j, "k", 3, 3, "a")
	begin(t, j, "k", 3, 3, "b")
	if kinds(j) != "duplicate overlap" {
		t.Errorf("found %q", kinds(j))
	}
}

// Prevents: a group's second life being judged by what was done in its first, or
// excused by it.
func TestJudgeTellsLivesApart(t *testing.T) {
	j := newTestJudge(t)
	j.accepted("k", 1)
	j.accepted("k", 2)
	old := begin(t, j, "k", 2, 2, "a")
	j.newEpoch(time.Now())
	if got := len(j.unhandled()); got != 2 {
		t.Errorf("%d messages are due in the new life, want both", got)
	}
	handle(t, j, "k", 1, 1, "b")
	old.worked()
	old.acknowledged()
	if left := j.unhandled(); len(left) != 1 || left[0].seq != 2 {
		t.Errorf("due: %+v", left)
	}
	if kinds(j) != "" {
		t.Errorf("found %q", kinds(j))
	}
}

// Prevents: losses of the library being put down to the server, and the other way
// round.
func TestAuditTellsLossesFromWhatWasNotSourced(t *testing.T) {
	for name, c := range map[string]struct {
		stored           []uint64 // of k 1 and k 4
		last             uint64
		lost, notSourced int
	}{
		"neither was stored":  {[]uint64{1, 2}, 2, 0, 2},
		"both were":           {[]uint64{1, 4}, 4, 2, 0},
		"one was":             {[]uint64{1, 3}, 3, 1, 1},
		"the last one stored": {[]uint64{1, 2}, 3, 1, 1},
	} {
		g := &group{stream: "S", name: "g"}
		g.judge = newJudge(g, newJournal())
		for seq := range uint64(4) {
			g.judge.accepted("k", seq+1)
		}
		handle(t, g.judge, "k", 1, c.stored[0], "a")
		handle(t, g.judge, "k", 4, c.stored[1], "a")
		a := g.audit(g.judge.unhandled(), c.last)
		if len(a.lost) != c.lost || len(a.notSourced) != c.notSourced {
			t.Errorf("%s: %d lost and %d not sourced, want %d and %d", name, len(a.lost), len(a.notSourced), c.lost, c.notSourced)
		}
	}
	// A static group has no such excuse.
	g := &group{stream: "S", name: "g", static: true}
	g.judge = newJudge(g, newJournal())
	g.judge.accepted("k", 1)
	if a := g.audit(g.judge.unhandled(), 0); len(a.lost) != 1 {
		t.Errorf("%+v", a)
	}
}

// Prevents: a seed that can not be repeated, and seeds that all do the same.
func TestScheduleIsTheSeeds(t *testing.T) {
	draw := func(seed uint64) (all []step) {
		for n, l := range lanes() {
			s := newSchedule(seed, n, l)
			for range 200 {
				all = append(all, s.next())
			}
		}
		return all
	}
	one := draw(1)
	if !slices.Equal(one, draw(1)) {
		t.Error("the same seed, another schedule")
	}
	if slices.Equal(one, draw(2)) {
		t.Error("another seed, the same schedule")
	}
	seen := map[string]bool{}
	for _, s := range one {
		seen[s.kind] = true
		if s.size < 0 || s.size >= 1 || s.after <= 0 {
			t.Errorf("%+v", s)
		}
	}
	for _, l := range lanes() {
		for _, f := range l.faults {
			if !seen[f.kind] {
				t.Errorf("%q never happens", f.kind)
			}
		}
	}
}
