package provider

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Everything here is pure. Null, unknown and empty are told apart here and
// nowhere else.

// collection is a Terraform list or set.
type collection interface {
	attr.Value
	Elements() []attr.Value
}

// known tells whether a value and all that is in it is known.
func known(v attr.Value) bool {
	if v.IsUnknown() {
		return false
	}
	unknown := func(e attr.Value) bool { return !known(e) }
	switch v := v.(type) {
	case collection:
		return !slices.ContainsFunc(v.Elements(), unknown)
	case types.Map:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v.Elements())), unknown)
	case types.Object:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v.Attributes())), unknown)
	}
	return true
}

func stringsOf(c collection) []string {
	out := make([]string, 0, len(c.Elements()))
	for _, e := range c.Elements() {
		if s, ok := e.(types.String); ok && !s.IsNull() && !s.IsUnknown() {
			out = append(out, s.ValueString())
		}
	}
	return out
}

func intsOf(c collection) []int {
	out := make([]int, 0, len(c.Elements()))
	for _, e := range c.Elements() {
		if n, ok := e.(types.Int64); ok && !n.IsNull() && !n.IsUnknown() {
			out = append(out, int(n.ValueInt64()))
		}
	}
	return out
}

func stringValues(in []string) []attr.Value {
	out := make([]attr.Value, len(in))
	for i, s := range in {
		out[i] = types.StringValue(s)
	}
	return out
}

func intValues(in []int) []attr.Value {
	out := make([]attr.Value, len(in))
	for i, n := range in {
		out[i] = types.Int64Value(int64(n))
	}
	return out
}

func stringSet(in []string) types.Set {
	return types.SetValueMust(types.StringType, stringValues(in))
}

func stringList(in []string) types.List {
	return types.ListValueMust(types.StringType, stringValues(in))
}

var partitionSetType = types.SetType{ElemType: types.Int64Type}

// mappingsMap is the form of member_mappings: the member is the key, so that no
// configuration can name one twice and a plan shows changes member by member.
func mappingsMap(mappings []pcgroups.MemberMapping) types.Map {
	out := make(map[string]attr.Value, len(mappings))
	for _, m := range mappings {
		out[m.Member] = types.SetValueMust(types.Int64Type, intValues(m.Partitions))
	}
	return types.MapValueMust(partitionSetType, out)
}

// mappingsOf is the inverse of mappingsMap. A map has no order, so members and
// partitions are sorted: equal configurations must be equal bytes.
func mappingsOf(m types.Map) []pcgroups.MemberMapping {
	elements := m.Elements()
	var out []pcgroups.MemberMapping
	for _, member := range slices.Sorted(maps.Keys(elements)) {
		if set, ok := elements[member].(types.Set); ok {
			partitions := intsOf(set)
			slices.Sort(partitions)
			out = append(out, pcgroups.MemberMapping{Member: member, Partitions: partitions})
		}
	}
	return out
}

var filterType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"filter":                 types.StringType,
	"partitioning_wildcards": types.ListType{ElemType: types.Int64Type},
}}

// filtersOf never returns nil, nor nil wildcards: both become [] on the wire,
// which every implementation reads, where null is read by some only.
func filtersOf(list types.List) []pcgroups.PartitioningFilter {
	out := make([]pcgroups.PartitioningFilter, 0, len(list.Elements()))
	for _, e := range list.Elements() {
		if f, ok := filterOf(e); ok {
			out = append(out, f)
		}
	}
	return out
}

// filterOf reads one element of partitioning_filters, unless part of it is unknown.
func filterOf(e attr.Value) (f pcgroups.PartitioningFilter, ok bool) {
	object, ok := e.(types.Object)
	if !ok || object.IsNull() || !known(object) {
		return f, false
	}
	filter, _ := object.Attributes()["filter"].(types.String)
	wildcards, _ := object.Attributes()["partitioning_wildcards"].(types.List)
	return pcgroups.PartitioningFilter{Filter: filter.ValueString(), PartitioningWildcards: intsOf(wildcards)}, true
}

func filtersList(filters []pcgroups.PartitioningFilter) types.List {
	out := make([]attr.Value, len(filters))
	for i, f := range filters {
		out[i] = types.ObjectValueMust(filterType.AttrTypes, map[string]attr.Value{
			"filter":                 types.StringValue(f.Filter),
			"partitioning_wildcards": types.ListValueMust(types.Int64Type, intValues(f.PartitioningWildcards)),
		})
	}
	return types.ListValueMust(filterType, out)
}

// limitValue shows both forms of "no limit" that the wire knows, absent and -1,
// as -1, so that a group made by a program that wrote the other is not replaced.
func limitValue(stored int64) types.Int64 {
	if stored <= 0 {
		return types.Int64Value(-1)
	}
	return types.Int64Value(stored)
}

// partitionCount reads max_members. What is below 1 becomes 0, which validation
// refuses, rather than a huge unsigned number.
func partitionCount(v types.Int64) uint { return uint(max(v.ValueInt64(), 0)) }

// maxListed bounds the partitions that assignments lists. A group can have more,
// though hardly any consumer; its plan must not exhaust memory.
const maxListed = 1 << 16

var partitionListType = types.ListType{ElemType: types.Int64Type}

// assignmentsValue shows which partitions every member has.
func assignmentsValue(maxMembers uint, m membership) types.Map {
	if maxMembers > maxListed {
		return types.MapNull(partitionListType)
	}
	out := make(map[string]attr.Value)
	for member, partitions := range pcgroups.Assignments(maxMembers, m.members, m.mappings) {
		out[member] = types.ListValueMust(types.Int64Type, intValues(partitions))
	}
	return types.MapValueMust(partitionListType, out)
}
