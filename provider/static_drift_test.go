package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/nats-io/nats.go/jetstream"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: an attribute of a static group that is not written, read back or
// imported as it was given, when all of them are given.
func TestAccStaticGroup_allAttributes(t *testing.T) {
	w := newWorld(t)
	config := w.static(`max_members = 4`, `filters = ["parts.x", "parts.b"]`, `member_mappings = { b = [2, 0], a = [1, 3] }`,
		`force_destroy = true`, `timeouts = { create = "1m", read = "30s", update = "1m30s", delete = "1h" }`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config, Check: w.wantStored(pcgroups.StaticBucket, "PARTS",
				`{"max_members":4,"filters":["parts.x","parts.b"],"member_mappings":[{"member":"a","partitions":[1,3]},{"member":"b","partitions":[0,2]}]}`)},
			{Config: config, PlanOnly: true},
			{
				Config: config, ResourceName: staticAddr, ImportState: true, ImportStateId: "PARTS/cg", ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"force_destroy", "timeouts"}, // not on the server
			},
		},
	})
}

// Prevents: a static group that somebody made anew in another shape being taken
// for the one that was planned; for each attribute by itself.
func TestAccStaticGroup_driftOfEach(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.static(`max_members = 4`, `filters = ["parts.*"]`, `members = ["a", "b"]`)
	stored := w.wantStored(pcgroups.StaticBucket, "PARTS", `{"max_members":4,"filters":["parts.*"],"members":["a","b"]}`)
	remade := func(attribute string, partitions uint, filters, members []string, mappings []orbit.MemberMapping) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				t.Log(attribute)
				w.must(pcgroups.DeleteStatic(ctx, w.js, "PARTS", "cg"))
				_, err := orbit.CreateStatic(ctx, w.js, "PARTS", "cg", partitions, filters, members, mappings)
				w.must(err)
			},
			Config: config, Check: stored,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config, Check: stored},
			remade("max_members", 5, []string{"parts.*"}, []string{"a", "b"}, nil),
			remade("filters", 4, []string{"parts.x"}, []string{"a", "b"}, nil),
			remade("no filters", 4, nil, []string{"a", "b"}, nil),
			remade("members", 4, []string{"parts.*"}, []string{"a", "c"}, nil),
			remade("member_mappings", 4, []string{"parts.*"}, nil, []orbit.MemberMapping{{Member: "a", Partitions: []int{0, 1, 2, 3}}}),
		},
	})
}

// Prevents: a change of a fixed attribute of a static group being made in place,
// or leaving the old group behind.
func TestAccStaticGroup_replacedByEach(t *testing.T) {
	w := newWorld(t)
	base := []string{`stream = "PARTS"`, `name = "cg"`, `max_members = 4`, `filters = ["parts.*"]`, `members = ["a"]`}
	steps := []resource.TestStep{{Config: w.config(groupBlock("pcgroups_static_group", base))}}
	for _, change := range []string{`stream = "ORDERS"`, `name = "other"`, `max_members = 5`, `filters = []`, `members = ["a", "b"]`} {
		attribute, _, _ := strings.Cut(change, " ")
		lines := []string{change}
		for _, l := range base {
			if !strings.HasPrefix(l, attribute+" ") {
				lines = append(lines, l)
			}
		}
		steps = append(steps, resource.TestStep{
			PreConfig:        func() { t.Log(change) },
			Config:           w.config(groupBlock("pcgroups_static_group", lines)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
		})
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), CheckDestroy: w.gone, Steps: steps})
}

// Prevents: a static group whose stream somebody deleted standing in the way of
// everything: it can be planned, is made anew with its stream, and destroyed.
func TestAccStaticGroup_streamGone(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.static(`max_members = 4`, `members = ["a"]`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			{PreConfig: func() { w.must(w.js.DeleteStream(ctx, "PARTS")) }, Config: config, PlanOnly: true},
			{Config: w.static(`max_members = 5`, `members = ["a"]`), ExpectError: says(`there is no stream "PARTS" in this account. Create it first`)},
			{
				PreConfig: func() {
					_, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "PARTS", Subjects: []string{"parts.*"}})
					w.must(err)
				},
				Config: config,
			},
			{PreConfig: func() { w.must(w.js.DeleteStream(ctx, "PARTS")) }, Config: config, PlanOnly: true},
		},
	})
}
