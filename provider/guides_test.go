package provider

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// blocks are the blocks of a language in a guide.
func blocks(t *testing.T, guide, language string) []string {
	t.Helper()
	var out []string
	for _, part := range strings.Split(read(t, filepath.Join("../templates/guides", guide)), "\n```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("%s: a block has no end", guide)
		}
		out = append(out, block+"\n")
	}
	return out
}

// Prevents: a newcomer who does what the guide says and gets something else: its
// configuration is applied, its change is made, and what it shows is compared.
func TestAccGuides_gettingStarted(t *testing.T) {
	w := newWorld(t)
	configs, shown := blocks(t, "getting-started.md", "terraform"), blocks(t, "getting-started.md", "text")
	if len(configs) != 1 || len(shown) != 2 {
		t.Fatal("the guide is not as this test expects it")
	}
	text := replaceOnce(t, configs[0], `"nats://127.0.0.1:4222"`, `"`+w.URL()+`"`)
	step := func(config, shown string, want map[string][]int64, is plancheck.ResourceActionType) resource.TestStep {
		for member, list := range want {
			if line := "  " + member + " = " + strings.ReplaceAll(fmt.Sprint(list), " ", ", ") + "\n"; !strings.Contains(shown, line) {
				t.Errorf("the guide shows\n%s, not %s", shown, line)
			}
		}
		return resource.TestStep{
			Config:            config,
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: checks(will("pcgroups_elastic_group.orders_workers", is))},
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("assignments", partitions(want))},
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			step(text, shown[0], map[string][]int64{"worker-1": {0, 1, 2, 3}, "worker-2": {4, 5, 6, 7}}, plancheck.ResourceActionCreate),
			step(replaceOnce(t, text, `"worker-2"]`, `"worker-2", "worker-3"]`), shown[1],
				map[string][]int64{"worker-1": {0, 1, 6}, "worker-2": {2, 3, 7}, "worker-3": {4, 5}}, plancheck.ResourceActionUpdate),
		},
	})
	if p, err := pcgroups.PartitionFor("orders.alice", "orders.*", []int{1}, 8); err != nil || p != 7 {
		t.Errorf("alice is in partition %d, %v", p, err)
	}
	// The program that the guide runs has the names in it.
	if program := read(t, "../examples/go/quickstart/main.go"); !strings.Contains(program, `"ORDERS", "orders-workers"`) {
		t.Error("examples/go/quickstart joins another group than the guide makes")
	}
}

// Prevents: the import block of the guide not leading to an empty plan.
func TestAccGuides_adoptingGroups(t *testing.T) {
	w := newWorld(t)
	_, err := pcgroups.CreateElastic(t.Context(), w.js, "ORDERS", "workers", 8,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("worker-1", "worker-2"))
	w.must(err)
	config := w.config(blocks(t, "adopting-groups.md", "terraform")[0])
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{{
			Config:           config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will("pcgroups_elastic_group.workers", plancheck.ResourceActionNoop))},
		}},
	})
}

// Prevents: the way from inline members to single ones, and from those to a
// membership, as the guide has it, leaving the group without members in between.
func TestAccGuides_changingMembership(t *testing.T) {
	w := newWorld(t)
	removed := replaceOnce(t, blocks(t, "changing-membership.md", "terraform")[0], "night_shift", "m")
	var revision uint64
	unwritten := func() {
		if _, now := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg"); now != revision {
			t.Errorf("the group was written: revision %d, was %d", now, revision)
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: w.elastic(`max_members = 4`, keyed, `members = ["a"]`)},
			{
				PreConfig: func() { _, revision = w.stored(pcgroups.ElasticBucket, "ORDERS", "cg") },
				Config:    w.elastic(`max_members = 4`, keyed) + memberBlock("a"), Check: w.wantMembers("a"),
			},
			{PreConfig: unwritten, Config: w.elastic(`max_members = 4`, keyed) + removed + membershipBlock(`members = ["a"]`), Check: w.wantMembers("a")},
			{PreConfig: unwritten, Config: w.elastic(`max_members = 4`, keyed) + membershipBlock(`members = ["a"]`), PlanOnly: true},
			{PreConfig: unwritten, Config: w.elastic(`max_members = 4`, keyed, `members = ["a"]`), Check: w.wantMembers("a")},
		},
	})
}
