package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ resource.ResourceWithConfigure      = (*elasticMembershipResource)(nil)
	_ resource.ResourceWithIdentity       = (*elasticMembershipResource)(nil)
	_ resource.ResourceWithImportState    = (*elasticMembershipResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*elasticMembershipResource)(nil)
	_ resource.ResourceWithValidateConfig = (*elasticMembershipResource)(nil)
)

// elasticMembershipResource implements pcgroups_elastic_membership.
type elasticMembershipResource struct{ client *client }

func newElasticMembership() resource.Resource { return &elasticMembershipResource{} }

// Metadata names the resource type.
func (r *elasticMembershipResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_elastic_membership"
}

// Configure receives the provider's connection.
func (r *elasticMembershipResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig refuses what can not work, as far as it is known. How many
// partitions there are is known when it is planned.
func (r *elasticMembershipResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config elasticMembershipModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkTimeouts(config.Timeouts.Object, &resp.Diagnostics)
	if config.Members.IsNull() && config.MemberMappings.IsNull() {
		resp.Diagnostics.AddError("No members given", "Set members, [] for none, or member_mappings. To leave the members alone, remove the resource.")
		return
	}
	c := checkNames(config.Stream, config.Group, "group", &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1}, &resp.Diagnostics)
	c.membership(types.Int64Unknown(), config.Members, config.MemberMappings, elasticMembers)
}

// elasticMembers makes a configuration to check a membership by.
func elasticMembers(n uint, m membership) newGroup {
	return &pcgroups.ElasticConsumerGroupConfig{MaxMembers: n, Members: m.members, MemberMappings: m.mappings}
}

// ModifyPlan plans the assignments exactly, tells whom it will drop, and notices
// who else manages the group's members.
func (r *elasticMembershipResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan elasticMembershipModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if req.Plan.Raw.IsNull() {
		r.warnOfClearing(ctx, &state, &resp.Diagnostics)
		return
	}
	plan.Assignments = types.MapUnknown(partitionListType)
	replacing := !req.State.Raw.IsNull() && state.identity() != plan.identity()
	if whole(plan.Stream, plan.Group) && !replacing { // a replacement is planned once more, as a create
		r.client.claims.add(plan.ref(), claim{owner: membershipOwner, isNew: req.State.Raw.IsNull(), content: plan.membership().String()}, &resp.Diagnostics)
		r.planMembers(ctx, &plan, req.State.Raw.IsNull(), &resp.Diagnostics)
		if r.client.claims.renewed(plan.ref()) && plan.Assignments.Equal(state.Assignments) {
			// The new group has no members: an update must write them, although
			// nothing else would show that there is one.
			plan.Assignments = types.MapUnknown(partitionListType)
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("assignments"), plan.Assignments)...)
}

// planMembers goes by the partition count that the group is going to have: the
// one planned in the same run, else the one on the server.
func (r *elasticMembershipResource) planMembers(ctx context.Context, plan *elasticMembershipModel, creating bool, diags *diag.Diagnostics) {
	n, planned := r.client.claims.maxMembers(plan.ref())
	if (creating || !planned) && len(r.client.settings.unknown) == 0 {
		r.client.perform(ctx, plan.ref(), "read", plan.Timeouts.Read, diags, func(ctx context.Context, js jetstream.JetStream) error {
			c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, plan.Stream.ValueString(), plan.Group.ValueString())
			if errors.Is(err, pcgroups.ErrGroupNotFound) {
				return nil // it may be created before this is applied
			}
			if err != nil {
				return err
			}
			if !planned {
				n = types.Int64Value(int64(c.MaxMembers))
			}
			if has := (membership{c.Members, c.MemberMappings}); creating && !has.empty() && known(plan.Members) && known(plan.MemberMappings) && !has.same(plan.membership()) {
				// The plan shows only a resource to create, as if there were no members yet.
				diags.AddWarning("The group's members will change", fmt.Sprintf(
					"The members of %v are %v and will be %v: %s. If others manage them, use pcgroups_elastic_member to add some beside.",
					plan.ref(), has, plan.membership(), has.difference(plan.membership())))
			}
			return nil
		})
	}
	if diags.HasError() {
		return
	}
	if known(n) {
		c := &check{stream: plan.Stream.ValueString(), group: plan.Group.ValueString(), diags: diags}
		c.membership(n, plan.Members, plan.MemberMappings, elasticMembers)
	}
	plan.Assignments = assignmentsOf(n, plan.Members, plan.MemberMappings)
}

// warnOfClearing tells who is going to be stopped.
func (r *elasticMembershipResource) warnOfClearing(ctx context.Context, state *elasticMembershipModel, diags *diag.Diagnostics) {
	if state.OnDestroy.ValueString() != clearMembers || len(r.client.settings.unknown) != 0 {
		return
	}
	r.client.perform(ctx, state.ref(), "read", state.Timeouts.Read, diags, func(ctx context.Context, js jetstream.JetStream) error {
		d, err := pcgroups.DescribeElastic(ctx, js, state.Stream.ValueString(), state.Group.ValueString())
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if names := connected(d); len(names) != 0 {
			diags.AddWarning("Connected members will be stopped", fmt.Sprintf("Destroying the membership of %v, with on_destroy = \"clear\", will stop %s (%s).",
				state.ref(), count(len(names), "connected member"), strings.Join(names, ", ")))
		}
		return nil
	})
}

// ImportState takes the names from the id or the identity. The read that follows
// fills in the members.
func (r *elasticMembershipResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id membershipIdentity
	if !imported(ctx, req, &id, &resp.Diagnostics, func() error {
		stream, group, err := parseImportID(req.ID)
		id = membershipIdentity{types.StringValue(stream), types.StringValue(group)}
		return err
	}) {
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("stream"), id.Stream)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("group"), id.Group)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("on_destroy"), keepMembers)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
}

// Create takes over the membership.
func (r *elasticMembershipResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan elasticMembershipModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.write(ctx, "create", plan.Timeouts.Create, nil, &plan, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Read takes over what is there.
func (r *elasticMembershipResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state elasticMembershipModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	found := true
	r.client.perform(ctx, state.ref(), "read", state.Timeouts.Read, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, state.Stream.ValueString(), state.Group.ValueString())
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			found = false
			return nil
		}
		if err == nil {
			state.load(c)
		}
		return err
	})
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if !found {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update writes the membership where it is not as planned.
func (r *elasticMembershipResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var state, plan elasticMembershipModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	was := state.membership()
	switch {
	case r.client.claims.renewed(plan.ref()):
		r.write(ctx, "update", plan.Timeouts.Update, nil, &plan, &resp.Diagnostics)
	case !was.same(plan.membership()):
		r.write(ctx, "update", plan.Timeouts.Update, &was, &plan, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

func (r *elasticMembershipResource) write(ctx context.Context, verb string, configured timeout, was *membership, plan *elasticMembershipModel, diags *diag.Diagnostics) {
	r.client.perform(ctx, plan.ref().to("set the members of"), verb, configured, diags, func(ctx context.Context, js jetstream.JetStream) error {
		if err := writeMembership(ctx, js, plan.Stream.ValueString(), plan.Group.ValueString(), was, plan.membership()); err != nil || known(plan.Assignments) {
			return err
		}
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, plan.Stream.ValueString(), plan.Group.ValueString())
		if err == nil {
			plan.Assignments = assignmentsOf(types.Int64Value(int64(c.MaxMembers)), plan.Members, plan.MemberMappings)
		}
		return err
	})
}

// Delete keeps or clears the members. With the group they are gone already.
func (r *elasticMembershipResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state elasticMembershipModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || state.OnDestroy.ValueString() != clearMembers {
		return
	}
	r.client.perform(ctx, state.ref().to("clear the members of"), "delete", state.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		was := state.membership()
		err := writeMembership(ctx, js, state.Stream.ValueString(), state.Group.ValueString(), &was, membership{})
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			return nil
		}
		return err
	})
}
