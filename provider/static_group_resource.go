package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ resource.ResourceWithConfigure      = (*staticGroupResource)(nil)
	_ resource.ResourceWithIdentity       = (*staticGroupResource)(nil)
	_ resource.ResourceWithImportState    = (*staticGroupResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*staticGroupResource)(nil)
	_ resource.ResourceWithValidateConfig = (*staticGroupResource)(nil)
)

// staticGroupResource implements pcgroups_static_group.
type staticGroupResource struct{ groupResource }

func newStaticGroup() resource.Resource {
	return &staticGroupResource{groupResource{kind: "static"}}
}

// ValidateConfig refuses what can not work, as far as it is known.
func (r *staticGroupResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config staticGroupModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkStatic(&config, &resp.Diagnostics)
	checkTimeouts(config.Timeouts.Object, &resp.Diagnostics)
}

// ModifyPlan plans the computed attribute exactly and guards what would be lost.
func (r *staticGroupResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan staticGroupModel
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
		r.guardPlan(ctx, state.ref(), nil, state.ForceDestroy, state.Timeouts.Read, resp.Private, &resp.Diagnostics)
		return
	}
	plan.derive()
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("assignments"), plan.Assignments)...)
	exists := !req.State.Raw.IsNull()
	var replacing []string
	if exists {
		replacing = plan.replacing(&state)
	}
	if whole(plan.Stream, plan.Name) && r.replaced(plan.ref(), plan.MaxMembers, exists, len(replacing) != 0) {
		r.guardPlan(ctx, plan.ref(), []string{forcedReplacement}, plan.ForceDestroy, plan.Timeouts.Read, resp.Private, &resp.Diagnostics)
		return
	}
	if !exists {
		r.checkStream(ctx, &plan, &resp.Diagnostics)
		return // a create, or the second half of a replacement whose consent must be kept
	}
	if len(replacing) != 0 {
		r.guardPlan(ctx, state.ref(), replacing, plan.ForceDestroy, plan.Timeouts.Read, resp.Private, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(forgetConsent(ctx, resp.Private)...)
}

// checkStream warns of a stream whose messages will never reach the group.
func (r *staticGroupResource) checkStream(ctx context.Context, plan *staticGroupModel, diags *diag.Diagnostics) {
	if !whole(plan.Stream, plan.Name) || !known(plan.MaxMembers) || !known(plan.Filters) {
		return
	}
	r.glance(ctx, plan.ref(), diags, func(ctx context.Context, js jetstream.JetStream) error {
		err := pcgroups.CheckStaticStream(ctx, js, plan.Stream.ValueString(), partitionCount(plan.MaxMembers), stringsOf(plan.Filters))
		var problem *pcgroups.ConfigError
		if errors.As(err, &problem) {
			diags.AddAttributeWarning(path.Root("stream"), "The stream may not suit the group", fmt.Sprintf(
				"%s. If publishers put the partition number in front of the subjects themselves, this is no problem.", strings.TrimSuffix(problem.Reason, ".")))
		}
		return err
	})
}

// Create creates the group, or nothing.
func (r *staticGroupResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan staticGroupModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.perform(ctx, plan.ref(), "create", plan.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.CreateStatic(ctx, js, plan.Stream.ValueString(), plan.Name.ValueString(), partitionCount(plan.MaxMembers),
			stringsOf(plan.Filters), stringsOf(plan.Members), mappingsOf(plan.MemberMappings), pcgroups.FailIfExists())
		return err
	})
	if resp.Diagnostics.HasError() {
		return
	}
	plan.derive()
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.ref().identity())...)
	resp.Diagnostics.Append(forgetConsent(ctx, resp.Private)...)
}

// Read takes over what is there. Only a group that certainly does not exist
// leaves the state.
func (r *staticGroupResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state staticGroupModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	found := true
	r.perform(ctx, state.ref(), "read", state.Timeouts.Read, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, state.Stream.ValueString(), state.Name.ValueString())
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			found = false
			return nil
		}
		if err == nil {
			state.load(c)
			state.derive()
		}
		return err
	})
	if resp.Diagnostics.HasError() {
		return
	}
	// The framework wants an identity even for what is gone.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.ref().identity())...)
	if !found {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update is for what is not on the server, and for the order of members: all
// else replaces the group.
func (r *staticGroupResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan staticGroupModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.derive()
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.ref().identity())...)
}

// Delete deletes the group, if that is free or was consented to.
func (r *staticGroupResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state staticGroupModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.perform(ctx, state.ref(), "delete", state.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		if err := r.guardDelete(ctx, js, state.ref(), state.ForceDestroy, req.Private, &resp.Diagnostics); err != nil || resp.Diagnostics.HasError() {
			return err
		}
		return pcgroups.DeleteStatic(ctx, js, state.Stream.ValueString(), state.Name.ValueString())
	})
}
