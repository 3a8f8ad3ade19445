package provider

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The checks here look at several attributes at once and ask the library for the
// rule. They run while a configuration is validated, so what is not known yet is
// passed over: the plan or the library will see it.

// checkGroup checks what both kinds of group have in common.
func checkGroup(group groupRef, maxMembers types.Int64, members collection, mappings types.Map, diags *diag.Diagnostics) {
	if !members.IsNull() && !mappings.IsNull() {
		diags.AddAttributeError(path.Root("member_mappings"), "Members given twice",
			"Give either members, for an even distribution of the partitions, or member_mappings, for an explicit one, not both.")
		return
	}
	checkLengths(group, members, mappings, diags)
	if maxMembers.IsNull() || maxMembers.IsUnknown() {
		return
	}
	n := partitionCount(maxMembers)
	if invalid(&pcgroups.StaticConsumerGroupConfig{MaxMembers: n}, path.Root("max_members"), diags) {
		return
	}
	if known(mappings) {
		invalid(&pcgroups.StaticConsumerGroupConfig{MaxMembers: n, MemberMappings: mappingsOf(mappings)}, path.Root("member_mappings"), diags)
	}
	// Not an error: such groups can be made by others, and must be importable.
	if names := distinct(stringsOf(members)); uint(len(names)) > n {
		diags.AddAttributeWarning(path.Root("members"), "More members than partitions", fmt.Sprintf(
			"%s will share %s. Those last in the order of their names have nothing to do: %v.", count(len(names), "member"), count(int(n), "partition"), names[n:]))
	}
}

// checkLengths refuses names that fit each for itself but not together.
func checkLengths(group groupRef, members collection, mappings types.Map, diags *diag.Diagnostics) {
	if group.kind == "elastic" {
		if queue := pcgroups.ComposeGroupStreamName(group.stream, group.name); len(queue) > maxNameLen {
			diags.AddAttributeError(path.Root("name"), "Name too long", fmt.Sprintf(
				"The work-queue stream's name, <stream>-<name>, would be %d bytes long. The server allows %d.", len(queue), maxNameLen))
		}
		return
	}
	names := stringsOf(members)
	for member := range mappings.Elements() {
		names = append(names, member)
	}
	for _, member := range names {
		if consumer := pcgroups.ComposeStaticConsumerName(group.name, member); len(consumer) > maxNameLen {
			diags.AddAttributeError(path.Root("name"), "Name too long", fmt.Sprintf(
				"The name of member %q's consumer, <name>-<member>, would be %d bytes long. The server allows %d.", member, len(consumer), maxNameLen))
			return
		}
	}
}

// checkPartitioningFilters checks every filter by itself, to point at the one
// that is wrong.
func checkPartitioningFilters(list types.List, diags *diag.Diagnostics) {
	for i, e := range list.Elements() {
		if f, ok := filterOf(e); ok {
			at := path.Root("partitioning_filters").AtListIndex(i)
			invalid(&pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: []pcgroups.PartitioningFilter{f}}, at, diags)
		}
	}
}

// invalid reports what the library finds wrong at the path.
func invalid(config interface{ Validate() error }, at path.Path, diags *diag.Diagnostics) bool {
	err := config.Validate()
	var problem *pcgroups.ConfigError
	if errors.As(err, &problem) {
		diags.AddAttributeError(at, "Invalid consumer group", problem.Error()+".")
	}
	return err != nil
}
