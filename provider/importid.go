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

// parseMemberID reads stream/group/member. A member's name has no slash either,
// so that the last one is the second separator.
func parseMemberID(id string) (stream, group, member string, err error) {
	if cut := strings.LastIndexByte(id, '/'); cut >= 0 {
		stream, group, err = parseImportID(id[:cut])
		member = id[cut+1:]
	}
	if err != nil || group == "" || member == "" {
		return "", "", "", fmt.Errorf("%q is not of the form stream/group/member, such as ORDERS/workers/worker-1", id)
	}
	return stream, group, member, nil
}
