package pcgroups

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a work-queue stream that is right being reported as changed, because
// another program wrote it or its operator moved it; and one that is wrong being
// "put right" into something that is still not the group's.
func TestGroupStreamConfig(t *testing.T) {
	t.Parallel()
	c := &ElasticConsumerGroupConfig{MaxMembers: 4, MaxBufferedBytes: 1000, PartitioningFilters: []PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}}
	made := func() jetstream.StreamConfig {
		sc := deriveGroupStream("ORDERS", "cg", c, jetstream.StreamConfig{Replicas: 1})
		sc.MaxMsgs = -1 // as the server states it
		return sc
	}
	for name, tc := range map[string]struct {
		edit func(*jetstream.StreamConfig)
		same bool
	}{
		"as made": {func(*jetstream.StreamConfig) {}, true},
		"another speller": {func(sc *jetstream.StreamConfig) {
			sc.Sources[0].SubjectTransforms[0].Destination = "{{partition(4,1)}}.orders.{{wildcard(1)}}"
		}, true},
		"moved": {func(sc *jetstream.StreamConfig) {
			sc.Replicas, sc.Storage, sc.Metadata = 3, jetstream.MemoryStorage, map[string]string{"a": "b"}
		}, true},
		"retention": {func(sc *jetstream.StreamConfig) { sc.Retention = jetstream.LimitsPolicy }, false},
		"subjects":  {func(sc *jetstream.StreamConfig) { sc.Subjects = []string{"x"} }, false},
		"mirror":    {func(sc *jetstream.StreamConfig) { sc.Mirror, sc.Sources = &jetstream.StreamSource{Name: "M"}, nil }, false},
		"source":    {func(sc *jetstream.StreamConfig) { sc.Sources[0].Name = "OTHER" }, false},
		"transform": {func(sc *jetstream.StreamConfig) { sc.Sources[0].SubjectTransforms[0].Source = "ORDERS.*" }, false},
		"discard":   {func(sc *jetstream.StreamConfig) { sc.Discard = jetstream.DiscardOld }, false},
		"limits":    {func(sc *jetstream.StreamConfig) { sc.MaxMsgs, sc.MaxBytes = 5, -1 }, false},
	} {
		have, was := made(), made()
		tc.edit(&have)
		tc.edit(&was)
		want := GroupStreamConfig("ORDERS", c, have)
		if !reflect.DeepEqual(have, was) {
			t.Errorf("%s: the argument was changed", name)
		}
		if reflect.DeepEqual(have, want) != tc.same {
			t.Errorf("%s: %+v", name, want)
		}
		if !isGroupStream("ORDERS", c, want) || want.MaxMsgs != -1 || want.MaxBytes != 1000 || want.Replicas != have.Replicas {
			t.Errorf("%s: not the group's: %+v", name, want)
		}
	}
}
