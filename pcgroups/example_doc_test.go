package pcgroups

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a package documentation whose table of timers is not what sessions go
// by, after one of them was changed.
func TestDocTimers(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]time.Duration{}
	row := regexp.MustCompile(`(?m)^//\t(\S.*?) {2,}(\S+) +(\S+) +(\S+) {2,}\S.*$`)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for _, cell := range m[2:] {
			if d, err := time.ParseDuration(cell); err == nil {
				shown[m[1]] = append(shown[m[1]], d)
			}
		}
	}
	waits := shown["AckWait"]
	if len(waits) != 3 || waits[1] != defaultAckWait {
		t.Fatalf("the table is about %v, want three AckWaits, the default in the middle", waits)
	}
	derived := map[string]func(time.Duration) time.Duration{
		"AckWait":          func(w time.Duration) time.Duration { return w },
		"pin time to live": func(w time.Duration) time.Duration { return deriveTimers(w).pinnedTTL },
		"pull expiry":      func(w time.Duration) time.Duration { return deriveTimers(w).pullExpiry },
		"heartbeat":        func(w time.Duration) time.Duration { return deriveTimers(w).heartbeat },
		"pin renewal":      func(w time.Duration) time.Duration { return deriveTimers(w).pinnedTTL / 3 },
		"self-check":       func(w time.Duration) time.Duration { return deriveTimers(w).selfCheck },
		"WithKeepAlive":    func(w time.Duration) time.Duration { return w / 3 },
		"inactivity threshold": func(w time.Duration) time.Duration {
			return deriveConsumer(elasticFlavour, "g", "m", jetstream.ConsumerConfig{AckWait: w}, nil).InactiveThreshold
		},
		"WithAutoMembership": func(w time.Duration) time.Duration {
			least := 3 * w
			auto := func(after time.Duration) error {
				return (&autoMembership{after, func(string) bool { return true }}).check(elasticFlavour, jetstream.ConsumerConfig{AckWait: w})
			}
			if auto(least) != nil || auto(least-time.Millisecond) == nil {
				return 0
			}
			return least
		},
	}
	for name, want := range derived {
		cells := shown[name]
		if len(cells) != len(waits) {
			t.Errorf("%s: %d values for %d AckWaits", name, len(cells), len(waits))
			continue
		}
		for i, wait := range waits {
			// Thirds are cut off after three digits.
			if w := want(wait); cells[i] > w || w-cells[i] >= 10*time.Millisecond {
				t.Errorf("%s at %v is %v, the documentation says %v", name, wait, w, cells[i])
			}
		}
	}
	for name := range shown {
		if derived[name] == nil {
			t.Errorf("the documentation has a timer %q, which nothing here is compared with", name)
		}
	}
}
