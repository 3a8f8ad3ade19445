package provider

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The rules are the library's: ValidateNew is what it asks itself before it
// creates a group. It stops at the first fault, so it is asked about one
// attribute at a time, with valid values in place of the others. What is not
// known yet is passed over; Terraform validates again when it is.

// newGroup is a configuration of either kind.
type newGroup interface {
	ValidateNew(stream, group string) error
}

// stand is a name that is valid everywhere.
const stand = "x"

func nameOr(v types.String, placeholder string) string {
	if !known(v) || v.IsNull() {
		return placeholder
	}
	return v.ValueString()
}

// check collects what is wrong with a group.
type check struct {
	stream, group string // as far as they are known and valid
	diags         *diag.Diagnostics
}

// checkNames begins with the names, as all else is checked together with them.
// attribute is the one that holds the group's name.
func checkNames(stream, group types.String, attribute string, empty newGroup, diags *diag.Diagnostics) *check {
	c := &check{stream: nameOr(stream, stand), group: nameOr(group, stand), diags: diags}
	ref := groupRef{attribute: attribute}
	err := empty.ValidateNew(c.stream, c.group)
	var problem *pcgroups.ConfigError
	if errors.As(err, &problem) {
		at := ref.attributePath(problem.Field)
		diags.AddAttributeError(at, "Invalid name", fmt.Sprintf("%s: %s.", at, strings.TrimSuffix(problem.Reason, ".")))
		c.stream, c.group = stand, stand
	}
	return c
}

// refuses reports what the library finds wrong, at the path.
func (c *check) refuses(config newGroup, at path.Path) bool {
	err := config.ValidateNew(c.stream, c.group)
	var problem *pcgroups.ConfigError
	if errors.As(err, &problem) {
		c.diags.AddAttributeError(at, "Invalid consumer group", problem.Error()+".")
	}
	return err != nil
}

// membership checks who is in the group. config makes a configuration of the
// group's kind.
func (c *check) membership(maxMembers types.Int64, members collection, mappings types.Map, config func(n uint, m membership) newGroup) {
	if !members.IsNull() && !mappings.IsNull() {
		c.diags.AddAttributeError(path.Root("member_mappings"), "Members given twice",
			"Give either members, for an even distribution of the partitions, or member_mappings, for an explicit one, not both.")
		return
	}
	c.refuses(config(1, membership{members: stringsOf(members)}), path.Root("members"))
	if maxMembers.IsNull() || maxMembers.IsUnknown() {
		return
	}
	n := partitionCount(maxMembers)
	if c.refuses(config(n, membership{}), path.Root("max_members")) {
		return
	}
	if known(mappings) {
		c.refuses(config(n, membership{mappings: mappingsOf(mappings)}), path.Root("member_mappings"))
	}
	c.surplus(n, members)
}

// surplus warns of members that will have nothing to do. It is not an error:
// such groups can be made by others, and must be importable.
func (c *check) surplus(partitions uint, members collection) {
	if names := distinct(stringsOf(members)); uint(len(names)) > partitions {
		c.diags.AddAttributeWarning(path.Root("members"), "More members than partitions", fmt.Sprintf(
			"%s will share %s. Those last in the order of their names have nothing to do: %v.", count(len(names), "member"), count(int(partitions), "partition"), names[partitions:]))
	}
}

func checkElastic(m *elasticGroupModel, diags *diag.Diagnostics) {
	c := checkNames(m.Stream, m.Name, "name", &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1}, diags)
	c.membership(m.MaxMembers, m.Members, m.MemberMappings, func(n uint, m membership) newGroup {
		return &pcgroups.ElasticConsumerGroupConfig{MaxMembers: n, Members: m.members, MemberMappings: m.mappings}
	})
	c.partitioningFilters(m.PartitioningFilters)
	c.limit("max_buffered_msgs", m.MaxBufferedMsgs, func(v int64) newGroup {
		return &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, MaxBufferedMsgs: v}
	})
	c.limit("max_buffered_bytes", m.MaxBufferedBytes, func(v int64) newGroup {
		return &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, MaxBufferedBytes: v}
	})
}

// limit refuses 0 too: it means no limit on the wire, but nobody who writes it
// means that.
func (c *check) limit(attribute string, v types.Int64, config func(int64) newGroup) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if v.ValueInt64() == 0 {
		c.diags.AddAttributeError(path.Root(attribute), "Invalid consumer group", attribute+": must be at least 1, or -1 for no limit.")
		return
	}
	c.refuses(config(v.ValueInt64()), path.Root(attribute))
}

// partitioningFilters checks every filter by itself first, to point at the one
// that is wrong, and then whether they go together.
func (c *check) partitioningFilters(list types.List) {
	at := path.Root("partitioning_filters")
	bad := false
	for i, e := range list.Elements() {
		if f, ok := filterOf(e); ok {
			bad = c.refuses(&pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: []pcgroups.PartitioningFilter{f}}, at.AtListIndex(i)) || bad
		}
	}
	if !bad {
		c.refuses(&pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: filtersOf(list)}, at)
	}
}

func checkStatic(m *staticGroupModel, diags *diag.Diagnostics) {
	c := checkNames(m.Stream, m.Name, "name", &pcgroups.StaticConsumerGroupConfig{MaxMembers: 1}, diags)
	c.membership(m.MaxMembers, m.Members, m.MemberMappings, func(n uint, m membership) newGroup {
		return &pcgroups.StaticConsumerGroupConfig{MaxMembers: n, Members: m.members, MemberMappings: m.mappings}
	})
	c.refuses(&pcgroups.StaticConsumerGroupConfig{MaxMembers: 1, Filters: stringsOf(m.Filters)}, path.Root("filters"))
	if has, _ := membershipOf(m.Members, m.MemberMappings); has.empty() && known(m.Members) && known(m.MemberMappings) {
		diags.AddAttributeWarning(path.Root("members"), "Static group without members",
			"Only a member can consume, and a static group's members can not be added later. Set members or member_mappings.")
	}
}

// member checks one name as that of a member of an elastic group.
func (c *check) member(v types.String) {
	if known(v) && !v.IsNull() {
		c.refuses(&pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, Members: []string{v.ValueString()}}, path.Root("member"))
	}
}
