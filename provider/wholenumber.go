package provider

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// wholeNumber is the framework's integer with another word for 4.5, of which the
// framework says that it is "always an error in the provider". Validators are no
// cure, as they get only values that could be converted.
//
// It is for attributes, not for elements of a collection: the framework does not
// validate those everywhere, and what is not validated would pass for unknown.
type wholeNumber struct{ basetypes.Int64Type }

var _ basetypes.Int64Typable = wholeNumber{}

// Equal takes the framework's integer for the same type: it is that of the values,
// which the framework compares with the schema's.
func (wholeNumber) Equal(o attr.Type) bool {
	switch o.(type) {
	case wholeNumber, basetypes.Int64Type:
		return true
	}
	return false
}

// ValueFromTerraform leaves it to Validate, which the framework calls next, to
// refuse a value.
func (t wholeNumber) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	if notWhole(in) != "" {
		return types.Int64Unknown(), nil
	}
	return t.Int64Type.ValueFromTerraform(ctx, in)
}

// Validate refuses what is no integer of 64 bits.
func (t wholeNumber) Validate(ctx context.Context, in tftypes.Value, at path.Path) diag.Diagnostics {
	if why := notWhole(in); why != "" {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "Not a whole number", why)}
	}
	return t.Int64Type.Validate(ctx, in, at)
}

// notWhole tells why a number is no integer of 64 bits, if it is not.
func notWhole(in tftypes.Value) string {
	var n *big.Float
	if in.Type() == nil || !in.IsKnown() || in.IsNull() || in.As(&n) != nil {
		return ""
	}
	if !n.IsInt() {
		return fmt.Sprintf("It must be a whole number, and %s is not. If it was calculated, use floor or ceil.", n.Text('g', 10))
	}
	if _, accuracy := n.Int64(); accuracy != big.Exact {
		return fmt.Sprintf("%s is too large.", n.Text('g', 10))
	}
	return ""
}
