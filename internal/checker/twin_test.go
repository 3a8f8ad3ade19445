package checker

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// event is one call to the checker, in order.
type event struct {
	what    string // publish, begin, end
	key     string
	seq     uint64
	exec    int // which execution, for begin and end: numbered by begin
	settled bool
}

// twin decides from the whole history, by searching it for every question. It
// shares nothing with the checker but the definitions.
type twin []event

// first is the position of the first event that matches, or -1.
func (h twin) first(match func(event) bool) int {
	for i, e := range h {
		if match(e) {
			return i
		}
	}
	return -1
}

// settledAt is the position at which the execution was settled, or -1.
func (h twin) settledAt(exec int) int {
	return h.first(func(e event) bool { return e.what == "end" && e.exec == exec && e.settled })
}

// endedAt is the position at which the execution ended, or the end of history.
func (h twin) endedAt(exec int) int {
	if i := h.first(func(e event) bool { return e.what == "end" && e.exec == exec }); i >= 0 {
		return i
	}
	return len(h)
}

func (h twin) verdict() Verdict {
	var v Verdict
	type id struct {
		key string
		seq uint64
	}
	published, settled, executed := map[id]bool{}, map[id]int{}, map[id]bool{}
	for at, e := range h {
		this := id{e.key, e.seq}
		switch e.what {
		case "publish":
			published[this] = true
		case "begin":
			v.Executions++
			executed[this] = true
			if h.settledAt(e.exec) >= 0 {
				settled[this]++
			}
			if h.endedAt(e.exec) == len(h) {
				v.Running++
			}
			var overtaken, settledBefore, sameMessage, sameKey bool
			for _, other := range h[:at] {
				if other.what != "begin" || other.key != e.key {
					continue
				}
				if other.seq > e.seq {
					overtaken = true
				}
				if s := h.settledAt(other.exec); other.seq == e.seq && s >= 0 && s < at {
					settledBefore = true
				}
				if h.endedAt(other.exec) > at {
					sameMessage = sameMessage || other.seq == e.seq
					sameKey = sameKey || other.seq != e.seq
				}
			}
			v.OutOfOrder += count(overtaken && !settledBefore)
			v.SameMessageOverlap += count(sameMessage)
			v.SameKeyOverlap += count(sameKey)
			v.Overlapping += count(sameMessage || sameKey)
		}
	}
	v.Published, v.Handled = len(published), len(settled)
	for m := range published {
		v.Lost += count(settled[m] == 0)
	}
	for _, n := range settled {
		v.Duplicated += n - 1
	}
	for m := range executed {
		v.Unannounced += count(!published[m])
	}
	return v
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The checker keeps running sums to stay small and fast; a sum that forgets a
// case would pronounce a broken group correct. So on random histories, with
// late announcements, repeated ends and hung handlers, it must agree with the
// twin after every single event.
func TestAgreesWithDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		var history twin
		var ends []func(bool)
		var begun []event
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			e := event{
				what: rapid.SampledFrom([]string{"publish", "begin", "begin", "end", "end"}).Draw(t, "what"),
				key:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
				seq:  rapid.Uint64Range(0, 4).Draw(t, "seq"),
			}
			switch {
			case e.what == "publish":
				c.Published(e.key, e.seq)
			case e.what == "begin":
				e.exec = len(ends)
				ends = append(ends, c.Begin("m", e.key, e.seq))
				begun = append(begun, e)
			case len(ends) == 0:
				continue
			default:
				// Mostly one of the latest, so that runs are short as in life.
				i := len(ends) - 1 - rapid.IntRange(0, len(ends)-1).Draw(t, "back")
				e = begun[i]
				e.what, e.settled = "end", rapid.Bool().Draw(t, "settled")
				ends[i](e.settled)
			}
			history = append(history, e)
			got := c.Verdict()
			if got.OK() != (len(got.Examples) == 0) {
				t.Fatalf("OK is %t with examples %q", got.OK(), got.Examples)
			}
			got.Examples = nil
			if want := history.verdict(); !reflect.DeepEqual(got, want) {
				t.Fatalf("after %+v\n got %+v\nwant %+v", history, got, want)
			}
		}
	})
}
