package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var _ action.ActionWithConfigure = (*stepDownAction)(nil)

// stepDownAction implements the action pcgroups_step_down.
type stepDownAction struct{ client *client }

func newStepDown() action.Action { return &stepDownAction{} }

// stepDownModel is the configuration of pcgroups_step_down.
type stepDownModel struct {
	Stream   types.String   `tfsdk:"stream"`
	Group    types.String   `tfsdk:"group"`
	Kind     types.String   `tfsdk:"kind"`
	Member   types.String   `tfsdk:"member"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *stepDownAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_step_down"
}

// Schema describes the action.
func (a *stepDownAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes the active instance of a member give way to another one: the server takes its pin away and pins an instance that waits. " +
			"Use it before the machine of the active instance is taken down. If no other instance waits, the same one becomes active again. It may be repeated.",
		Attributes: map[string]schema.Attribute{
			"stream": schema.StringAttribute{MarkdownDescription: "Name of the stream the group is on.", Required: true, Validators: streamName},
			"group":  schema.StringAttribute{MarkdownDescription: "Name of the group.", Required: true, Validators: groupName},
			"kind": schema.StringAttribute{
				MarkdownDescription: "`elastic` or `static`.", Required: true,
				Validators: []validator.String{stringvalidator.OneOf("elastic", "static")},
			},
			"member": schema.StringAttribute{MarkdownDescription: "Name of the member. It must have a consumer.", Required: true},
			"timeouts": timeouts.AttributesWithOpts(ctx, timeouts.Opts{
				InvokeDescription: "How long it may take, as a duration such as `30s`. Default: `2m`.",
			}),
		},
	}
}

// Configure receives the provider's connection.
func (a *stepDownAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// successorWait is how long the action watches who comes next, to tell it. The
// server pins the successor with the next message at the latest.
const successorWait = time.Second

// Invoke steps the member down.
func (a *stepDownAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var config stepDownModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tell := func(format string, arguments ...any) {
		resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf(format, arguments...)})
	}
	member := config.Member.ValueString()
	group := groupRef{kind: config.Kind.ValueString(), stream: config.Stream.ValueString(), name: config.Group.ValueString(), attribute: "group"}
	describe, stepDown := pcgroups.DescribeElastic, pcgroups.ElasticMemberStepDown
	if group.kind == "static" {
		describe, stepDown = pcgroups.DescribeStatic, pcgroups.StaticMemberStepDown
	}
	pin := func(ctx context.Context, js jetstream.JetStream) (string, error) {
		d, err := describe(ctx, js, group.stream, group.name)
		if err != nil {
			return "", err
		}
		for _, m := range d.Members {
			if m.Name == member {
				return m.PinnedID, nil
			}
		}
		return "", nil // one that was dropped and still has a consumer
	}
	a.client.perform(ctx, group.to("step down member "+member+" of"), "invoke", config.Timeouts.Invoke, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		before, err := pin(ctx, js)
		if err != nil {
			return err
		}
		tell("Active instance of %s before: %s", member, cmp.Or(before, "none"))
		if err := stepDown(ctx, js, group.stream, group.name, member); err != nil {
			if errors.Is(err, pcgroups.ErrMemberNotInGroup) {
				resp.Diagnostics.AddAttributeError(path.Root("member"), "Member has no consumer", fmt.Sprintf(
					"Could not step down member %s of %v: it has no running instance, or its name is misspelt. The data source pcgroups_group_status shows the members and who is connected.", member, group))
				return nil
			}
			return err
		}
		after, err := successor(ctx, js, before, pin)
		if err == nil {
			tell("Active instance of %s now: %s", member, cmp.Or(after, "the one that gets the next message"))
		}
		return err
	})
}

// successor waits a moment for another instance to become active.
func successor(ctx context.Context, js jetstream.JetStream, before string, pin func(context.Context, jetstream.JetStream) (string, error)) (string, error) {
	end := time.NewTimer(successorWait)
	defer end.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		now, err := pin(ctx, js)
		if err != nil || now != "" && now != before {
			return now, err
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-end.C:
			return "", nil
		case <-look.C:
		}
	}
}
