package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// elasticMembershipModel is a pcgroups_elastic_membership.
type elasticMembershipModel struct {
	Stream         types.String   `tfsdk:"stream"`
	Group          types.String   `tfsdk:"group"`
	Members        types.Set      `tfsdk:"members"`
	MemberMappings types.Map      `tfsdk:"member_mappings"`
	OnDestroy      types.String   `tfsdk:"on_destroy"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
	Assignments    types.Map      `tfsdk:"assignments"`
}

// membershipIdentity is the resource identity of a membership.
type membershipIdentity struct {
	Stream types.String `tfsdk:"stream"`
	Group  types.String `tfsdk:"group"`
}

// What on_destroy can be.
const (
	keepMembers  = "keep"
	clearMembers = "clear"
)

func (m *elasticMembershipModel) ref() groupRef {
	return groupRef{kind: "elastic", stream: m.Stream.ValueString(), name: m.Group.ValueString(), attribute: "group"}
}

func (m *elasticMembershipModel) identity() membershipIdentity {
	return membershipIdentity{m.Stream, m.Group}
}

func (m *elasticMembershipModel) membership() membership {
	has, _ := membershipOf(m.Members, m.MemberMappings)
	return has
}

// load takes over what is stored.
func (m *elasticMembershipModel) load(c *pcgroups.ElasticConsumerGroupConfig) {
	m.Members, m.MemberMappings = stringSet(distinct(c.Members)), types.MapNull(partitionSetType)
	if len(c.MemberMappings) != 0 {
		m.Members, m.MemberMappings = types.SetNull(types.StringType), mappingsMap(c.MemberMappings)
	}
	m.Assignments = assignmentsOf(types.Int64Value(int64(c.MaxMembers)), m.Members, m.MemberMappings)
}

// Schema describes the resource.
func (r *elasticMembershipResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	fixed := func(text string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: text + " Changing it replaces the membership.", Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "All members of an elastic consumer group, managed apart from the group: for when another team, or another configuration, owns the members than owns the group. " +
			"It takes over whatever members the group has, and repairs what others change.\n\n" + conflictNote,
		Attributes: map[string]schema.Attribute{
			"stream": fixed("Name of the stream the group is on."),
			"group":  fixed("Name of the elastic group. It must exist."),
			"members": schema.SetAttribute{
				MarkdownDescription: "Names of all members; `[]` means none. Exactly one of this and `member_mappings` must be set. Changing it is done in place and moves partitions between the members.",
				ElementType:         types.StringType,
				Optional:            true,
				Validators:          []validator.Set{setvalidator.NoNullValues()},
			},
			"member_mappings": mappingsAttribute("Changing it is done in place and moves partitions between the members."),
			"on_destroy": schema.StringAttribute{
				MarkdownDescription: "What becomes of the members when this resource is destroyed: `keep` leaves them, `clear` drops them all, so that nobody consumes. " +
					"A destroy goes by the value that was last applied. Default: `keep`. Changing it writes nothing.",
				Optional: true, Computed: true,
				Default:    stringdefault.StaticString(keepMembers),
				Validators: []validator.String{stringvalidator.OneOf(keepMembers, clearMembers)},
			},
			"timeouts":    timeoutsAttribute(ctx),
			"assignments": assignmentsAttribute("It is unknown while planning if the group is not there yet and not in this configuration either."),
		},
	}
}

// IdentitySchema describes what identifies a membership: its group.
func (r *elasticMembershipResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"stream": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the stream the group is on."},
		"group":  identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the group."},
	}}
}
