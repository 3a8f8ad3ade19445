package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"
)

// A destroy or replacement that costs something is refused while it is planned,
// which also covers a resource whose block was removed, and again when it is
// done, as the plan may be old. force_destroy is the consent.
//
// For a replacement the consent is the value in the new configuration. Delete
// sees only the old state, so the plan hands the consent on in private state.
// Where that is missing (a tainted resource has none), there is no consent.

const consentKey = "destroy_consent"

// privateState is the part of private state that is used here, which in the
// framework is of an internal type.
type privateState interface {
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
	SetKey(context.Context, string, []byte) diag.Diagnostics
}

// consents resolves force_destroy: the group's own, else the provider's.
func (r *groupResource) consents(force types.Bool) bool {
	if force.IsNull() {
		return r.client.settings.forceDestroy
	}
	return force.ValueBool()
}

// guardPlan decides about a destroy, or a replacement because of the replacing
// attributes, while it is planned.
func (r *groupResource) guardPlan(ctx context.Context, group groupRef, replacing []string, force types.Bool, read timeout, private privateState, diags *diag.Diagnostics) {
	consent := r.consents(force)
	diags.Append(private.SetKey(ctx, consentKey, fmt.Appendf(nil, `{"given":%t}`, consent))...)
	if len(r.client.settings.unknown) != 0 {
		return // it can not be looked at now, but will be before it is deleted
	}
	var s stake
	r.perform(ctx, group, "read", read, diags, func(ctx context.Context, js jetstream.JetStream) (err error) {
		s, err = appraise(ctx, js, group)
		return err
	})
	if diags.HasError() {
		return
	}
	what, replay := "Destroying", ""
	if len(replacing) != 0 {
		what, replay = fmt.Sprintf("Replacing (because of %s)", strings.Join(replacing, ", ")), s.replayed(group)
	}
	switch {
	case s.high() && !consent:
		diags.Append(refusal(what, group, s, replay, len(replacing) != 0))
	case s.high():
		diags.AddWarning("Consumer group will be destroyed while in use", fmt.Sprintf("%s %v will %s.%s", what, group, s.cost(), replay))
	case replay != "":
		diags.AddWarning("Messages will be delivered again", fmt.Sprintf("%s %v.%s", what, group, replay))
	}
}

// forcedReplacement stands where the attributes are listed that make Terraform
// replace a group, if it does so for reasons of its own.
const forcedReplacement = "-replace or replace_triggered_by"

// replaced notes the plan of a group, and tells whether it is a replacement that
// Terraform was told to make. The provider is not told; but such a group is
// planned as it is, and then once more as a new one. changed are replacements
// because of the group's own attributes, which are guarded when they are found.
func (r *groupResource) replaced(group groupRef, maxMembers types.Int64, exists, changed bool) (forced bool) {
	again := r.client.claims.planned(group, maxMembers)
	forced = again && !exists && !r.client.claims.renewed(group)
	if forced || changed {
		r.client.claims.renew(group)
	}
	return forced
}

// forgetConsent ends the consent that an earlier plan may have left behind.
func forgetConsent(ctx context.Context, private privateState) diag.Diagnostics {
	return private.SetKey(ctx, consentKey, []byte(`{"given":false}`))
}

// guardDelete decides once more, just before it is done.
func (r *groupResource) guardDelete(ctx context.Context, js jetstream.JetStream, group groupRef, force types.Bool, private privateState, diags *diag.Diagnostics) error {
	given, problems := private.GetKey(ctx, consentKey)
	diags.Append(problems...)
	if string(given) == `{"given":true}` || r.consents(force) {
		return nil
	}
	s, err := appraise(ctx, js, group)
	if err == nil && s.high() {
		diags.Append(refusal("Destroying", group, s, "", false))
	}
	return err
}

func refusal(what string, group groupRef, s stake, replay string, replacing bool) diag.Diagnostic {
	consent := "set force_destroy = true and apply that before you destroy (a destroy goes by the last applied value)"
	if replacing {
		consent = "set force_destroy = true in this same change"
	}
	return diag.NewErrorDiagnostic("Refused to destroy a consumer group in use", fmt.Sprintf(
		"%s %v would %s.%s\n\nDo one of these:\n"+
			"  - let its members process what is left and stop them, then try again;\n"+
			"  - %s;\n"+
			"  - keep the group and let Terraform forget it: a removed block with lifecycle { destroy = false }.",
		what, group, s.cost(), replay, consent))
}
