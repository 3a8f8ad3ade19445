package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// elasticGroupModel is a pcgroups_elastic_group.
type elasticGroupModel struct {
	Stream              types.String   `tfsdk:"stream"`
	Name                types.String   `tfsdk:"name"`
	MaxMembers          types.Int64    `tfsdk:"max_members"`
	PartitioningFilters types.List     `tfsdk:"partitioning_filters"`
	MaxBufferedMsgs     types.Int64    `tfsdk:"max_buffered_msgs"`
	MaxBufferedBytes    types.Int64    `tfsdk:"max_buffered_bytes"`
	Members             types.Set      `tfsdk:"members"`
	MemberMappings      types.Map      `tfsdk:"member_mappings"`
	ForceDestroy        types.Bool     `tfsdk:"force_destroy"`
	Timeouts            timeouts.Value `tfsdk:"timeouts"`
	WorkQueueStream     types.String   `tfsdk:"work_queue_stream"`
	Assignments         types.Map      `tfsdk:"assignments"`
}

// Schema describes the resource.
func (r *elasticGroupResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An elastic consumer group: it partitions a stream's messages by their subjects, through a work-queue stream of its own named `<stream>-<name>`, " +
			"and its members can change at any time. Messages with the same key are handled one at a time and in order. Needs nats-server 2.11.\n\n" +
			"A change of members is made in place: the members that keep their partitions keep running. An existing group is never overwritten: import it.",
		Attributes: map[string]schema.Attribute{
			"stream":               streamAttribute("It must exist."),
			"name":                 nameAttribute(),
			"max_members":          maxMembersAttribute(),
			"partitioning_filters": partitioningFiltersAttribute(),
			"max_buffered_msgs":    bufferAttribute("messages", "A full stream pauses the group's intake for about 2 seconds at a time, so allow for at least 2.5 seconds of peak traffic."),
			"max_buffered_bytes":   bufferAttribute("bytes", "As for `max_buffered_msgs`."),
			"members": schema.SetAttribute{
				MarkdownDescription: "Names of the members. With this set, or `member_mappings`, Terraform owns the whole membership and repairs what others change; `[]` means no members. " +
					"With neither, the membership is not managed here: it is left as it is and not shown. Changing it is done in place and moves partitions between the members.",
				ElementType: types.StringType,
				Optional:    true,
				Validators:  []validator.Set{setvalidator.NoNullValues()},
			},
			"member_mappings": mappingsAttribute("Changing it is done in place and moves partitions between the members."),
			"force_destroy":   forceDestroyAttribute("drop messages that are not processed or stop members that are connected"),
			"timeouts":        timeoutsAttribute(ctx),
			"work_queue_stream": schema.StringAttribute{
				MarkdownDescription: "Name of the group's work-queue stream, `<stream>-<name>`. It is null while that stream is missing or not as the group needs it, because someone changed its source, transforms, limits or discard policy; the next apply repairs that.",
				Computed:            true,
			},
			"assignments": assignmentsAttribute("Null while the membership is not managed here."),
		},
	}
}

func partitioningFiltersAttribute() schema.Attribute {
	none := types.ListValueMust(types.Int64Type, []attr.Value{})
	return schema.ListNestedAttribute{
		MarkdownDescription: "What the group consumes and how it is keyed. Filters must not overlap. A plan of a new group warns of a filter that no subject of the stream can match. Default: `[]`, all messages, keyed by their whole subject (needs nats-server 2.12)." + replaces,
		Optional:            true,
		Computed:            true,
		Default:             listdefault.StaticValue(types.ListValueMust(filterType, []attr.Value{})),
		PlanModifiers:       []planmodifier.List{listplanmodifier.RequiresReplace()},
		Validators:          []validator.List{listvalidator.NoNullValues()},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"filter": schema.StringAttribute{
				MarkdownDescription: "Subject filter, with at least one `*` or ending in `>`, such as `orders.*`.",
				Required:            true,
			},
			"partitioning_wildcards": schema.ListAttribute{
				MarkdownDescription: "Which of the filter's `*` make up the key, counted from 1: `[2]` keys `orders.*.*` by its last token. Default: `[]`, the whole subject is the key (needs nats-server 2.12).",
				ElementType:         types.Int64Type,
				Optional:            true,
				Computed:            true,
				Default:             listdefault.StaticValue(none),
				Validators:          []validator.List{listvalidator.NoNullValues()},
			},
		}},
	}
}

func bufferAttribute(unit, detail string) schema.Attribute {
	return schema.Int64Attribute{
		CustomType:          wholeNumber{},
		MarkdownDescription: "Most " + unit + " that the work-queue stream may hold, -1 for no limit. " + detail + " Default: `-1`." + replaces,
		Optional:            true,
		Computed:            true,
		Default:             int64default.StaticInt64(-1),
		PlanModifiers:       []planmodifier.Int64{int64planmodifier.RequiresReplace()},
	}
}

func (m *elasticGroupModel) ref() groupRef {
	return groupRef{kind: "elastic", stream: m.Stream.ValueString(), name: m.Name.ValueString()}
}

func (m *elasticGroupModel) membership() (membership, bool) {
	return membershipOf(m.Members, m.MemberMappings)
}

// derive fills in what follows from the rest of the model.
func (m *elasticGroupModel) derive() {
	m.WorkQueueStream = types.StringUnknown()
	if known(m.Stream) && known(m.Name) {
		m.WorkQueueStream = types.StringValue(pcgroups.ComposeGroupStreamName(m.Stream.ValueString(), m.Name.ValueString()))
	}
	m.Assignments = assignmentsOf(m.MaxMembers, m.Members, m.MemberMappings)
}

// replacing lists the attributes whose change replaces the group, by the same
// rule as the schema's plan modifiers, whose verdict ModifyPlan is not told.
func (m *elasticGroupModel) replacing(before *elasticGroupModel) []string {
	return changed([]change{
		{"stream", before.Stream, m.Stream},
		{"name", before.Name, m.Name},
		{"max_members", before.MaxMembers, m.MaxMembers},
		{"partitioning_filters", before.PartitioningFilters, m.PartitioningFilters},
		{"max_buffered_msgs", before.MaxBufferedMsgs, m.MaxBufferedMsgs},
		{"max_buffered_bytes", before.MaxBufferedBytes, m.MaxBufferedBytes},
	})
}

// load takes over what is stored. A membership that is not managed stays null,
// unless all is new because of an import.
func (m *elasticGroupModel) load(c *pcgroups.ElasticConsumerGroupConfig) {
	imported := m.MaxMembers.IsNull()
	m.MaxMembers = types.Int64Value(int64(c.MaxMembers))
	m.PartitioningFilters = filtersList(c.PartitioningFilters)
	m.MaxBufferedMsgs, m.MaxBufferedBytes = limitValue(c.MaxBufferedMsgs), limitValue(c.MaxBufferedBytes)
	if _, managed := m.membership(); !managed && !imported {
		return
	}
	m.Members, m.MemberMappings = stringSet(distinct(c.Members)), types.MapNull(partitionSetType)
	if len(c.MemberMappings) != 0 {
		m.Members, m.MemberMappings = types.SetNull(types.StringType), mappingsMap(c.MemberMappings)
	}
}
