package provider

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
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
