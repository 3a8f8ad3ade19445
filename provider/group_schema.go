package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// The attributes that both kinds of group have.

const replaces = " Changing it replaces the group."

func streamAttribute(detail string) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: "Name of the stream whose messages the group consumes. " + detail + " A plan of a new group warns if there is no such stream yet." + replaces,
		Required:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

func nameAttribute() schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: "Name of the group, unique among the groups of its kind on the stream." + replaces,
		Required:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

func maxMembersAttribute() schema.Attribute {
	return schema.Int64Attribute{
		CustomType:          wholeNumber{},
		MarkdownDescription: "Number of partitions, at least 1, and so the number of members that can be busy at once. Up to about 1000 is advisable." + replaces,
		Required:            true,
		PlanModifiers:       []planmodifier.Int64{int64planmodifier.RequiresReplace()},
	}
}

func mappingsAttribute(detail string, modifiers ...planmodifier.Map) schema.Attribute {
	return schema.MapAttribute{
		MarkdownDescription: "Partitions of every member, by member name: the members as an explicit assignment. " +
			"Every partition from 0 to `max_members` - 1 must belong to exactly one member. Conflicts with `members`. " + detail,
		ElementType: partitionSetType,
		Optional:    true,
		Validators: []validator.Map{
			mapvalidator.SizeAtLeast(1),
			mapvalidator.ValueSetsAre(setvalidator.NoNullValues()),
			mapvalidator.NoNullValues(),
		},
		PlanModifiers: modifiers,
	}
}

func forceDestroyAttribute(loss string) schema.Attribute {
	return schema.BoolAttribute{
		MarkdownDescription: "Whether the group may be destroyed or replaced although that would " + loss + ". " +
			"A destroy goes by the value that was last applied; a replacement by the one in the same change. Default: the provider's `force_destroy`, else `false`. Changing it writes nothing.",
		Optional: true,
	}
}

func timeoutsAttribute(ctx context.Context) schema.Attribute {
	const form = ", as a duration such as `30s`. Default: "
	return timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long creating may take" + form + "`2m`.",
		Read: true, ReadDescription: "How long reading may take, which every plan does" + form + "`1m`.",
		Update: true, UpdateDescription: "How long changing may take" + form + "`2m`.",
		Delete: true, DeleteDescription: "How long destroying may take" + form + "`2m`. A destroy goes by the value that was last applied.",
	})
}

func assignmentsAttribute(detail string) schema.Attribute {
	return schema.MapAttribute{
		MarkdownDescription: "Partitions of every member, by member name. It is known while planning, so a plan shows which partitions move to whom. " +
			"Members beyond `max_members`, in the order of their names, have none. " + detail + " Not listed (null) with more than 65536 partitions.",
		ElementType: partitionListType,
		Computed:    true,
	}
}

// assignmentsOf plans the assignments attribute. It is exact as soon as what it
// depends on is known.
func assignmentsOf(maxMembers types.Int64, members collection, mappings types.Map) types.Map {
	if !known(maxMembers) || !known(members) || !known(mappings) {
		return types.MapUnknown(partitionListType)
	}
	m, managed := membershipOf(members, mappings)
	if !managed {
		return types.MapNull(partitionListType)
	}
	return assignmentsValue(partitionCount(maxMembers), m)
}
