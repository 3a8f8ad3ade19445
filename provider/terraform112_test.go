//go:build terraform112

package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The tests here need Terraform 1.12, or OpenTofu 1.12: see testacc-matrix.

// Prevents: an import block with an identity finding another group than the one
// with an id, and an identity that changes.
func TestAcc112_identity(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("a"))
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, []string{"a"}, nil)
	w.must(err)
	config := w.elastic(`max_members = 4`) + groupBlock("pcgroups_static_group", []string{`stream = "PARTS"`, `name = "cg"`, `max_members = 4`, `members = ["a"]`}) +
		membershipBlock(`members = ["a"]`)
	identity := func(stream, key string) map[string]knownvalue.Check {
		return map[string]knownvalue.Check{"stream": knownvalue.StringExact(stream), key: knownvalue.StringExact("cg")}
	}
	imports := config + `
import {
  to       = pcgroups_elastic_group.g
  identity = { stream = "ORDERS", name = "cg" }
}
import {
  to       = pcgroups_static_group.g
  identity = { stream = "PARTS", name = "cg" }
}
import {
  to       = pcgroups_elastic_membership.m
  identity = { stream = "ORDERS", group = "cg" }
}
`
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config: imports,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectIdentity(elasticAddr, identity("ORDERS", "name")),
					statecheck.ExpectIdentity(staticAddr, identity("PARTS", "name")),
					statecheck.ExpectIdentity(membershipAddr, identity("ORDERS", "group")),
				},
			},
			{Config: config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(plancheck.ExpectEmptyPlan())}},
		},
	})
}
