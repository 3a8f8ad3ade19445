package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// step is one fault of a schedule: which, a pause before it, and numbers by which
// it chooses what it hits and for how long. They are drawn beforehand, so that a
// seed means the same faults in the same order whatever the run does.
type step struct {
	kind  string
	after time.Duration
	pick  uint64  // what it hits
	size  float64 // 0 to 1: how much of it
}

// lane is a kind of fault that follows another of its lane when that is over.
// Lanes run at the same time: the membership changes while a server is down.
type lane struct {
	name   string
	faults []weighted
	pause  time.Duration // mean, between the end of one and the next
}

type weighted struct {
	kind   string
	weight int
}

// The kinds of faults.
const (
	killServer     = "server killed"
	restartServer  = "server restarted"
	stepDownStream = "stream leader"
	stepDownConsum = "consumer leader"
	stepDownMeta   = "meta leader"

	cutLink        = "link cut"
	slowLink       = "link slow"
	stallHandler   = "handler stalled"
	crashInstance  = "instance crashed"
	restartAckWait = "AckWait changed"

	stepDownMember = "member step-down"
	changeMembers  = "members changed"
	changeMappings = "mappings changed"
	deleteConsumer = "consumer deleted"
	replaceGroup   = "group replaced"
)

func lanes() []lane {
	return []lane{
		{"servers", []weighted{{killServer, 4}, {restartServer, 2}, {stepDownStream, 3}, {stepDownConsum, 3}, {stepDownMeta, 1}}, 3 * time.Second},
		{"clients", []weighted{{cutLink, 3}, {slowLink, 2}, {stallHandler, 4}, {crashInstance, 3}, {restartAckWait, 2}}, time.Second},
		{"groups", []weighted{{stepDownMember, 3}, {changeMembers, 6}, {changeMappings, 3}, {deleteConsumer, 2}, {replaceGroup, 1}}, 1500 * time.Millisecond},
	}
}

// shortNames are what an option calls the faults.
var shortNames = map[string]string{
	"kill": killServer, "restart": restartServer, "stream": stepDownStream, "consumer": stepDownConsum, "meta": stepDownMeta,
	"cut": cutLink, "slow": slowLink, "stall": stallHandler, "crash": crashInstance, "ackwait": restartAckWait,
	"stepdown": stepDownMember, "members": changeMembers, "mappings": changeMappings, "delete": deleteConsumer, "replace": replaceGroup,
}

// Faults are the names of all faults, for [Options].Only.
func Faults() []string { return slices.Sorted(maps.Keys(shortNames)) }

// lanesOf are the lanes with some faults only, or with all of them. A lane has to
// keep its place, as its draws come from that.
func lanesOf(only string) ([]lane, error) {
	all := lanes()
	if only == "" {
		return all, nil
	}
	weights := map[string]int{}
	for name := range strings.SplitSeq(only, ",") {
		kind := shortNames[strings.TrimSpace(name)]
		if kind == "" {
			return nil, fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(Faults(), ", "))
		}
		weights[kind]++
	}
	for i := range all {
		var some []weighted
		for _, w := range all[i].faults {
			if n := weights[w.kind]; n > 0 {
				some = append(some, weighted{w.kind, n})
			}
		}
		all[i].faults = some
	}
	return all, nil
}

// schedule is the endless list of a lane's faults for a seed.
type schedule struct {
	lane lane
	rng  *rand.Rand
}

func newSchedule(seed uint64, n int, l lane) *schedule {
	return &schedule{l, rand.New(rand.NewPCG(seed, uint64(n)))}
}

func (s *schedule) next() step {
	total := 0
	for _, w := range s.lane.faults {
		total += w.weight
	}
	n, kind := s.rng.IntN(total), ""
	for _, w := range s.lane.faults {
		if n < w.weight {
			kind = w.kind
			break
		}
		n -= w.weight
	}
	// Always the same number of draws, so that no fault shifts what comes after.
	return step{kind, time.Duration((0.3 + 1.4*s.rng.Float64()) * float64(s.lane.pause)), s.rng.Uint64(), s.rng.Float64()}
}
