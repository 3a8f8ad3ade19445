package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const memberAddr = "pcgroups_elastic_member.m"

func memberBlock(member string, lines ...string) string {
	text := "resource \"pcgroups_elastic_member\" \"m\" {\n  stream = \"ORDERS\"\n  group  = \"cg\"\n  member = \"" + member + "\"\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text + "}\n"
}

// Prevents: a single member, or a whole membership, that nobody has any more,
// because somebody deleted the group, its key or the bucket, being taken for
// there, or standing in the way of a plan; and one whose group is there in other
// hands being dropped.
func TestAccMembers_disappear(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	create := func() {
		_, err := orbit.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1)
		w.must(err)
	}
	deleteKey := func() {
		kv, err := w.js.KeyValue(ctx, pcgroups.ElasticBucket)
		w.must(err)
		w.must(kv.Delete(ctx, "ORDERS.cg"))
	}
	create()
	for _, tc := range []struct {
		address, config string
		again           plancheck.ResourceActionType // of a group that is there once more, and has nobody
	}{
		{memberAddr, w.config(memberBlock("a")), plancheck.ResourceActionCreate},
		{membershipAddr, w.config(membershipBlock(`members = ["a"]`)), plancheck.ResourceActionUpdate},
	} {
		lost := func(name string, lose func()) resource.TestStep {
			return resource.TestStep{
				PreConfig: func() { t.Log(tc.address, name); lose() },
				Config:    tc.config, Check: w.wantMembers("a"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(tc.address, tc.again))},
			}
		}
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: w.providers(),
			Steps: []resource.TestStep{
				{Config: tc.config, Check: w.wantMembers("a")},
				{PreConfig: func() { w.must(w.js.DeleteStream(ctx, "ORDERS-cg")) }, Config: tc.config, PlanOnly: true}, // the group's to repair
				lost("group", func() { w.must(pcgroups.DeleteElastic(ctx, w.js, "ORDERS", "cg")); create() }),
				lost("key", func() { deleteKey(); create() }),
				lost("bucket", func() { w.must(w.js.DeleteKeyValue(ctx, pcgroups.ElasticBucket)); create() }),
				{PreConfig: deleteKey, Config: tc.config, ExpectError: says(`elastic consumer group ORDERS/cg: consumer group not found`)},
			},
		})
		create()
	}
}

// Prevents: a member or a membership that moves to another group and stays in the
// old one, or in none.
func TestAccMembers_replaced(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, name := range []string{"cg", "other"} {
		_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", name, 4, nil, -1, -1)
		w.must(err)
	}
	other := func(block string) string { return replaceOnce(t, block, `"cg"`, `"other"`) }
	replaced := func(address string) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: checks(will(address, plancheck.ResourceActionReplace))}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{Config: w.config(memberBlock("a", `timeouts = { create = "1m", read = "1m", update = "1m", delete = "1m" }`)), Check: w.wantMembers("a")},
			{Config: w.config(memberBlock("a")), Check: w.wantMembers("a"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(memberAddr, plancheck.ResourceActionUpdate))}},
			{Config: w.config(memberBlock("b")), Check: w.wantMembers("b"), ConfigPlanChecks: replaced(memberAddr)},
			{Config: w.config(other(memberBlock("b"))), Check: w.wantMembers(), ConfigPlanChecks: replaced(memberAddr)},
			{Config: w.config(""), Check: w.wantMembers()},
			{Config: w.config(membershipBlock(`members = ["a"]`, `on_destroy = "clear"`)), Check: w.wantMembers("a")},
			{Config: w.config(other(membershipBlock(`members = ["a"]`, `on_destroy = "clear"`))), Check: w.wantMembers(), ConfigPlanChecks: replaced(membershipAddr)},
		},
	})
}

// Prevents: members that a group made by another implementation has, or gets from
// it, not being seen, or being lost by ours.
func TestAccMembers_besideOracle(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := orbit.CreateElastic(ctx, w.js, "ORDERS", "cg", 8, nil, -1, -1)
	w.must(err)
	_, err = orbit.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"x"})
	w.must(err)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{Config: w.config(memberBlock("a")), Check: w.wantMembers("a", "x")},
			{
				PreConfig: func() {
					_, err := orbit.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"y"})
					w.must(err)
				},
				Config: w.config(memberBlock("b")), Check: w.wantMembers("b", "x", "y"),
			},
		},
	})
}
