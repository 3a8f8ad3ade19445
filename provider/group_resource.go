package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"
)

// groupResource is what the resources of both kinds of group have in common.
type groupResource struct {
	kind   string // "elastic" or "static"
	client *client
}

// groupRef names a group in code that serves both kinds.
type groupRef struct{ kind, stream, name string }

func (g groupRef) String() string {
	return fmt.Sprintf("%s consumer group %s", g.kind, formatImportID(g.stream, g.name))
}

// identity is the group's Terraform identity.
func (g groupRef) identity() groupIdentity {
	return groupIdentity{Stream: types.StringValue(g.stream), Name: types.StringValue(g.name)}
}

// Metadata names the resource type.
func (r *groupResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.kind + "_group"
}

// IdentitySchema describes what identifies a group.
func (r *groupResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = groupIdentitySchema()
}

// Configure receives the provider's connection.
func (r *groupResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	if req.ProviderData == nil {
		return // a configuration is validated before the provider is configured
	}
	c, ok := req.ProviderData.(*client)
	if !ok {
		resp.Diagnostics.AddError("Bug in the provider", fmt.Sprintf("The resource was given a %T in place of its connection. Please report this.", req.ProviderData))
		return
	}
	r.client = c
}

// ImportState takes stream and name from the id or the identity. The read that
// follows finds the rest null and fills all of it in.
func (r *groupResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id groupIdentity
	if req.ID != "" {
		stream, name, err := parseImportID(req.ID)
		if err != nil {
			resp.Diagnostics.AddError("Invalid import id", "The import id "+err.Error()+".")
			return
		}
		id = groupRef{r.kind, stream, name}.identity()
	} else {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("stream"), id.Stream)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), id.Name)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
}

// The time that operations have when the timeouts attribute says nothing.
// Requests that fail do so long before: this is for groups that need many.
const (
	defaultReadTimeout  = time.Minute
	defaultWriteTimeout = 2 * time.Minute
)

// timeout is one getter of the timeouts attribute.
type timeout func(context.Context, time.Duration) (time.Duration, diag.Diagnostics)

// perform runs an operation on a connection and within its timeout, and reports
// its error.
func (r *groupResource) perform(ctx context.Context, group groupRef, verb string, configured timeout, diags *diag.Diagnostics, do func(context.Context, jetstream.JetStream) error) {
	fallback := defaultWriteTimeout
	if verb == "read" {
		fallback = defaultReadTimeout
	}
	d, problems := configured(ctx, fallback)
	diags.Append(problems...)
	if diags.HasError() {
		return
	}
	ctx, end := within(ctx, "timeouts."+verb, d)
	defer end()
	js, err := r.client.jetStream(ctx)
	if err == nil {
		err = do(ctx, js)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		diags.Append(explain(group, verb, err, r.client.complaint()))
	}
}
