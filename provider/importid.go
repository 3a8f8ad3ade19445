package provider

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/types"
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

func parseImportID(id string) (stream, group string, err error) {
	stream, group, found := strings.Cut(id, "/")
	if !found || stream == "" || group == "" {
		return "", "", fmt.Errorf("%q is not of the form stream/group, such as ORDERS/workers", id)
	}
	return stream, group, nil
}
