package provider

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// maxNameLen is the server's limit for the names of streams and consumers.
const maxNameLen = 255

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

// name accepts the names of streams, groups and members that can work. The
// library refuses the others too, but only when it is asked to write.
type name struct {
	what string
	// key: the name becomes part of a bucket's key, which is narrower than what
	// a consumer's name may hold.
	key bool
}

func (n name) Description(context.Context) string {
	if n.key {
		return "may hold letters, digits, '-', '_' and '='"
	}
	return "must not hold dots, wildcards, path separators, spaces or unprintable characters"
}
func (n name) MarkdownDescription(c context.Context) string { return n.Description(c) }

func (n name) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if why := n.fault(req.ConfigValue.ValueString()); why != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+n.what+" name", why)
	}
}

// fault tells why a name can not be used, or nothing.
func (n name) fault(value string) string {
	if value == "" {
		return "A " + n.what + " name must not be empty."
	}
	if len(value) > maxNameLen {
		return fmt.Sprintf("The name is %d bytes long, the server allows %d.", len(value), maxNameLen)
	}
	for _, r := range value {
		what := ""
		switch {
		case r == '.':
			what = "a dot"
		case r == '*', r == '>':
			what = "a wildcard"
		case r == '/', r == '\\':
			what = "a path separator"
		case unicode.IsSpace(r):
			what = "a space"
		case r == unicode.ReplacementChar, !unicode.IsPrint(r):
			what = "an unprintable character"
		case n.key && !keyRune(r):
			what = fmt.Sprintf("the character %q", r)
		}
		if what != "" {
			return fmt.Sprintf("%q contains %s. Use letters, digits, '-' and '_'.", value, what)
		}
	}
	return ""
}

func keyRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=", r)
}

// limit accepts the bound of a buffer.
type limit struct{ unit string }

func (l limit) Description(context.Context) string {
	return "must be at least 1, or -1 for no limit"
}
func (l limit) MarkdownDescription(c context.Context) string { return l.Description(c) }

func (l limit) ValidateInt64(ctx context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if v := req.ConfigValue.ValueInt64(); v != -1 && v < 1 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid limit", fmt.Sprintf("%d is not a number of %s: it %s.", v, l.unit, l.Description(ctx)))
	}
}
