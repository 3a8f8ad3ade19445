package provider

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/nats-io/nats-server/v2/server"
)

func call(t *testing.T, f function.Function, result attr.Value, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	t.Helper()
	resp := function.RunResponse{Result: function.NewResultData(result)}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	return resp.Result.Value(), resp.Error
}

// Prevents: a partition that is not the one the server puts a message into, and
// a transform that is not the one the server accepts, for any filter and key.
func TestFunctions_agreeWithServer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		stars := 1 + random.IntN(3)
		filter, subject := "a", "a"
		for range stars {
			filter += ".*"
			subject += fmt.Sprintf(".k%d", random.IntN(1000))
		}
		wildcards := random.Perm(stars)[:random.IntN(stars+1)]
		for i := range wildcards {
			wildcards[i]++
		}
		n := 1 + random.IntN(64)
		destination, bad := call(t, newTransformDestination(), types.StringUnknown(), types.StringValue(filter), intList(wildcards...), types.Int64Value(int64(n)))
		if bad != nil {
			t.Fatal(bad)
		}
		transform, err := server.NewSubjectTransform(filter, destination.(types.String).ValueString())
		if err != nil {
			t.Fatalf("%s to %s: %v", filter, destination, err)
		}
		partition, bad := call(t, newPartitionFor(), types.Int64Unknown(), types.StringValue(subject), types.StringValue(filter), intList(wildcards...), types.Int64Value(int64(n)))
		if bad != nil {
			t.Fatal(bad)
		}
		if got, want := fmt.Sprintf("%d.%s", partition.(types.Int64).ValueInt64(), subject), transform.TransformSubject(subject); got != want {
			t.Fatalf("%s keyed by %v of %d: %s, the server says %s", filter, wildcards, n, got, want)
		}
	}
}

// Prevents: an argument that can not work giving a result all the same, or an
// error that does not say which argument.
func TestFunctions_badArguments(t *testing.T) {
	t.Parallel()
	str, num := types.StringValue, types.Int64Value
	for _, tc := range []struct {
		name      string
		f         function.Function
		result    attr.Value
		arguments []attr.Value
		position  int64
		want      string
	}{
		{"no wildcard", newTransformDestination(), types.StringUnknown(), []attr.Value{str("a"), intList(), num(4)}, 0, `partitioning_filters: "a" needs at least one * wildcard or must end in >`},
		{"no such wildcard", newTransformDestination(), types.StringUnknown(), []attr.Value{str("a.*"), intList(2), num(4)}, 1, `partitioning_wildcards: 2 is out of range for "a.*": count its * wildcards from 1 to 1`},
		{"no partitions", newTransformDestination(), types.StringUnknown(), []attr.Value{str("a.*"), intList(1), num(0)}, 2, `max_members: must be from 1 to 2147483647, as it is the number of partitions, not 0`},
		{"another subject", newPartitionFor(), types.Int64Unknown(), []attr.Value{str("b.1"), str("a.*"), intList(1), num(4)}, -1, `subject: "b.1" does not match the filter "a.*"`},
		{"a member with a dot", newAssignmentsFunction(), types.MapUnknown(partitionListType), []attr.Value{stringSet([]string{"a.b"}), num(4)}, 0, `member: "a.b" contains a dot, which a consumer name can not hold; use letters, digits, '-' and '_'`},
		{"too many to list", newAssignmentsFunction(), types.MapUnknown(partitionListType), []attr.Value{stringSet([]string{"a"}), num(1 << 20)}, 1, `max_members: 1048576 partitions are too many to list; 65536 can be`},
	} {
		_, bad := call(t, tc.f, tc.result, tc.arguments...)
		if bad == nil || bad.Text != tc.want || (bad.FunctionArgument == nil) != (tc.position < 0) || bad.FunctionArgument != nil && *bad.FunctionArgument != tc.position {
			t.Errorf("%s: %+v, want %q at %d", tc.name, bad, tc.want, tc.position)
		}
	}
}

// Prevents: functions that a configuration can not call, that are not computed
// while planning, or that show something else than the resource does.
func TestAccFunctions(t *testing.T) {
	w := newWorld(t)
	config := func(members string) string {
		return w.config(groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`, keyed, `members = ` + members})) + `
output "destination" { value = provider::pcgroups::transform_destination("parts.*", [1], 4) }
output "partition" { value = provider::pcgroups::partition_for("orders.17", "orders.*", [1], 4) }
output "same" { value = provider::pcgroups::assignments(` + members + `, 4) == pcgroups_elastic_group.g.assignments }
`
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config:      w.config(`output "bad" { value = provider::pcgroups::assignments(["a", "c.d"], 4) }`),
				ExpectError: says(`member: "c.d" contains a dot`),
			},
			{
				Config: config(`["a", "b", "c"]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(
					plancheck.ExpectKnownOutputValue("destination", knownvalue.StringExact("{{Partition(4,1)}}.parts.{{Wildcard(1)}}")),
					plancheck.ExpectKnownOutputValue("partition", knownvalue.Int64Exact(1)),
					plancheck.ExpectKnownOutputValue("same", knownvalue.Bool(true)),
				)},
			},
		},
	})
}
