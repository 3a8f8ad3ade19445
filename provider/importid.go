package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// A group is identified by its stream and its name. The import id joins them
// with a slash, which no stream's name can hold, so that the first one in an id
// is the separator.

// groupIdentity is the resource identity of a group.
type groupIdentity struct {
	Stream types.String `tfsdk:"stream"`
	Name   types.String `tfsdk:"name"`
}

func groupIdentitySchema() identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"stream": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the stream the group is on."},
		"name":   identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the group."},
	}}
}

func formatImportID(stream, group string) string { return stream + "/" + group }

// imported finds what is imported, by the id or by the identity, whose names it
// puts into the model that id points to. An id that names nothing that could be
// is refused here: Terraform would only say that it does not exist.
func imported(ctx context.Context, req resource.ImportStateRequest, id any, diags *diag.Diagnostics, parse func() error) bool {
	switch {
	case req.ID != "":
		if err := parse(); err != nil {
			diags.AddError("Invalid import id", "The import id "+err.Error()+".")
		}
	case req.Identity == nil || req.Identity.Raw.IsNull():
		diags.AddError("Invalid import id", "The import id is empty. A group, or its membership, is stream/group, such as ORDERS/workers; a member is stream/group/member.")
	default:
		diags.Append(req.Identity.Get(ctx, id)...)
	}
	return !diags.HasError()
}

func parseImportID(id string) (stream, group string, err error) {
	stream, group, found := strings.Cut(id, "/")
	if !found || stream == "" || group == "" {
		return "", "", fmt.Errorf("%q is not of the form stream/group, such as ORDERS/workers", id)
	}
	if err := (&pcgroups.StaticConsumerGroupConfig{MaxMembers: 1}).ValidateNew(stream, group); err != nil {
		return "", "", fmt.Errorf("%q is not of the form stream/group: %w", id, err)
	}
	return stream, group, nil
}

// parseMemberID reads stream/group/member.
func parseMemberID(id string) (stream, group, member string, err error) {
	if cut := strings.LastIndexByte(id, '/'); cut >= 0 {
		stream, group, err = parseImportID(id[:cut])
		member = id[cut+1:]
	}
	if !errors.Is(err, pcgroups.ErrInvalidConfig) && (group == "" || member == "") {
		return "", "", "", fmt.Errorf("%q is not of the form stream/group/member, such as ORDERS/workers/worker-1", id)
	}
	if err == nil {
		err = (&pcgroups.StaticConsumerGroupConfig{MaxMembers: 1, Members: []string{member}}).ValidateNew(stream, group)
	}
	if err != nil {
		return "", "", "", fmt.Errorf("%q is not of the form stream/group/member: %w", id, err)
	}
	return stream, group, member, nil
}
