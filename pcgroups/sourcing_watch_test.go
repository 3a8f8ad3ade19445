package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// watched runs a watch over a script for so long, on a clock of the test's own.
// looks is what each look shows, by the time since the start; it returns what was
// told, with the second, and when looks were taken.
func watched(t *testing.T, length time.Duration, look func(since time.Duration, deep bool) (sourceSight, error), change ...func(*sourceWatch)) (told []string, at []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := &sourceWatch{
			look: func(_ context.Context, _ uint64, deep bool) (sourceSight, error) {
				since := time.Since(begun)
				at = append(at, since)
				o, err := look(since, deep)
				o.at = time.Now()
				return o, err
			},
			count:  func(context.Context, uint64, uint64) (tally, error) { return tally{}, nil },
			wanted: func() bool { return true },
			tell:   func(what any) { told = append(told, fmt.Sprintf("%T", what)) },
		}
		for _, c := range change {
			c(w)
		}
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		w.run(ctx) // returns, or synctest finds it still waiting
	})
	return told, at
}

// Ten minutes of traffic that comes and goes must alarm nobody, and cost a request
// every five seconds. Active is what a server showed: heartbeats come every second.
func TestWatchIsSilentOnHealthyTraffic(t *testing.T) {
	told, at := watched(t, 10*time.Minute, func(since time.Duration, deep bool) (sourceSight, error) {
		if deep {
			t.Errorf("looked at the origin after %v", since)
		}
		burst := uint64(since / (14 * time.Second) * 1000)
		if since%(14*time.Second) < 7*time.Second {
			burst += uint64(since%(14*time.Second)) / uint64(7*time.Millisecond)
		}
		return sourceSight{answered: true, active: since % time.Second, seq: burst, last: burst}, nil
	})
	if len(told) != 0 {
		t.Errorf("told %v", told)
	}
	if len(at) < 115 || len(at) > 121 {
		t.Errorf("%d looks", len(at))
	}
}

// A stall must be told within a few looks, and its end.
func TestWatchTellsOfAStall(t *testing.T) {
	told, at := watched(t, 2*time.Minute, func(since time.Duration, deep bool) (sourceSight, error) {
		o := sourceSight{answered: true, leader: "A", active: time.Second, seq: 50, last: 50}
		if since > 20*time.Second && since < 61*time.Second {
			o.leader, o.active = "C", -1
			if deep {
				o.deep, o.originAlive, o.originLeader, o.originFirst, o.originLast, o.next = true, true, "B", 1, 90, 51
			}
		}
		return o, nil
	})
	if want := []string{"pcgroups.SourceStall", "pcgroups.sourceRecovered"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if len(at) < 40 || len(at) > 70 {
		t.Errorf("%d looks: it should look closely during the stall, and only then", len(at))
	}
}

// Without permission no answer ever comes: the watch must not ask often, as each
// question is reported to the program's error handler, and must tell nothing.
func TestWatchGivesUpAskingOften(t *testing.T) {
	told, at := watched(t, time.Hour, func(time.Duration, bool) (sourceSight, error) { return sourceSight{}, context.DeadlineExceeded })
	if len(told) != 0 || len(at) > 25 {
		t.Errorf("%d looks, told %v", len(at), told)
	}
}

// A closed connection never answers again, and a session's end must not wait for
// the watch.
func TestWatchEndsWithItsConnection(t *testing.T) {
	_, at := watched(t, time.Hour, func(time.Duration, bool) (sourceSight, error) {
		return sourceSight{}, errors.Join(errors.New("look"), nats.ErrConnectionClosed)
	})
	if len(at) != 1 {
		t.Errorf("%d looks", len(at))
	}
}

// Only one session of a group is to look; the others must send nothing.
func TestWatchLooksOnlyIfWanted(t *testing.T) {
	_, at := watched(t, time.Hour, func(time.Duration, bool) (sourceSight, error) { return sourceSight{}, nil },
		func(w *sourceWatch) { w.wanted = func() bool { return false } })
	if len(at) != 0 {
		t.Errorf("%d looks", len(at))
	}
}

// What was skipped without the record ever going back shows only in the numbers
// (measured: a leader that resumed 1,239 messages too late).
func TestWatchBalancesTheBooks(t *testing.T) {
	var counted []string
	told, _ := watched(t, time.Minute, func(since time.Duration, _ bool) (sourceSight, error) {
		o := sourceSight{answered: true, leader: "A", seq: 1500, last: 1500}
		if since > 30*time.Second {
			o.leader, o.seq, o.last = "C", 5000, 3761
		}
		return o, nil
	}, func(w *sourceWatch) {
		w.state.whole = true
		w.count = func(_ context.Context, from, to uint64) (tally, error) {
			counted = append(counted, fmt.Sprint(from, to))
			return tally{n: to - from + 1, exact: true, known: true}, nil
		}
		w.tell = func(what any) {
			if skip := what.(SourceSkip); skip.Kind != SourceMissing || skip.Messages != 1239 || skip.First != 1501 || skip.Last != 5000 {
				t.Errorf("told %+v", skip)
			}
			counted = append(counted, "told")
		}
	})
	if want := []string{"1501 5000", "told"}; !slices.Equal(counted, want) || len(told) != 0 {
		t.Errorf("got %q, want %q", counted, want)
	}
}
