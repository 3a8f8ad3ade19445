package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ resource.ResourceWithConfigure      = (*elasticGroupResource)(nil)
	_ resource.ResourceWithIdentity       = (*elasticGroupResource)(nil)
	_ resource.ResourceWithImportState    = (*elasticGroupResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*elasticGroupResource)(nil)
	_ resource.ResourceWithValidateConfig = (*elasticGroupResource)(nil)
)

// elasticGroupResource implements pcgroups_elastic_group.
type elasticGroupResource struct{ groupResource }

func newElasticGroup() resource.Resource {
	return &elasticGroupResource{groupResource{kind: "elastic"}}
}

// ValidateConfig refuses what can not work, as far as it is known.
func (r *elasticGroupResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config elasticGroupModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkElastic(&config, &resp.Diagnostics)
	checkTimeouts(config.Timeouts.Object, &resp.Diagnostics)
}

// ModifyPlan plans the computed attributes exactly and guards what would be lost.
func (r *elasticGroupResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan elasticGroupModel
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
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("work_queue_stream"), plan.WorkQueueStream)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("assignments"), plan.Assignments)...)
	forced := r.claim(&state, &plan, !req.State.Raw.IsNull(), &resp.Diagnostics)
	switch {
	case forced:
		r.guardPlan(ctx, plan.ref(), []string{forcedReplacement}, plan.ForceDestroy, plan.Timeouts.Read, resp.Private, &resp.Diagnostics)
		return
	case req.State.Raw.IsNull():
		r.checkStream(ctx, &plan, &resp.Diagnostics)
		return // a create, or the second half of a replacement whose consent must be kept
	}
	if replacing := plan.replacing(&state); len(replacing) != 0 {
		r.guardPlan(ctx, state.ref(), replacing, plan.ForceDestroy, plan.Timeouts.Read, resp.Private, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(forgetConsent(ctx, resp.Private)...)
	_, was := state.membership()
	if _, is := plan.membership(); was && !is {
		resp.Diagnostics.AddAttributeWarning(path.Root("members"), "Membership is no longer managed",
			"Neither members nor member_mappings is set any more. The group keeps its present members, and changes to them will not be noticed.")
	}
}

// claim notes what the group is going to be, for the resources that manage its
// members, and that it does so itself. It tells whether the group is replaced
// although nothing that is fixed changes.
func (r *elasticGroupResource) claim(state, plan *elasticGroupModel, exists bool, diags *diag.Diagnostics) (forced bool) {
	if !whole(plan.Stream, plan.Name) {
		return false
	}
	if _, managed := plan.membership(); managed {
		r.client.claims.add(plan.ref(), claim{owner: inlineOwner, isNew: !exists}, diags)
	}
	return r.replaced(plan.ref(), plan.MaxMembers, exists, exists && len(plan.replacing(state)) != 0)
}

// Create creates the group, or nothing.
func (r *elasticGroupResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan elasticGroupModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.perform(ctx, plan.ref(), "create", plan.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		opts := []pcgroups.CreateOption{pcgroups.FailIfExists()}
		m, _ := plan.membership()
		if len(m.members) != 0 {
			opts = append(opts, pcgroups.WithMembers(m.members...))
		}
		if len(m.mappings) != 0 {
			opts = append(opts, pcgroups.WithMemberMappings(m.mappings...))
		}
		_, err := pcgroups.CreateElastic(ctx, js, plan.Stream.ValueString(), plan.Name.ValueString(), partitionCount(plan.MaxMembers),
			filtersOf(plan.PartitioningFilters), plan.MaxBufferedMsgs.ValueInt64(), plan.MaxBufferedBytes.ValueInt64(), opts...)
		return err
	})
	if resp.Diagnostics.HasError() {
		return
	}
	r.client.claims.renew(plan.ref())
	plan.derive()
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.ref().identity())...)
	resp.Diagnostics.Append(forgetConsent(ctx, resp.Private)...)
}

// Read takes over what is there. Only a group that certainly does not exist
// leaves the state; one whose stream is missing stays, to be repaired.
func (r *elasticGroupResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state elasticGroupModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	found := true
	r.perform(ctx, state.ref(), "read", state.Timeouts.Read, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, state.Stream.ValueString(), state.Name.ValueString())
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			found = false
			warnOfOrphan(ctx, js, state.ref(), &resp.Diagnostics)
			return nil
		}
		if err != nil {
			return err
		}
		state.load(c)
		state.derive()
		queue, err := lookAtQueue(ctx, js, state.ref(), c)
		if err == nil && !queue.good() {
			state.WorkQueueStream = types.StringNull()
			if story := queue.story(state.ref()); story != "" {
				resp.Diagnostics.AddAttributeWarning(path.Root("work_queue_stream"), "Work-queue stream was changed", story)
			}
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

// Update repairs the work-queue stream and writes the membership, where these
// are not as planned. Other changes it can be asked for write nothing.
func (r *elasticGroupResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var state, plan elasticGroupModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	was, wasManaged := state.membership()
	want, managed := plan.membership()
	write := managed && (!wasManaged || !was.same(want))
	if state.WorkQueueStream.IsNull() || write {
		r.perform(ctx, plan.ref(), "update", plan.Timeouts.Update, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
			if state.WorkQueueStream.IsNull() {
				if err := repairElastic(ctx, js, plan.ref()); err != nil {
					return err
				}
			}
			if !write {
				return nil
			}
			planned := &was
			if !wasManaged {
				planned = nil
			}
			return writeMembership(ctx, js, plan.Stream.ValueString(), plan.Name.ValueString(), planned, want)
		})
	}
	if resp.Diagnostics.HasError() {
		return
	}
	plan.derive()
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.ref().identity())...)
}

// Delete deletes the group, if that is free or was consented to. A group that is
// gone, wholly or in part, is deleted as well as one that is whole.
func (r *elasticGroupResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state elasticGroupModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.perform(ctx, state.ref(), "delete", state.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		if err := r.guardDelete(ctx, js, state.ref(), state.ForceDestroy, req.Private, &resp.Diagnostics); err != nil || resp.Diagnostics.HasError() {
			return err
		}
		return pcgroups.DeleteElastic(ctx, js, state.Stream.ValueString(), state.Name.ValueString())
	})
}
