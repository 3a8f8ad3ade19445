package pcgroups

import (
	"errors"
	"testing"
	"time"
)

// Prevents: a session that stops its pull at every look, as another instance is
// configured with the limit that a cure leaves behind, and the server refuses to have
// it changed.
func TestRaisedLimitIsTriedOnceUnderAPin(t *testing.T) {
	limits := timing{ackWait: time.Second, maxAckPending: 2}
	s, drains := state{fl: elasticFlavour}, 0
	var feed func(ev event)
	feed = func(ev event) {
		var actions []action
		s, actions = s.step(ev)
		for _, a := range actions {
			switch a := a.(type) {
			case actWatch:
				feed(evWatching{})
			case actJoin:
				feed(evJoined{filters: a.filters, partitions: a.partitions, created: time.Unix(1, 0), timing: limits})
			case actLook:
				feed(evLooked{revision: s.revision, consumer: true, created: time.Unix(1, 0), timing: limits, raised: true})
			case actDrain:
				drains++
				feed(evDrained{})
			case actAdjust:
				feed(evAdjusted{err: errors.New("refused")})
			}
		}
	}
	feed(evConfig{revision: 1, view: view{filters: []string{"0.>"}, partitions: []int{0}, member: true}})
	for _, pin := range []string{"p", "q"} {
		drains = 0
		feed(evPinned{pin})
		for range 10 {
			feed(evTick{})
		}
		if drains != 1 {
			t.Errorf("pin %s: the pull was stopped %d times in 10 looks, want once", pin, drains)
		}
	}
}
