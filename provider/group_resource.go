package provider

import (
	"context"
	"fmt"

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
type groupRef struct {
	kind, stream, name string

	// attribute is the one that holds the name, if it is not called name.
	attribute string
	// doing is what is being done, if that is not done to the group as a whole.
	doing string
}

// to gives a message about part of a group its verb.
func (g groupRef) to(doing string) groupRef {
	g.doing = doing
	return g
}

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
	r.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// ImportState takes stream and name from the id or the identity. The read that
// follows finds the rest null and fills all of it in.
func (r *groupResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id groupIdentity
	if !imported(ctx, req, &id, &resp.Diagnostics, func() error {
		stream, name, err := parseImportID(req.ID)
		id = groupRef{kind: r.kind, stream: stream, name: name}.identity()
		return err
	}) {
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("stream"), id.Stream)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), id.Name)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
}

// perform runs an operation on the group.
func (r *groupResource) perform(ctx context.Context, group groupRef, verb string, configured timeout, diags *diag.Diagnostics, do func(context.Context, jetstream.JetStream) error) {
	r.client.perform(ctx, group, verb, configured, diags, do)
}
