package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ resource.ResourceWithConfigure      = (*elasticMemberResource)(nil)
	_ resource.ResourceWithIdentity       = (*elasticMemberResource)(nil)
	_ resource.ResourceWithImportState    = (*elasticMemberResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*elasticMemberResource)(nil)
	_ resource.ResourceWithValidateConfig = (*elasticMemberResource)(nil)
)

// elasticMemberResource implements pcgroups_elastic_member.
type elasticMemberResource struct{ client *client }

func newElasticMember() resource.Resource { return &elasticMemberResource{} }

// elasticMemberModel is a pcgroups_elastic_member.
type elasticMemberModel struct {
	Stream   types.String   `tfsdk:"stream"`
	Group    types.String   `tfsdk:"group"`
	Member   types.String   `tfsdk:"member"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// memberIdentity is the resource identity of a member.
type memberIdentity struct {
	Stream types.String `tfsdk:"stream"`
	Group  types.String `tfsdk:"group"`
	Member types.String `tfsdk:"member"`
}

func (m *elasticMemberModel) ref() groupRef {
	return groupRef{kind: "elastic", stream: m.Stream.ValueString(), name: m.Group.ValueString(), attribute: "group"}
}

func (m *elasticMemberModel) identity() memberIdentity {
	return memberIdentity{m.Stream, m.Group, m.Member}
}

// Metadata names the resource type.
func (r *elasticMemberResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_elastic_member"
}

// Schema describes the resource.
func (r *elasticMemberResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	fixed := func(text string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: text + " Changing it replaces the member.", Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "One member of an elastic consumer group, added beside whatever members the group has. It leaves the others alone, so that several configurations, and applications, can each add their own. " +
			"Destroying it drops just this member.\n\n" + conflictNote +
			"Every change of members makes the group rebalance. Members that are added or dropped within 250 ms by one run of Terraform are written together: ten at once are one rebalance. Members of one group that are read within a second share one read.",
		Attributes: map[string]schema.Attribute{
			"stream":   fixed("Name of the stream the group is on."),
			"group":    fixed("Name of the elastic group. It must not use `member_mappings`, and must have fewer members than partitions."),
			"member":   fixed("Name of the member. That it is in the group already is no error."),
			"timeouts": timeoutsAttribute(ctx),
		},
	}
}

// conflictNote is on all resources that manage members.
const conflictNote = "~> The members of a group are to be managed in one place: by `members` or `member_mappings` of `pcgroups_elastic_group`, by one `pcgroups_elastic_membership`, or by any number of `pcgroups_elastic_member`. " +
	"Two of these for one group in the same configuration are an error; in different configurations they undo each other's work.\n\n"

// IdentitySchema describes what identifies a member.
func (r *elasticMemberResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"stream": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the stream the group is on."},
		"group":  identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the group."},
		"member": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the member."},
	}}
}

// Configure receives the provider's connection.
func (r *elasticMemberResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig refuses names that can not work, as far as they are known.
func (r *elasticMemberResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config elasticMemberModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		checkTimeouts(config.Timeouts.Object, &resp.Diagnostics)
		checkNames(config.Stream, config.Group, "group", &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1}, &resp.Diagnostics).member(config.Member)
	}
}

// ModifyPlan notices who else manages the group's members.
func (r *elasticMemberResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var state, plan elasticMemberModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || !whole(plan.Stream, plan.Group, plan.Member) {
		return
	}
	if !req.State.Raw.IsNull() && state.identity() != plan.identity() {
		return // a replacement, which is planned once more as a create
	}
	r.client.claims.add(plan.ref(), claim{owner: memberOwner, member: plan.Member.ValueString(), isNew: req.State.Raw.IsNull()}, &resp.Diagnostics)
	if !req.State.Raw.IsNull() && r.client.claims.renewed(plan.ref()) {
		resp.Diagnostics.AddWarning("The member's group is replaced", fmt.Sprintf(
			"This plan replaces %v, and the new group begins without members. Apply once more to add %s to it.", plan.ref(), plan.Member.ValueString()))
	}
}

// ImportState takes the names from the id or the identity.
func (r *elasticMemberResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id memberIdentity
	if !imported(ctx, req, &id, &resp.Diagnostics, func() error {
		stream, group, member, err := parseMemberID(req.ID)
		id = memberIdentity{types.StringValue(stream), types.StringValue(group), types.StringValue(member)}
		return err
	}) {
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("stream"), id.Stream)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("group"), id.Group)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("member"), id.Member)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
}

// Create adds the member.
func (r *elasticMemberResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan elasticMemberModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.client.perform(ctx, plan.ref().to("add member "+plan.Member.ValueString()+" to"), "create", plan.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		return r.client.coalescer.change(ctx, js, plan.ref(), plan.Member.ValueString(), true)
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Read drops a member that certainly is not in the group from the state, so that
// the plan adds it again.
func (r *elasticMemberResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state elasticMemberModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	there := false
	r.client.perform(ctx, state.ref(), "read", state.Timeouts.Read, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := r.client.reads.get(ctx, js, state.ref())
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			return nil
		}
		there = err == nil && c.IsInMembership(state.Member.ValueString())
		return err
	})
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if !there {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update is for the timeouts alone, which are not on the server.
func (r *elasticMemberResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan elasticMemberModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Delete drops the member.
func (r *elasticMemberResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state elasticMemberModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.client.perform(ctx, state.ref().to("drop member "+state.Member.ValueString()+" of"), "delete", state.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		return r.client.coalescer.change(ctx, js, state.ref(), state.Member.ValueString(), false)
	})
}
