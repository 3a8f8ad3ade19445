package chaos

import (
	"slices"
	"testing"
)

// Prevents: a choice of faults that makes others, too, or another list of faults
// each time; and a misspelt one that makes none.
func TestScheduleOfChosenFaults(t *testing.T) {
	draw := func(only string) (kinds []string) {
		t.Helper()
		all, err := lanesOf(only)
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range all {
			if len(l.faults) == 0 {
				continue
			}
			s := newSchedule(1, n, l)
			for range 300 {
				kinds = append(kinds, s.next().kind)
			}
		}
		return kinds
	}
	count := map[string]int{}
	for _, k := range draw("restart,restart,consumer,stall") {
		count[k]++
	}
	if len(count) != 3 || count[stallHandler] != 300 || count[restartServer] < count[stepDownConsum]*3/2 {
		t.Errorf("%v", count)
	}
	if !slices.Equal(draw("restart,stall"), draw("restart,stall")) {
		t.Error("the same seed and choice, another schedule")
	}
	if _, err := lanesOf("restart,reboot"); err == nil {
		t.Error("a fault that does not exist is accepted")
	}
	named := map[string]bool{}
	for _, kind := range shortNames {
		named[kind] = true
	}
	for _, l := range lanes() {
		for _, f := range l.faults {
			if !named[f.kind] {
				t.Errorf("%q can not be chosen", f.kind)
			}
		}
	}
}
