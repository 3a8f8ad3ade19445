package provider

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// partitions is what assignments should hold.
func partitions(of map[string][]int64) knownvalue.Check {
	members := make(map[string]knownvalue.Check)
	for member, list := range of {
		var checks []knownvalue.Check
		for _, p := range list {
			checks = append(checks, knownvalue.Int64Exact(p))
		}
		members[member] = knownvalue.ListExact(checks)
	}
	return knownvalue.MapExact(members)
}

// Prevents: other bytes on the wire than every implementation reads; a plan that
// does not show who gets what; a membership change that replaces the work-queue
// stream and so loses messages; giving up the membership changing it.
func TestAccElasticGroup_lifecycle(t *testing.T) {
	w := newWorld(t)
	const (
		shape = `{"max_members":4,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"max_buffered_msg":-1,"max_buffered_bytes":-1`
		three = `,"members":["a","b","c"]}`
	)
	assignments := tfjsonpath.New("assignments")
	var born time.Time
	var revision uint64
	sameStream := func(*terraform.State) error {
		if now := w.created("ORDERS-cg"); !now.Equal(born) {
			return fmt.Errorf("the work-queue stream was replaced: created %v, was %v", now, born)
		}
		return nil
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config: w.elastic(`max_members = 4`, keyed, `members = ["b", "a"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(
					plancheck.ExpectKnownValue(elasticAddr, assignments, partitions(map[string][]int64{"a": {0, 1}, "b": {2, 3}})),
					plancheck.ExpectKnownValue(elasticAddr, tfjsonpath.New("work_queue_stream"), knownvalue.StringExact("ORDERS-cg")),
				)},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(elasticAddr, tfjsonpath.New("max_buffered_msgs"), knownvalue.Int64Exact(-1)),
					statecheck.ExpectKnownValue(elasticAddr, assignments, partitions(map[string][]int64{"a": {0, 1}, "b": {2, 3}})),
				},
				Check: resource.ComposeTestCheckFunc(
					w.wantStored(pcgroups.ElasticBucket, "ORDERS", shape+`,"members":["a","b"]}`),
					func(*terraform.State) error { born = w.created("ORDERS-cg"); return nil },
				),
			},
			{
				Config: w.elastic(`max_members = 4`, keyed, `members = ["a", "b", "c"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(
					will(elasticAddr, plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue(elasticAddr, assignments, partitions(map[string][]int64{"a": {0, 3}, "b": {1}, "c": {2}})),
				)},
				Check: resource.ComposeTestCheckFunc(w.wantStored(pcgroups.ElasticBucket, "ORDERS", shape+three), sameStream,
					func(*terraform.State) error {
						_, revision = w.stored(pcgroups.ElasticBucket, "ORDERS", "cg")
						return nil
					}),
			},
			{ // not managed any more, and settings that are not on the server
				Config:           w.elastic(`max_members = 4`, keyed, `timeouts = { update = "1m" }`, `force_destroy = false`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionUpdate))},
				Check: func(*terraform.State) error {
					if _, now := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg"); now != revision {
						return fmt.Errorf("a change that needs no write wrote revision %d after %d", now, revision)
					}
					return nil
				},
			},
			{ // others may change it now without being noticed
				PreConfig: func() {
					_, err := pcgroups.AddMembers(t.Context(), w.js, "ORDERS", "cg", []string{"d"})
					w.must(err)
				},
				Config:   w.elastic(`max_members = 4`, keyed, `timeouts = { update = "1m" }`, `force_destroy = false`),
				PlanOnly: true,
			},
			{
				Config:           w.elastic(`max_members = 4`, keyed, `member_mappings = { y = [3, 0], x = [1, 2] }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionUpdate))},
				Check: resource.ComposeTestCheckFunc(sameStream, w.wantStored(pcgroups.ElasticBucket, "ORDERS",
					shape+`,"member_mappings":[{"member":"x","partitions":[1,2]},{"member":"y","partitions":[0,3]}]}`)),
			},
			{
				Config: w.elastic(`max_members = 4`, keyed, `members = []`),
				Check:  resource.ComposeTestCheckFunc(sameStream, w.wantStored(pcgroups.ElasticBucket, "ORDERS", shape+`}`)),
			},
			{
				Config:           w.elastic(`max_members = 5`, `max_buffered_msgs = 1000`, `members = []`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionDestroyBeforeCreate))},
				Check: w.wantStored(pcgroups.ElasticBucket, "ORDERS",
					`{"max_members":5,"partitioning_filters":[],"max_buffered_msg":1000,"max_buffered_bytes":-1}`),
			},
		},
	})
}

// Prevents: an import that is followed by changes, in particular by the
// replacement of a group that another program made with other forms of "none".
func TestAccElasticGroup_import(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := orbit.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, 0, 0)
	w.must(err)
	_, err = orbit.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"b", "a"})
	w.must(err)
	config := w.elastic(`max_members = 4`, `members = ["a", "b"]`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config: config, ResourceName: elasticAddr, ImportState: true,
				ImportStateKind: resource.ImportBlockWithID, ImportStateId: "ORDERS/cg",
				ImportPlanChecks: resource.ImportPlanChecks{PreApply: checks(plancheck.ExpectEmptyPlan())},
			},
			{
				Config: config, ResourceName: elasticAddr, ImportState: true,
				ImportStateId: "ORDERS/cg", ImportStatePersist: true,
			},
			{Config: config, PlanOnly: true},
			{
				Config: config, ResourceName: elasticAddr, ImportState: true, ImportStateId: "ORDERS/cg",
				ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name",
			},
			{
				Config: config, ResourceName: elasticAddr, ImportState: true, ImportStateId: "ORDERS.cg",
				ExpectError: says(`The import id "ORDERS.cg" is not of the form stream/group`),
			},
			{
				Config: config, ResourceName: elasticAddr, ImportState: true, ImportStateId: "ORDERS/other",
				ExpectError: says(`Cannot import non-existent remote object`),
			},
		},
	})
}

// Prevents: a group that someone deleted being an error, or being thought there;
// a missing work-queue stream being noticed never, or dropping the group and its
// members with it; a drifted membership being kept.
func TestAccElasticGroup_drift(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.elastic(`max_members = 4`, keyed, `members = ["a", "b"]`)
	again := func(name string, change func(), is plancheck.ResourceActionType) resource.TestStep {
		return resource.TestStep{
			PreConfig:        func() { t.Log(name); change() },
			Config:           config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, is))},
			Check: func(*terraform.State) error {
				c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, w.js, "ORDERS", "cg")
				if err != nil {
					return err
				}
				if want := (membership{members: []string{"a", "b"}}); !want.same(membership{c.Members, c.MemberMappings}) {
					return fmt.Errorf("members %v, mappings %v", c.Members, c.MemberMappings)
				}
				w.created("ORDERS-cg")
				return nil
			},
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			again("a member more", func() {
				_, err := pcgroups.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"c"})
				w.must(err)
			}, plancheck.ResourceActionUpdate),
			again("mappings", func() {
				w.must(pcgroups.SetMemberMappings(ctx, w.js, "ORDERS", "cg", []pcgroups.MemberMapping{{Member: "a", Partitions: []int{0, 1, 2, 3}}}))
			}, plancheck.ResourceActionUpdate),
			again("nobody", func() { w.must(pcgroups.ClearMembership(ctx, w.js, "ORDERS", "cg")) }, plancheck.ResourceActionUpdate),
			again("the stream is gone", func() { w.must(w.js.DeleteStream(ctx, "ORDERS-cg")) }, plancheck.ResourceActionUpdate),
			again("stream gone, members changed", func() {
				w.must(w.js.DeleteStream(ctx, "ORDERS-cg"))
				_, err := pcgroups.DeleteMembers(ctx, w.js, "ORDERS", "cg", []string{"a"})
				w.must(err)
			}, plancheck.ResourceActionUpdate),
			again("the key is gone", func() {
				kv, err := w.js.KeyValue(ctx, pcgroups.ElasticBucket)
				w.must(err)
				w.must(kv.Delete(ctx, "ORDERS.cg"))
			}, plancheck.ResourceActionCreate),
			again("the bucket is gone", func() { w.must(w.js.DeleteKeyValue(ctx, pcgroups.ElasticBucket)) }, plancheck.ResourceActionCreate),
		},
	})
}

// Prevents: two owners of a membership overwriting each other without notice.
func TestAccElasticGroup_changedSincePlan(t *testing.T) {
	w := newWorld(t)
	add := func(member string) meanwhile {
		return func() error {
			_, err := pcgroups.AddMembers(t.Context(), w.js, "ORDERS", "cg", []string{member})
			return err
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: w.elastic(`max_members = 4`, `members = ["a", "b"]`)},
			{
				Config:           w.elastic(`max_members = 4`, `members = ["a"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(add("c"))},
				ExpectError:      says(`elastic consumer group ORDERS/cg changed since the plan was made (members were [a b], are now [a b c]). Nothing was written. Run terraform plan again`),
			},
			{ // a new plan knows what it does
				Config: w.elastic(`max_members = 4`, `members = ["a"]`),
			},
			{ // the other did the same: no reason to refuse
				Config:           w.elastic(`max_members = 4`, `members = ["a", "z"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(add("z"))},
			},
		},
	})
}
