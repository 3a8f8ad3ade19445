package provider

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// serverURL accepts what names one NATS server.
type serverURL struct{}

func (serverURL) Description(context.Context) string             { return "must be the URL of a NATS server" }
func (v serverURL) MarkdownDescription(c context.Context) string { return v.Description(c) }

func (serverURL) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	// The value stays out of the message: it may hold a password.
	value := strings.TrimSpace(req.ConfigValue.ValueString())
	bad := func(why string) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid server URL", "A server "+why+", such as nats://nats-1:4222.")
	}
	if strings.Contains(value, ",") {
		bad("must be one URL: give several as several elements of the list")
		return
	}
	if !strings.Contains(value, "://") {
		value = "nats://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		bad("must be a URL or a host, with or without a port")
		return
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		bad("must have one of the schemes nats, tls, ws and wss, or none")
	}
}

// duration accepts positive durations.
type duration struct{}

func (duration) Description(context.Context) string {
	return "must be a positive duration such as 30s or 2m"
}
func (v duration) MarkdownDescription(c context.Context) string { return v.Description(c) }

func (v duration) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d <= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration", fmt.Sprintf("%q %s.", req.ConfigValue.ValueString(), v.Description(ctx)))
	}
}

// subjectPart accepts what can be part of a subject: tokens without spaces and
// wildcards, or one token only.
type subjectPart struct{ tokens bool }

func (v subjectPart) Description(context.Context) string {
	if v.tokens {
		return "must be tokens of a subject, separated by dots, without spaces and wildcards"
	}
	return "must be one token of a subject, without dots, spaces and wildcards"
}
func (v subjectPart) MarkdownDescription(c context.Context) string { return v.Description(c) }

func (v subjectPart) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueString()
	tokens := strings.Split(strings.TrimSuffix(value, "."), ".")
	if strings.ContainsAny(value, " \t\r\n*>") || slices.Contains(tokens, "") || !v.tokens && (len(tokens) > 1 || strings.HasSuffix(value, ".")) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid subject", fmt.Sprintf("%q %s.", value, v.Description(ctx)))
	}
}

// validName accepts what can be the name of a stream, or of a group. Resources
// check their names together; this is for what only reads.
type validName struct{ stream bool }

func (validName) Description(context.Context) string             { return "must be a name that can exist" }
func (v validName) MarkdownDescription(c context.Context) string { return v.Description(c) }

func (v validName) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	stream, group := stand, req.ConfigValue.ValueString()
	if v.stream {
		stream, group = group, stand
	}
	err := (&pcgroups.StaticConsumerGroupConfig{MaxMembers: 1}).ValidateNew(stream, group)
	var problem *pcgroups.ConfigError
	if errors.As(err, &problem) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid name", fmt.Sprintf("%s: %s.", req.Path, problem.Reason))
	}
}

var (
	streamName = []validator.String{validName{stream: true}}
	groupName  = []validator.String{validName{}}
)

// checkTimeouts refuses times in which nothing can be done.
func checkTimeouts(v types.Object, diags *diag.Diagnostics) {
	for name, value := range v.Attributes() {
		text, ok := value.(types.String)
		if !ok || text.IsNull() || text.IsUnknown() {
			continue
		}
		if d, err := time.ParseDuration(text.ValueString()); err == nil && d <= 0 { // what can not be read is refused already
			diags.AddAttributeError(path.Root("timeouts").AtName(name), "Invalid duration", fmt.Sprintf("timeouts.%s: %q must be a positive duration such as 30s or 2m.", name, text.ValueString()))
		}
	}
}
