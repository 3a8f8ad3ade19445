package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: an attribute that is not written, read back or imported as it was
// given, when all of them are given.
func TestAccElasticGroup_allAttributes(t *testing.T) {
	w := newWorld(t)
	config := w.elastic(
		`max_members = 4`,
		`partitioning_filters = [{ filter = "orders.a.*.*", partitioning_wildcards = [2, 1] }, { filter = "orders.b.*", partitioning_wildcards = [] }, { filter = "orders.c.>" }]`,
		`max_buffered_msgs = 1000`, `max_buffered_bytes = 1048576`,
		`member_mappings = { a = [3, 0], b = [1, 2] }`, `force_destroy = true`,
		`timeouts = { create = "1m", read = "30s", update = "1m30s", delete = "1h" }`)
	const want = `{"max_members":4,"partitioning_filters":[{"filter":"orders.a.*.*","partitioning_wildcards":[2,1]},{"filter":"orders.b.*","partitioning_wildcards":[]},` +
		`{"filter":"orders.c.\u003e","partitioning_wildcards":[]}],"max_buffered_msg":1000,"max_buffered_bytes":1048576,` +
		`"member_mappings":[{"member":"a","partitions":[0,3]},{"member":"b","partitions":[1,2]}]}`
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config, Check: w.wantStored(pcgroups.ElasticBucket, "ORDERS", want)},
			{Config: config, PlanOnly: true},
			{
				Config: config, ResourceName: elasticAddr, ImportState: true, ImportStateId: "ORDERS/cg", ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"force_destroy", "timeouts"}, // not on the server
			},
		},
	})
}

// Prevents: a group whose fixed attributes are not those of the configuration any
// more, because somebody made it anew, being taken for the one that was planned;
// for each attribute by itself.
func TestAccElasticGroup_driftOfEach(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	filters := []orbit.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}
	config := w.elastic(`max_members = 4`, keyed, `max_buffered_msgs = 100`, `max_buffered_bytes = 100000`, `members = ["a"]`)
	remade := func(attribute string, partitions uint, filters []orbit.PartitioningFilter, msgs, bytes int64, is knownvalue.Check) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				t.Log(attribute)
				w.must(pcgroups.DeleteElastic(ctx, w.js, "ORDERS", "cg"))
				_, err := orbit.CreateElastic(ctx, w.js, "ORDERS", "cg", partitions, filters, msgs, bytes)
				w.must(err)
				_, err = orbit.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"a"})
				w.must(err)
			},
			Config:            config,
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionReplace))},
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(elasticAddr, tfjsonpath.New(attribute), is)},
			Check: w.wantStored(pcgroups.ElasticBucket, "ORDERS",
				`{"max_members":4,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"max_buffered_msg":100,"max_buffered_bytes":100000,"members":["a"]}`),
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			remade("max_members", 5, filters, 100, 100000, knownvalue.Int64Exact(4)),
			remade("partitioning_filters", 4, []orbit.PartitioningFilter{{Filter: "orders.*.x", PartitioningWildcards: []int{1}}}, 100, 100000, knownvalue.ListSizeExact(1)),
			remade("max_buffered_msgs", 4, filters, 99, 100000, knownvalue.Int64Exact(100)),
			remade("max_buffered_bytes", 4, filters, 100, -1, knownvalue.Int64Exact(100000)),
		},
	})
}

// Prevents: a change of a fixed attribute being made in place, or leaving the old
// group behind.
func TestAccElasticGroup_replacedByEach(t *testing.T) {
	w := newWorld(t)
	base := []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`, keyed, `max_buffered_msgs = 100`, `max_buffered_bytes = 100000`}
	steps := []resource.TestStep{{Config: w.config(groupBlock("pcgroups_elastic_group", base))}}
	for _, change := range []string{
		`stream = "PARTS"`, `name = "other"`, `max_members = 5`, `max_buffered_msgs = 101`, `max_buffered_bytes = -1`,
		`partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [] }]`,
		`partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }, { filter = "orders.*.x" }]`,
	} {
		attribute, _, _ := strings.Cut(change, " ")
		lines := []string{change}
		for _, l := range base {
			if !strings.HasPrefix(l, attribute+" ") {
				lines = append(lines, l)
			}
		}
		steps = append(steps, resource.TestStep{
			PreConfig:        func() { t.Log(change) },
			Config:           w.config(groupBlock("pcgroups_elastic_group", lines)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionReplace))},
		})
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), CheckDestroy: w.gone, Steps: steps})
}
