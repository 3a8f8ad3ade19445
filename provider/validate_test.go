package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Prevents: a configuration of which something is not known yet being refused
// for what is missing, and one of whose parts is wrong hiding the others.
func TestCheckElastic_partly(t *testing.T) {
	t.Parallel()
	str := types.StringValue
	whole := elasticGroupModel{Stream: str("ORDERS"), Name: str("cg"), MaxMembers: types.Int64Value(4)}
	unknown := elasticGroupModel{
		Stream: types.StringUnknown(), Name: types.StringUnknown(), MaxMembers: types.Int64Unknown(), MaxBufferedMsgs: types.Int64Unknown(),
		Members: types.SetUnknown(types.StringType), PartitioningFilters: types.ListUnknown(filterType),
	}
	bad := elasticGroupModel{
		Stream: str("a.b"), Name: str("cg"), MaxMembers: types.Int64Value(0), MaxBufferedMsgs: types.Int64Value(-7), MaxBufferedBytes: types.Int64Value(0),
		Members: stringSet([]string{"x y"}),
	}
	for _, tc := range []struct {
		name  string
		model elasticGroupModel
		want  []string
	}{
		{"good", whole, nil},
		{"unknown", unknown, nil},
		{"bad", bad, []string{"stream", "members", "max_members", "max_buffered_msgs", "max_buffered_bytes"}},
	} {
		var diags diag.Diagnostics
		checkElastic(&tc.model, &diags)
		var got []string
		for _, d := range diags.Errors() {
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				got = append(got, at.Path().String())
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s: errors at %v, want %v", tc.name, got, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%s: errors at %v, want %v", tc.name, got, tc.want)
			}
		}
	}
}
