package pcgroups

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a user who is shown the transform of somebody else's subjects, or a
// command that the shell takes apart.
func TestCheckShowsTheTransformThatIsMissing(t *testing.T) {
	for _, c := range []struct {
		stream  string
		filters []string
		want    string
	}{
		{"ORDERS", nil, "such as {{Partition(6,1)}}.orders.{{Wildcard(1)}} for orders.*; by hand: nats stream edit ORDERS --transform-source 'orders.*' --transform-destination '{{Partition(6,1)}}.orders.{{Wildcard(1)}}'"},
		{"P", []string{"eu.*.paid.*", "us.*"}, "such as {{Partition(6,1)}}.eu.{{Wildcard(1)}}.paid.{{Wildcard(2)}} for eu.*.paid.*; by hand: nats stream edit P --transform-source 'eu.*.paid.*' --transform-destination '{{Partition(6,1)}}.eu.{{Wildcard(1)}}.paid.{{Wildcard(2)}}'"},
		{"P", []string{"eu.>"}, "such as {{Partition(6)}}.eu.> for eu.>; by hand: nats stream edit P --transform-source 'eu.>' --transform-destination '{{Partition(6)}}.eu.>'"},
		{"it's;$HOME", []string{"paid"}, `for paid; by hand: nats stream edit 'it'\''s;$HOME' --transform-source paid --transform-destination '{{Partition(6)}}.paid'`},
	} {
		err := checkTransforms(jetstream.StreamConfig{Name: c.stream}, 6, c.filters)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("stream %s, filters %q: %v\nwant …%s", c.stream, c.filters, err, c.want)
		}
	}
}
