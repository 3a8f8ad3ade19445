package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const membershipAddr = "pcgroups_elastic_membership.m"

func membershipBlock(lines ...string) string {
	body := ""
	for _, l := range append([]string{`stream = "ORDERS"`, `group = "cg"`}, lines...) {
		body += "  " + l + "\n"
	}
	return "resource \"pcgroups_elastic_membership\" \"m\" {\n" + body + "}\n"
}

// Prevents: a plan that does not show the assignments although all they depend
// on is in it, or that shows those of the group's old size; a membership that is
// not repaired; members dropped by a destroy that was to keep them.
func TestAccElasticMembership_lifecycle(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	assignments := tfjsonpath.New("assignments")
	const depends = `depends_on = [pcgroups_elastic_group.g]`
	plans := func(is plancheck.ResourceActionType, want map[string][]int64) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: checks(will(membershipAddr, is), plancheck.ExpectKnownValue(membershipAddr, assignments, partitions(want)))}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: w.config(membershipBlock(`members = ["a"]`)), ExpectError: says(`Could not set the members of elastic consumer group ORDERS/cg: consumer group not found`)},
			{
				Config:           w.elastic(`max_members = 4`, keyed) + membershipBlock(`members = ["b", "a"]`, depends),
				ConfigPlanChecks: plans(plancheck.ResourceActionCreate, map[string][]int64{"a": {0, 1}, "b": {2, 3}}),
				Check:            w.wantMembers("a", "b"),
			},
			{ // the group is replaced: its members are those of the new size
				Config: w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`members = ["a", "b"]`, depends),
				Check:  w.wantMembers("a", "b"),
			},
			{ // the same without a change of the assignments
				Config: w.elastic(`max_members = 6`, keyed, `max_buffered_msgs = 10`, `force_destroy = true`) + membershipBlock(`members = ["a", "b"]`, depends),
				Check:  w.wantMembers("a", "b"),
			},
			{Config: w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`members = ["a", "b"]`, depends)},
			{
				PreConfig: func() {
					_, err := pcgroups.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"c"})
					w.must(err)
				},
				Config:           w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`members = ["a", "b"]`, depends),
				ConfigPlanChecks: plans(plancheck.ResourceActionUpdate, map[string][]int64{"a": {0, 1, 2}, "b": {3, 4, 5}}),
				Check:            w.wantMembers("a", "b"),
			},
			{
				Config:   w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`member_mappings = { x = [0, 1, 2, 3], y = [5] }`, depends),
				PlanOnly: true, ExpectError: says(`member_mappings: partition 4 belongs to no member; all 6 must be mapped.`),
			},
			{
				Config:           w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`member_mappings = { x = [4, 0, 1, 2, 3], y = [5] }`, depends),
				ConfigPlanChecks: plans(plancheck.ResourceActionUpdate, map[string][]int64{"x": {0, 1, 2, 3, 4}, "y": {5}}),
			},
			{
				Config:           w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`members = ["a"]`, depends),
				ConfigPlanChecks: plans(plancheck.ResourceActionUpdate, map[string][]int64{"a": {0, 1, 2, 3, 4, 5}}),
			},
			{ // gone, with its members kept
				Config: w.elastic(`max_members = 6`, keyed, `force_destroy = true`),
				Check:  w.wantMembers("a"),
			},
			{Config: w.elastic(`max_members = 6`, keyed, `force_destroy = true`) + membershipBlock(`members = ["a", "z"]`, `on_destroy = "clear"`, depends)},
			{
				Config: w.elastic(`max_members = 6`, keyed, `force_destroy = true`),
				Check:  w.wantMembers(),
			},
		},
	})
}

// Prevents: an import that takes the members of a group over and then changes
// them; a change since the plan being overwritten.
func TestAccElasticMembership_import(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("a", "b"))
	w.must(err)
	config := w.config(membershipBlock(`members = ["a", "b"]`))
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{
				Config: config, ResourceName: membershipAddr, ImportState: true,
				ImportStateKind: resource.ImportBlockWithID, ImportStateId: "ORDERS/cg",
				ImportPlanChecks: resource.ImportPlanChecks{PreApply: checks(plancheck.ExpectEmptyPlan())},
			},
			{Config: config, ResourceName: membershipAddr, ImportState: true, ImportStateId: "ORDERS/cg", ImportStatePersist: true},
			{Config: config, PlanOnly: true},
			{
				Config: w.config(membershipBlock(`members = ["a"]`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(meanwhile(func() error {
					_, err := pcgroups.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"c"})
					return err
				}))},
				ExpectError: says(`changed since the plan was made (members were [a b], are now [a b c]). Nothing was written.`),
			},
		},
	})
}

// Prevents: members being dropped, or said to be, by a plan that shows only a
// resource to create.
func TestElasticMembership_takesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mapped := func(parts ...[]int) (out []pcgroups.MemberMapping) {
		for i, p := range parts {
			out = append(out, pcgroups.MemberMapping{Member: string(rune('a' + i)), Partitions: p})
		}
		return out
	}
	for i, tc := range []struct {
		has, plan membership
		creating  bool
		want      string
	}{
		{membership{members: []string{"a", "b"}}, membership{members: []string{"b", "c"}}, true, "are [a b] and will be [b c]: [a] will be dropped and [c] added."},
		{membership{members: []string{"a", "b"}}, membership{members: []string{"a", "b", "c"}}, true, "are [a b] and will be [a b c]: [c] will be added and nobody dropped."},
		{membership{members: []string{"a", "b"}}, membership{members: []string{}}, true, "are [a b] and will be []: [a b] will be dropped and nobody added."},
		{membership{members: []string{"a", "b"}}, membership{mappings: mapped([]int{0, 1, 2}, []int{3})}, true, "are [a b] and will be [a:[0 1 2] b:[3]]: the same members get other partitions."},
		{membership{members: []string{"a", "b"}}, membership{members: []string{"b", "a"}}, true, ""},
		{membership{}, membership{members: []string{"a"}}, true, ""},
		{membership{members: []string{"a", "b"}}, membership{members: []string{"a", "b", "c"}}, false, ""}, // the plan shows it
	} {
		name := fmt.Sprint("cg", i)
		_, err := pcgroups.CreateElastic(t.Context(), w.js, "ORDERS", name, 4, nil, -1, -1, pcgroups.WithMembers(tc.has.members...))
		w.must(err)
		plan := &elasticMembershipModel{Stream: types.StringValue("ORDERS"), Group: types.StringValue(name), Members: stringSet(tc.plan.members), MemberMappings: types.MapNull(partitionSetType)}
		if tc.plan.mappings != nil {
			plan.Members, plan.MemberMappings = types.SetNull(types.StringType), mappingsMap(tc.plan.mappings)
		}
		var diags diag.Diagnostics
		(&elasticMembershipResource{client: testClient(t, w.URL())}).planMembers(t.Context(), plan, tc.creating, &diags)
		switch {
		case tc.want == "" && len(diags) != 0, tc.want != "" && (len(diags) != 1 || diags.WarningsCount() != 1 || !strings.Contains(diags[0].Detail(), tc.want)):
			t.Errorf("%v, %v: %v, want %q", tc.has, tc.plan, diags, tc.want)
		}
	}
}

// Prevents: two resources that undo each other's work at every apply, without
// anybody being told.
func TestAccElasticMembership_fights(t *testing.T) {
	w := newWorld(t)
	member := func(name, member string) string {
		return fmt.Sprintf("resource \"pcgroups_elastic_member\" %q {\n  stream = \"ORDERS\"\n  group = \"cg\"\n  member = %q\n}\n", name, member)
	}
	inline, free := w.elastic(`max_members = 4`, `members = ["a"]`), w.elastic(`max_members = 4`)
	refused := func(config, text string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: says(text)}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			refused(inline+membershipBlock(`members = ["b"]`), `are managed by members or member_mappings of a pcgroups_elastic_group and by pcgroups_elastic_membership. Each apply of one would undo the other's.`),
			refused(inline+member("m", "b"), `are managed by members or member_mappings of a pcgroups_elastic_group and by pcgroups_elastic_member.`),
			refused(free+membershipBlock(`members = ["b"]`)+member("m", "b"), `are managed by pcgroups_elastic_membership and by pcgroups_elastic_member.`),
			refused(free+membershipBlock(`members = ["b"]`)+`resource "pcgroups_elastic_membership" "other" {
  stream = "ORDERS"
  group = "cg"
  members = []
}
`, `There are several pcgroups_elastic_membership resources for elastic consumer group ORDERS/cg.`),
			refused(free+member("m", "b")+member("n", "b"), `There are several pcgroups_elastic_member resources for member "b"`),
			refused(free+`resource "pcgroups_elastic_membership" "m" {
  stream = "ORDERS"
  group = "cg"
}
`, `No members given`),
			refused(w.config(member("m", "b.c")), `member: "b.c" contains a dot`),
			{Config: free + member("m", "b") + member("n", "c"), PlanOnly: true, ExpectNonEmptyPlan: true},
		},
	})
	w.must(w.untouched(nil))
}

// Prevents: the id of a member being taken apart in the wrong place.
func TestParseMemberID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, stream, group, member string }{
		{"ORDERS/cg/m", "ORDERS", "cg", "m"},
		{"ORDERS/c/g/m", "", "", ""}, {"ORDERS/cg/a.b", "", "", ""}, {"OR.DERS/cg/m", "", "", ""}, {"a//b", "", "", ""},
		{"ORDERS/cg", "", "", ""}, {"ORDERS/cg/", "", "", ""}, {"//m", "", "", ""}, {"", "", "", ""},
	} {
		stream, group, member, err := parseMemberID(tc.id)
		if stream != tc.stream || group != tc.group || member != tc.member || (err == nil) != (tc.stream != "") {
			t.Errorf("%q: %q, %q, %q, %v", tc.id, stream, group, member, err)
		}
	}
}
