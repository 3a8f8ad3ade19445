package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: other bytes on the wire than every implementation reads; replacing a
// group, and so its members' positions, for what is not on the wire or for the
// order of members; not replacing it for what is.
func TestAccStaticGroup_lifecycle(t *testing.T) {
	w := newWorld(t)
	assignments := tfjsonpath.New("assignments")
	first := `{"max_members":4,"filters":["parts.x","parts.b"],"members":["b","a"]}`
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config: w.static(`max_members = 4`, `filters = ["parts.x", "parts.b"]`, `members = ["b", "a"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(
					plancheck.ExpectKnownValue(staticAddr, assignments, partitions(map[string][]int64{"a": {0, 1}, "b": {2, 3}})),
				)},
				Check: w.wantStored(pcgroups.StaticBucket, "PARTS", first),
			},
			{
				Config:           w.static(`max_members = 4`, `filters = ["parts.x", "parts.b"]`, `members = ["a", "b"]`, `force_destroy = true`, `timeouts = { read = "30s" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionUpdate))},
				Check:            w.wantStored(pcgroups.StaticBucket, "PARTS", first),
			},
			{
				Config:           w.static(`max_members = 4`, `filters = ["parts.b", "parts.x"]`, `members = ["a", "b"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
				Check:            w.wantStored(pcgroups.StaticBucket, "PARTS", `{"max_members":4,"filters":["parts.b","parts.x"],"members":["a","b"]}`),
			},
			{
				Config:           w.static(`max_members = 4`, `members = ["a", "b", "c"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
				Check:            w.wantStored(pcgroups.StaticBucket, "PARTS", `{"max_members":4,"members":["a","b","c"]}`),
			},
			{
				Config:           w.static(`max_members = 3`, `member_mappings = { b = [2, 0], a = [1] }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(staticAddr, assignments, partitions(map[string][]int64{"a": {1}, "b": {0, 2}})),
					statecheck.ExpectKnownValue(staticAddr, tfjsonpath.New("members"), knownvalue.Null()),
				},
				Check: w.wantStored(pcgroups.StaticBucket, "PARTS",
					`{"max_members":3,"member_mappings":[{"member":"a","partitions":[1]},{"member":"b","partitions":[0,2]}]}`),
			},
			{
				Config: w.static(`max_members = 3`),
				Check:  w.wantStored(pcgroups.StaticBucket, "PARTS", `{"max_members":3}`),
			},
			{
				Config:           w.static(`max_members = 3`, `members = []`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionUpdate))},
			},
		},
	})
}

// Prevents: an import that is followed by the replacement of the group, of the
// forms that only other programs write in particular: unsorted members, and
// mappings in an order of their own.
func TestAccStaticGroup_import(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, group := range []struct {
		config string
		create func() error
	}{
		{w.static(`max_members = 4`, `filters = ["parts.*"]`, `members = ["a", "c", "b"]`), func() error {
			_, err := orbit.CreateStatic(ctx, w.js, "PARTS", "cg", 4, []string{"parts.*"}, []string{"a", "c", "b"}, nil)
			return err
		}},
		{w.static(`max_members = 4`, `member_mappings = { a = [0, 3], b = [1, 2] }`), func() error {
			_, err := orbit.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, nil, []orbit.MemberMapping{{Member: "b", Partitions: []int{2, 1}}, {Member: "a", Partitions: []int{3, 0}}})
			return err
		}},
	} {
		w.must(group.create())
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: w.providers(),
			CheckDestroy:             w.gone,
			Steps: []resource.TestStep{
				{
					Config: group.config, ResourceName: staticAddr, ImportState: true,
					ImportStateKind: resource.ImportBlockWithID, ImportStateId: "PARTS/cg",
					ImportPlanChecks: resource.ImportPlanChecks{PreApply: checks(plancheck.ExpectEmptyPlan())},
				},
				{
					Config: group.config, ResourceName: staticAddr, ImportState: true,
					ImportStateId: "PARTS/cg", ImportStatePersist: true,
				},
				{Config: group.config, PlanOnly: true},
			},
		})
	}
}

// Prevents: a group that someone deleted, or replaced by another, going unnoticed.
func TestAccStaticGroup_drift(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.static(`max_members = 4`, `members = ["a", "b"]`)
	stored := w.wantStored(pcgroups.StaticBucket, "PARTS", `{"max_members":4,"members":["a","b"]}`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config, Check: stored},
			{
				PreConfig: func() { w.must(pcgroups.DeleteStatic(ctx, w.js, "PARTS", "cg")) },
				Config:    config, Check: stored,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionCreate))},
			},
			{
				PreConfig: func() {
					w.must(pcgroups.DeleteStatic(ctx, w.js, "PARTS", "cg"))
					_, err := pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, []string{"a"}, nil)
					w.must(err)
				},
				Config: config, Check: stored,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionReplace))},
			},
			{
				PreConfig: func() { w.must(w.js.DeleteKeyValue(ctx, pcgroups.StaticBucket)) },
				Config:    config, Check: stored,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(staticAddr, plancheck.ResourceActionCreate))},
			},
		},
	})
}

// Prevents: a static group that is made on a stream without partition numbers,
// or with another number of them, and then waits for messages for ever; a stream
// that does not exist, or not yet, being told at the apply only.
func TestStaticGroup_checkStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := staticGroupResource{groupResource{kind: "static", client: testClient(t, w.URL())}}
	for _, tc := range []struct {
		stream     string
		maxMembers int64
		filters    []string
		want       string
	}{
		{"PARTS", 4, nil, ""},
		{"PARTS", 4, []string{"parts.*"}, ""},
		{"PARTS", 5, nil, "makes 4 partitions, but the group has max_members 5"},
		{"PARTS", 4, []string{"other.*"}, `no message that the stream partitions can match "other.*"`},
		{"ORDERS", 4, nil, "puts no partition number in front of its subjects"},
		{"NOPE", 4, nil, `There is no stream "NOPE" in this account now. If this plan creates it and stream refers to it, all is well. Otherwise the apply of static consumer group NOPE/cg will fail`},
	} {
		var diags diag.Diagnostics
		r.checkStream(t.Context(), &staticGroupModel{
			Stream: types.StringValue(tc.stream), Name: types.StringValue("cg"), MaxMembers: types.Int64Value(tc.maxMembers), Filters: stringList(tc.filters),
		}, &diags)
		switch {
		case tc.want == "" && len(diags) != 0, tc.want != "" && (diags.WarningsCount() != 1 || len(diags) != 1 || !strings.Contains(diags[0].Detail(), tc.want)):
			t.Errorf("%+v: %v", tc, diags)
		}
	}
}
