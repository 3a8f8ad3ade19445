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
	"time"
)

// TestMachineScripts runs the scripts in testdata/machine: commented stories of
// what happens to a session, with what it does about each event. They are
// re-recorded with -update; the diff is what to review.
//
// Prevents: a rule of the session that changes without anyone noticing.
func TestMachineScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
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

// runScript answers each line that starts with "> " by the actions that follow
// from that event, and keeps comments and empty lines.
func runScript(t *testing.T, script string) string {
	var out strings.Builder
	s := state{}
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		cmd, isEvent := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "    "):
			continue // recorded before
		case !isEvent:
			fmt.Fprintln(&out, line)
			continue
		}
		fmt.Fprintln(&out, line)
		words := strings.Fields(cmd)
		if words[0] == "session" {
			s = state{fl: map[string]*flavour{"static": staticFlavour, "elastic": elasticFlavour}[words[1]], rejoin: slices.Contains(words, "rejoin"), leaves: slices.Contains(words, "leaves")}
			continue
		}
		ev, err := parseEvent(words)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l, ok := ev.(evLooked); ok && l.revision == 0 {
			l.revision = s.revision // nothing was missed
			ev = l
		}
		var actions []action
		s, actions = s.step(ev)
		for _, a := range actions {
			fmt.Fprintln(&out, "    "+inWords(a))
		}
		if len(actions) == 0 {
			fmt.Fprintln(&out, "    nothing")
		}
	}
	return out.String()
}

// parseEvent reads one event of a script:
//
//	config REV member|stranger [PARTITION…]    changed REV    bad REV    gone REV
//	watching    watch-failed    watch-lost    joined [differs|adjustable] CREATED PARTITION…
//	join-failed error|not-unique|occupied|refused
//	released [failed]    looked ok CREATED [ACKWAIT]|newer CREATED REV|unfit CREATED|no-consumer|no-config|no-bucket|failed
//	unpinned    left [released] [dropped] [failed]    trouble    pull-ended    drained [late]    idle    pinned ID
//	overdue    adjusted ACKWAIT|not-now|failed
//	timer    tick    stop    handler-failed    closed
func parseEvent(w []string) (event, error) {
	boom := errors.New("boom")
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	num := func(i int) uint64 { n, _ := strconv.ParseUint(arg(i), 10, 64); return n }
	switch w[0] {
	case "config", "changed":
		v := view{shape: w[0], member: arg(2) == "member", members: []string{"m1", "m2"}}
		if len(w) > 3 {
			v.filters, v.partitions = filtersFor(w[3:])
		}
		return evConfig{v, num(1)}, nil
	case "bad":
		return evBadConfig{boom, num(1)}, nil
	case "gone":
		return evGone{num(1)}, nil // 0: not there when the session began
	case "watching":
		return evWatching{}, nil
	case "watch-failed":
		return evWatchFailed{boom}, nil
	case "watch-lost":
		return evWatchLost{boom}, nil
	case "joined":
		ev := evJoined{}
		if arg(1) == "differs" {
			ev.differs = boom
			w = w[1:]
		}
		if arg(1) == "adjustable" {
			ev.differs, ev.adjustable = boom, true
			w = w[1:]
		}
		ev.created = at(num(1))
		ev.filters, ev.partitions = filtersFor(w[2:])
		return ev, nil
	case "join-failed":
		why, ok := map[string]joinFailure{"error": joinError, "not-unique": joinNotUnique, "occupied": joinOccupied, "refused": joinRefused}[arg(1)]
		if ok {
			return evJoinFailed{why, boom}, nil
		}
	case "released":
		if arg(1) == "failed" {
			return evReleased{boom}, nil
		}
		return evReleased{}, nil
	case "looked":
		switch arg(1) {
		case "ok":
			return evLooked{consumer: true, created: at(num(2)), timing: timing{ackWait: time.Duration(num(3))}}, nil
		case "no-consumer":
			return evLooked{}, nil
		case "newer":
			return evLooked{consumer: true, created: at(num(2)), revision: num(3)}, nil
		case "unfit":
			return evLooked{consumer: true, created: at(num(2)), unfit: true}, nil
		case "no-config":
			return evLooked{config: entryGone}, nil
		case "no-bucket":
			return evLooked{config: bucketGone}, nil
		case "failed":
			return evLooked{err: boom}, nil
		}
	case "unpinned":
		return evUnpinned{}, nil
	case "left":
		ev := evLeft{released: slices.Contains(w, "released"), dropped: slices.Contains(w, "dropped")}
		if slices.Contains(w, "failed") {
			ev.err = boom
		}
		return ev, nil
	case "trouble":
		return evPullTrouble{boom}, nil
	case "pull-ended":
		return evPullEnded{boom}, nil
	case "drained":
		return evDrained{arg(1) == "late"}, nil
	case "overdue":
		return evOverdue{}, nil
	case "adjusted":
		switch arg(1) {
		case "not-now":
			return evAdjusted{notNow: true}, nil
		case "failed":
			return evAdjusted{err: boom}, nil
		}
		return evAdjusted{timing: timing{ackWait: time.Duration(num(1))}}, nil
	case "idle":
		return evIdle{}, nil
	case "pinned":
		return evPinned{arg(1)}, nil
	case "timer":
		return evTimer{}, nil
	case "tick":
		return evTick{}, nil
	case "stop":
		return evStop{}, nil
	case "handler-failed":
		return evHandlerFailed{boom}, nil
	case "closed":
		return evConnClosed{}, nil
	}
	return nil, errors.New("no such event")
}

func at(n uint64) time.Time { return time.Unix(int64(n), 0) }

func filtersFor(partitions []string) (filters []string, numbers []int) {
	for _, p := range partitions {
		n, _ := strconv.Atoi(p)
		filters, numbers = append(filters, p+".>"), append(numbers, n)
	}
	return filters, numbers
}

func inWords(a action) string {
	switch a := a.(type) {
	case actWatch:
		return "watch the configuration"
	case actJoin:
		return fmt.Sprintf("create the consumer for %v", a.partitions)
	case actRelease:
		if a.final {
			return fmt.Sprintf("delete the consumer created at %d", a.created.Unix())
		}
		return fmt.Sprintf("release the consumer created at %d", a.created.Unix())
	case actLook:
		return "look at the server"
	case actUnpin:
		return "unpin"
	case actLeave:
		return fmt.Sprintf("leave the group and the consumer created at %d", a.created.Unix())
	case actAdjust:
		return "give the consumer our settings"
	case actCancel:
		return "cancel the request"
	case actPull:
		return "pull"
	case actDrain:
		how := map[intake]string{intakeRun: "run", intakeGiveBack: "give back", intakeDrop: "drop"}[a.unstarted]
		if a.settle {
			return "drain: " + how + " what was not started, wait for handlers and settlements"
		}
		return "drain: " + how + " what was not started, wait for handlers"
	case actTimer:
		return fmt.Sprintf("try again after %v", a.after)
	case actReport:
		return fmt.Sprintf("report: %v", a.err)
	case actTell:
		return strings.Replace(fmt.Sprintf("tell %T%v", a.what, a.what), "pcgroups.tell", "", 1)
	case actFinish:
		return fmt.Sprintf("finish: %v", a.err)
	}
	return fmt.Sprintf("%#v", a)
}
