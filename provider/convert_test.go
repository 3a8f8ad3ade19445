package provider

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func filterValue(filter types.String, wildcards types.List) attr.Value {
	return types.ObjectValueMust(filterType.AttrTypes, map[string]attr.Value{"filter": filter, "partitioning_wildcards": wildcards})
}

func intList(in ...int) types.List { return types.ListValueMust(types.Int64Type, intValues(in)) }

// Prevents: null on the wire for "no filters" or "no wildcards", which not every
// implementation can read.
func TestFiltersOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   types.List
		want string
	}{
		{"null", types.ListNull(filterType), `[]`},
		{"none", types.ListValueMust(filterType, nil), `[]`},
		{"no wildcards", types.ListValueMust(filterType, []attr.Value{filterValue(types.StringValue("a.*"), intList())}), `[{"filter":"a.*","partitioning_wildcards":[]}]`},
		{"null wildcards", types.ListValueMust(filterType, []attr.Value{filterValue(types.StringValue("a.*"), types.ListNull(types.Int64Type))}), `[{"filter":"a.*","partitioning_wildcards":[]}]`},
		{"order kept", types.ListValueMust(filterType, []attr.Value{filterValue(types.StringValue("b.*.*"), intList(2, 1)), filterValue(types.StringValue("a.*"), intList(1))}), `[{"filter":"b.*.*","partitioning_wildcards":[2,1]},{"filter":"a.*","partitioning_wildcards":[1]}]`},
		{"unknown passed over", types.ListValueMust(filterType, []attr.Value{filterValue(types.StringUnknown(), intList(1)), filterValue(types.StringValue("a.*"), types.ListUnknown(types.Int64Type))}), `[]`},
	} {
		got, err := json.Marshal(filtersOf(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.name, got, err, tc.want)
		}
	}
}

// Prevents: a value that does not come back as it went, and so a plan that is
// never empty.
func TestConvert_roundTrip(t *testing.T) {
	t.Parallel()
	filters := []pcgroups.PartitioningFilter{{Filter: "a.*.*", PartitioningWildcards: []int{2, 1}}, {Filter: "b.>", PartitioningWildcards: []int{}}}
	if list := filtersList(filters); !filtersList(filtersOf(list)).Equal(list) || len(filtersOf(list)) != 2 {
		t.Errorf("filters: %v", filtersOf(list))
	}
	if list := filtersList([]pcgroups.PartitioningFilter{{Filter: "b.>"}}); !list.Equal(filtersList([]pcgroups.PartitioningFilter{{Filter: "b.>", PartitioningWildcards: []int{}}})) {
		t.Errorf("stored null wildcards are not shown as []: %v", list)
	}
	mappings := []pcgroups.MemberMapping{{Member: "b", Partitions: []int{3, 0}}, {Member: "a", Partitions: []int{2, 1}}}
	got := mappingsOf(mappingsMap(mappings))
	want := []pcgroups.MemberMapping{{Member: "a", Partitions: []int{1, 2}}, {Member: "b", Partitions: []int{0, 3}}}
	if !slices.EqualFunc(got, want, func(a, b pcgroups.MemberMapping) bool {
		return a.Member == b.Member && slices.Equal(a.Partitions, b.Partitions)
	}) {
		t.Errorf("mappings are not in a fixed order: %v", got)
	}
	for stored, shown := range map[int64]int64{0: -1, -1: -1, 1: 1, 1000: 1000} {
		if got := limitValue(stored).ValueInt64(); got != shown {
			t.Errorf("limit %d is shown as %d, want %d", stored, got, shown)
		}
	}
}

// Prevents: a value with an unknown part being taken for known, and so a plan
// that differs from what is applied.
func TestKnown(t *testing.T) {
	t.Parallel()
	set := func(e ...attr.Value) attr.Value { return types.SetValueMust(types.StringType, e) }
	for _, tc := range []struct {
		name string
		v    attr.Value
		want bool
	}{
		{"null", types.SetNull(types.StringType), true},
		{"unknown", types.SetUnknown(types.StringType), false},
		{"known set", set(types.StringValue("a")), true},
		{"unknown element", set(types.StringValue("a"), types.StringUnknown()), false},
		{"unknown in a map of sets", types.MapValueMust(partitionSetType, map[string]attr.Value{"a": types.SetValueMust(types.Int64Type, []attr.Value{types.Int64Unknown()})}), false},
		{"unknown in an object in a list", types.ListValueMust(filterType, []attr.Value{filterValue(types.StringUnknown(), intList())}), false},
	} {
		if got := known(tc.v); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// Prevents: an assignment that is null where it is known to be empty, or the
// other way round; one that is planned although not all is known; and a huge
// group exhausting memory.
func TestAssignmentsOf(t *testing.T) {
	t.Parallel()
	none, noMappings := types.SetNull(types.StringType), types.MapNull(partitionSetType)
	list := func(p ...int) attr.Value { return types.ListValueMust(types.Int64Type, intValues(p)) }
	of := func(m map[string]attr.Value) types.Map { return types.MapValueMust(partitionListType, m) }
	for _, tc := range []struct {
		name     string
		max      types.Int64
		members  types.Set
		mappings types.Map
		want     types.Map
	}{
		{"not managed", types.Int64Value(4), none, noMappings, types.MapNull(partitionListType)},
		{"managed and empty", types.Int64Value(4), stringSet(nil), noMappings, of(map[string]attr.Value{})},
		{"remainder", types.Int64Value(5), stringSet([]string{"b", "a"}), noMappings, of(map[string]attr.Value{"a": list(0, 1, 4), "b": list(2, 3)})},
		{"more members than partitions", types.Int64Value(1), stringSet([]string{"b", "a"}), noMappings, of(map[string]attr.Value{"a": list(0), "b": list()})},
		{"mappings, sorted", types.Int64Value(2), none, mappingsMap([]pcgroups.MemberMapping{{Member: "x", Partitions: []int{1, 0}}}), of(map[string]attr.Value{"x": list(0, 1)})},
		{"unknown members", types.Int64Value(4), types.SetUnknown(types.StringType), noMappings, types.MapUnknown(partitionListType)},
		{"unknown count", types.Int64Unknown(), stringSet([]string{"a"}), noMappings, types.MapUnknown(partitionListType)},
		{"too many to list", types.Int64Value(1 << 31), stringSet([]string{"a"}), noMappings, types.MapNull(partitionListType)},
	} {
		if got := assignmentsOf(tc.max, tc.members, tc.mappings); !got.Equal(tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Prevents: a membership that only looks different being written, or refused as
// changed by someone else.
func TestMembership_same(t *testing.T) {
	t.Parallel()
	m := func(names ...string) membership { return membership{members: names} }
	mapped := func(member string, p ...int) membership {
		return membership{mappings: []pcgroups.MemberMapping{{Member: member, Partitions: p}}}
	}
	for _, tc := range []struct {
		a, b membership
		want bool
	}{
		{m(), membership{members: []string{}, mappings: []pcgroups.MemberMapping{}}, true},
		{m("b", "a"), m("a", "b", "a"), true},
		{m("a"), m("a", "b"), false},
		{mapped("a", 1, 0), mapped("a", 0, 1), true},
		{mapped("a", 0), mapped("b", 0), false},
		{mapped("a", 0), m("a"), false},
	} {
		if got := tc.a.same(tc.b); got != tc.want {
			t.Errorf("%v same as %v: %v", tc.a, tc.b, got)
		}
	}
	if got := mapped("a", 1, 0).String() + m("b", "a").String(); got != "[a:[0 1]][a b]" {
		t.Errorf("shown as %s", got)
	}
}

// Prevents: an id that is taken apart in the wrong place.
func TestParseImportID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, stream, group string }{
		{"ORDERS/cg", "ORDERS", "cg"},
		{"ORDERS/c/g", "", ""}, {"a.b/c", "", ""}, {"a/c.d", "", ""}, {"a//b", "", ""}, // no server has streams and consumers of such names
		{"ORDERS", "", ""}, {"ORDERS/", "", ""}, {"/cg", "", ""}, {"", "", ""},
	} {
		stream, group, err := parseImportID(tc.id)
		if stream != tc.stream || group != tc.group || (err == nil) != (tc.stream != "") {
			t.Errorf("%q: %q, %q, %v", tc.id, stream, group, err)
		}
		if err == nil && formatImportID(stream, group) != tc.id {
			t.Errorf("%q does not come back", tc.id)
		}
	}
}
