package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// staticGroupModel is a pcgroups_static_group.
type staticGroupModel struct {
	Stream         types.String   `tfsdk:"stream"`
	Name           types.String   `tfsdk:"name"`
	MaxMembers     types.Int64    `tfsdk:"max_members"`
	Filters        types.List     `tfsdk:"filters"`
	Members        types.List     `tfsdk:"members"`
	MemberMappings types.Map      `tfsdk:"member_mappings"`
	ForceDestroy   types.Bool     `tfsdk:"force_destroy"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
	Assignments    types.Map      `tfsdk:"assignments"`
}

// Schema describes the resource.
func (r *staticGroupResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A static consumer group: its stream already carries the partition number as the first token of every subject, put there by the stream's own subject transform, " +
			"and its members are fixed. Messages with the same key are handled one at a time and in order. Needs nats-server 2.11.\n\n" +
			"Any change of the group ends its members' sessions, so every change replaces it. An existing group is never overwritten: import it.",
		Attributes: map[string]schema.Attribute{
			"stream":      streamAttribute("It must exist, with a subject transform such as `{{Partition(8,1)}}.orders.{{Wildcard(1)}}` whose count is `max_members`."),
			"name":        nameAttribute(),
			"max_members": maxMembersAttribute(),
			"filters": schema.ListAttribute{
				MarkdownDescription: "Subject filters, without the partition number. They must not overlap. Default: `[]`, all messages. With `member_mappings` they have no effect." + replaces,
				ElementType:         types.StringType,
				Optional:            true,
				Computed:            true,
				Default:             listdefault.StaticValue(types.ListValueMust(types.StringType, []attr.Value{})),
				Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.UniqueValues()},
				PlanModifiers:       []planmodifier.List{listplanmodifier.RequiresReplace()},
			},
			"members": schema.ListAttribute{
				MarkdownDescription: "Names of the members. Their order is stored but means nothing. Without members, or `member_mappings`, nobody can consume. Adding or dropping one replaces the group.",
				ElementType:         types.StringType,
				Optional:            true,
				Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.UniqueValues()},
				PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplaceIf(replaceIfOtherMembers,
					"Replaces the group if the names differ, in whatever order.", "Replaces the group if the names differ, in whatever order.")},
			},
			"member_mappings": mappingsAttribute(replaces[1:], mapplanmodifier.RequiresReplace()),
			"force_destroy":   forceDestroyAttribute("lose the members' positions in the stream or stop members that are connected"),
			"timeouts":        timeoutsAttribute(ctx),
			"assignments":     assignmentsAttribute("Null without members."),
		},
	}
}

func replaceIfOtherMembers(_ context.Context, req planmodifier.ListRequest, resp *listplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = otherMembers(req.StateValue, req.PlanValue)
}

// otherMembers compares what the lists mean: order does not, nor does the
// difference between no list and an empty one.
func otherMembers(before, after types.List) bool {
	return !known(after) || !membership{members: stringsOf(before)}.same(membership{members: stringsOf(after)})
}

func (m *staticGroupModel) ref() groupRef {
	return groupRef{kind: "static", stream: m.Stream.ValueString(), name: m.Name.ValueString()}
}

// derive fills in what follows from the rest of the model.
func (m *staticGroupModel) derive() {
	m.Assignments = assignmentsOf(m.MaxMembers, m.Members, m.MemberMappings)
}

// replacing lists the attributes whose change replaces the group, by the same
// rule as the schema's plan modifiers, whose verdict ModifyPlan is not told.
func (m *staticGroupModel) replacing(before *staticGroupModel) []string {
	names := changed([]change{
		{"stream", before.Stream, m.Stream},
		{"name", before.Name, m.Name},
		{"max_members", before.MaxMembers, m.MaxMembers},
		{"filters", before.Filters, m.Filters},
		{"member_mappings", before.MemberMappings, m.MemberMappings},
	})
	if otherMembers(before.Members, m.Members) {
		names = append(names, "members")
	}
	return names
}

// load takes over what is stored. Where members differ in order only, or are
// missing in one way or the other, the state keeps its own form, which is that
// of the configuration.
func (m *staticGroupModel) load(c *pcgroups.StaticConsumerGroupConfig) {
	m.MaxMembers = types.Int64Value(int64(c.MaxMembers))
	m.Filters = stringList(c.Filters)
	if stored := stringList(c.Members); otherMembers(m.Members, stored) {
		m.Members = stored
	}
	m.MemberMappings = types.MapNull(partitionSetType)
	if len(c.MemberMappings) != 0 {
		m.MemberMappings = mappingsMap(c.MemberMappings)
	}
}
