package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: what others did to the work-queue stream not being noticed, or being
// noticed where it is their business.
func TestCompareQueue(t *testing.T) {
	t.Parallel()
	c := &pcgroups.ElasticConsumerGroupConfig{
		MaxMembers: 4, MaxBufferedMsgs: 0, MaxBufferedBytes: 1000,
		PartitioningFilters: []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}},
	}
	for _, tc := range []struct {
		name            string
		edit            func(*jetstream.StreamConfig)
		spoilt, edited  int
		resourced, good bool
	}{
		{"as made", func(*jetstream.StreamConfig) {}, 0, 0, false, true},
		{"by another implementation", func(sc *jetstream.StreamConfig) {
			sc.Sources[0].SubjectTransforms[0].Destination = "{{partition(4,1)}}.orders.{{wildcard(1)}}"
		}, 0, 0, false, true},
		{"replicas, storage, metadata", func(sc *jetstream.StreamConfig) {
			sc.Replicas, sc.Storage, sc.Metadata = 3, jetstream.MemoryStorage, map[string]string{"a": "b"}
		}, 0, 0, false, true},
		{"limits", func(sc *jetstream.StreamConfig) { sc.MaxMsgs, sc.MaxBytes = 5, -1 }, 0, 2, false, false},
		{"dropping what exceeds them", func(sc *jetstream.StreamConfig) { sc.Discard = jetstream.DiscardOld }, 0, 1, false, false},
		{"fewer partitions", func(sc *jetstream.StreamConfig) {
			sc.Sources[0].SubjectTransforms[0].Destination = "{{Partition(3,1)}}.orders.{{Wildcard(1)}}"
		}, 0, 1, true, false},
		{"other subjects, in the same case", func(sc *jetstream.StreamConfig) { sc.Sources[0].SubjectTransforms[0].Source = "ORDERS.*" }, 0, 1, true, false},
		{"another source", func(sc *jetstream.StreamConfig) { sc.Sources[0].Name = "OTHER" }, 0, 1, true, false},
		{"no source", func(sc *jetstream.StreamConfig) { sc.Sources = nil }, 0, 1, true, false},
		{"retention", func(sc *jetstream.StreamConfig) { sc.Retention = jetstream.LimitsPolicy }, 1, 0, false, false},
		{"subjects", func(sc *jetstream.StreamConfig) { sc.Subjects = []string{"x"} }, 1, 0, false, false},
	} {
		sc := jetstream.StreamConfig{
			Retention: jetstream.WorkQueuePolicy, MaxMsgs: -1, MaxBytes: 1000, Discard: jetstream.DiscardNew,
			Sources: []*jetstream.StreamSource{{Name: "ORDERS", SubjectTransforms: []jetstream.SubjectTransformConfig{
				{Source: "orders.*", Destination: "{{Partition(4,1)}}.orders.{{Wildcard(1)}}"},
			}}},
		}
		tc.edit(&sc)
		q := compareQueue("ORDERS", c, sc)
		if len(q.spoilt) != tc.spoilt || len(q.edited) != tc.edited || q.resourced != tc.resourced || q.good() != tc.good {
			t.Errorf("%s: %+v", tc.name, q)
		}
	}
}

// Prevents: an edited work-queue stream being left so that the group loses or
// misplaces messages; one that can not be repaired being replaced, or reported
// without a way out.
func TestAccElasticGroup_queueDrift(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.elastic(`max_members = 4`, `max_buffered_msgs = 100`, keyed, `members = ["a"]`)
	edit := func(change func(*jetstream.StreamConfig)) {
		s, err := w.js.Stream(ctx, "ORDERS-cg")
		w.must(err)
		sc := s.CachedInfo().Config
		change(&sc)
		_, err = w.js.UpdateStream(ctx, sc)
		w.must(err)
	}
	again := func(name string, change func(*jetstream.StreamConfig)) resource.TestStep {
		return resource.TestStep{
			PreConfig:        func() { t.Log(name); edit(change) },
			Config:           config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionUpdate))},
			Check: func(*terraform.State) error {
				s, err := w.js.Stream(ctx, "ORDERS-cg")
				if err != nil {
					return err
				}
				sc := s.CachedInfo().Config
				if sc.MaxMsgs != 100 || sc.Discard != jetstream.DiscardNew || len(sc.Sources) != 1 || sc.Sources[0].Name != "ORDERS" ||
					sc.Sources[0].SubjectTransforms[0].Destination != "{{Partition(4,1)}}.orders.{{Wildcard(1)}}" {
					return fmt.Errorf("%s was not repaired: %+v", name, sc)
				}
				return nil
			},
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			again("limits", func(sc *jetstream.StreamConfig) { sc.MaxMsgs = -1 }),
			again("drops what exceeds them", func(sc *jetstream.StreamConfig) { sc.Discard = jetstream.DiscardOld }),
			again("transforms", func(sc *jetstream.StreamConfig) {
				sc.Sources[0].SubjectTransforms[0].Destination = "{{Partition(3,1)}}.orders.{{Wildcard(1)}}"
			}),
			again("another source", func(sc *jetstream.StreamConfig) { sc.Sources[0].Name = "PARTS" }),
			{
				PreConfig:   func() { edit(func(sc *jetstream.StreamConfig) { sc.Subjects = []string{"elsewhere"} }) },
				Config:      config,
				ExpectError: says(`Someone changed the stream ORDERS-cg of elastic consumer group ORDERS/cg: it has subjects of its own (elsewhere). That can not be changed back`),
			},
			{
				PreConfig: func() { edit(func(sc *jetstream.StreamConfig) { sc.Subjects = nil }) },
				Config:    config,
			},
		},
	})
}

// Prevents: a replacement that counts messages of subjects that the group will
// never get, or none although the stream has some.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.publish("orders.1", 3)
	w.publish("orders.1.x", 2)
	for group, tc := range map[string]struct {
		filters []pcgroups.PartitioningFilter
		want    uint64
	}{
		"all":  {nil, 5},
		"one":  {[]pcgroups.PartitioningFilter{{Filter: "orders.*"}}, 3},
		"two":  {[]pcgroups.PartitioningFilter{{Filter: "orders.*"}, {Filter: "orders.*.x"}}, 5},
		"none": {[]pcgroups.PartitioningFilter{{Filter: "orders.*.y"}}, 0},
	} {
		_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", group, 4, tc.filters, -1, -1)
		w.must(err)
		got, err := replay(ctx, w.js, groupRef{kind: "elastic", stream: "ORDERS", name: group})
		if err != nil || got != tc.want {
			t.Errorf("%s: %d messages, %v, want %d", group, got, err, tc.want)
		}
	}
}

// Prevents: a destroy that was cut off after the key leaving a stream which fills
// for ever, and which nobody is told of.
func TestRead_orphan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1)
	w.must(err)
	provider := configured(t, w)
	imported, err := provider.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: "pcgroups_elastic_group", ID: "ORDERS/cg"})
	noProblems(t, imported.Diagnostics, err)
	r := imported.ImportedResources[0]
	read := func() []string {
		t.Helper()
		resp, err := provider.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: r.TypeName, CurrentState: r.State, CurrentIdentity: r.Identity, Private: r.Private})
		w.must(err)
		return texts(resp.Diagnostics)
	}
	kv, err := w.js.KeyValue(ctx, pcgroups.ElasticBucket)
	w.must(err)
	if got := read(); len(got) != 0 {
		t.Errorf("whole: %v", got)
	}
	w.must(kv.Delete(ctx, "ORDERS.cg"))
	w.buffered(2, 2)
	const want = "Work-queue stream is left behind: The elastic consumer group ORDERS/cg does not exist any more, but its work-queue stream ORDERS-cg does, with 2 messages, and goes on sourcing ORDERS."
	if got := read(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("without its key: %v", got)
	}
	w.must(w.js.DeleteStream(ctx, "ORDERS-cg"))
	if got := read(); len(got) != 0 {
		t.Errorf("without both: %v", got)
	}
}
