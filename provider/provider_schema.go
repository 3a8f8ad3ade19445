package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/providervalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Schema describes the provider block.
func (p *Provider) Schema(_ context.Context, _ fwprovider.SchemaRequest, resp *fwprovider.SchemaResponse) {
	// An empty text is not the same as none: what is looked up and not found must
	// not end with the credentials, or the servers, of somebody else.
	some := stringvalidator.LengthAtLeast(1)
	text := func(text string, also ...validator.String) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: text, Optional: true, Validators: append(also, some)}
	}
	secret := func(text string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: text, Optional: true, Sensitive: true, Validators: []validator.String{some}}
	}
	span := func(text string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: text, Optional: true, Validators: []validator.String{duration{}}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages partitioned consumer groups on NATS JetStream. " +
			"Every setting is taken from this block, else from the environment variable named below, else from the nats CLI's `context`. " +
			"An argument that is not to be set is left out, or null. Give at most one kind of credentials: `credentials_file`, `credentials`, `nkey_seed_file`, `nkey_seed`, `user` with `password`, or `token`; " +
			"if this block has one, the environment and the context are not asked for credentials. Every argument may be known only after apply, or be ephemeral. " +
			"One connection is opened when it is first needed, and shared.",
		Attributes: map[string]schema.Attribute{
			"servers": schema.ListAttribute{
				MarkdownDescription: "URLs of the NATS servers, such as `nats://nats-1:4222` or `tls://nats.example.com`. They are tried until one answers. " +
					"Default: the environment variable `NATS_URL` (separated by commas), else the context's, else `nats://127.0.0.1:4222`.",
				ElementType: types.StringType,
				Optional:    true,
				Validators:  []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues(), listvalidator.ValueStringsAre(serverURL{})},
			},
			"context":          text("Name of a context of the nats CLI, or path of its file (`.json`), whose settings are used where neither this block nor the environment has one. Default: the environment variable `NATS_CONTEXT`, else none: the CLI's selected context is not used."),
			"credentials_file": text("Path of a credentials file (`.creds`) with a user's JWT and seed; `~` is the home directory. Default: the environment variable `NATS_CREDS`."),
			"credentials":      secret("Text of a credentials file, for when it comes from a secret store."),
			"nkey_seed_file":   text("Path of a file with a user's NKey seed; `~` is the home directory. Default: the environment variable `NATS_NKEY`."),
			"nkey_seed":        secret("A user's NKey seed (`SU…`)."),
			"user":             text("User name. Default: the environment variable `NATS_USER`."),
			"password":         schema.StringAttribute{MarkdownDescription: "Password of `user`, `\"\"` for one who has none. Default: the environment variable `NATS_PASSWORD`.", Optional: true, Sensitive: true},
			"token":            secret("Authentication token. Default: the environment variable `NATS_TOKEN`."),
			"tls": schema.SingleNestedAttribute{
				MarkdownDescription: "TLS settings. A server that asks for TLS gets it without these too.",
				Optional:            true,
				Attributes: map[string]schema.Attribute{
					"ca_file":              text("Path of a file with the certificates (PEM) that the server's must be signed by. Default: the environment variable `NATS_CA`, else the system's."),
					"ca_pem":               text("Text of a `ca_file`, for when it comes from elsewhere."),
					"cert_file":            text("Path of a file with the client's certificate (PEM). Default: the environment variable `NATS_CERT`."),
					"cert_pem":             text("Text of a `cert_file`, for when it comes from elsewhere."),
					"key_file":             text("Path of a file with the client's key (PEM). Default: the environment variable `NATS_KEY`."),
					"key_pem":              secret("Text of a `key_file`, for when it comes from a secret store."),
					"server_name":          text("Name that the server's certificate must have, if it is not the host's."),
					"handshake_first":      schema.BoolAttribute{MarkdownDescription: "Whether to start with the TLS handshake, before the server says anything. The server must be configured for that. Default: `false`.", Optional: true},
					"insecure_skip_verify": schema.BoolAttribute{MarkdownDescription: "Whether to accept any certificate. Never use it but for tests. Default: `false`.", Optional: true},
				},
			},
			"domain":          text("JetStream domain, for JetStream behind a leaf node. Conflicts with `api_prefix`. Default: the context's, else the account's own.", subjectPart{}),
			"api_prefix":      text("Prefix of the JetStream API's subjects, for JetStream imported from another account, such as `JS.other.API`. Default: the context's, else `$JS.API`.", subjectPart{tokens: true}),
			"inbox_prefix":    text("Prefix of the subjects on which answers are received, for users who may not subscribe to `_INBOX.>`. Default: the context's, else `_INBOX`.", subjectPart{tokens: true}),
			"connect_timeout": span("How long one server may take to accept the connection, as a duration such as `10s`. Default: `5s`."),
			"request_timeout": span("How long one JetStream request may take, as a duration such as `10s`. Default: `5s`. The `timeouts` of a resource bound its whole operation."),
			"max_retries": schema.Int64Attribute{
				CustomType:          wholeNumber{},
				MarkdownDescription: "How often to try again, a second later each time, when no server can be reached. Refused credentials are not tried again. Default: `0`.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.Between(0, 1000)},
			},
			"force_destroy": schema.BoolAttribute{
				MarkdownDescription: "The `force_destroy` of every group that does not set its own: whether a group may be destroyed or replaced although that loses messages or progress, or stops members that are connected. Default: `false`.",
				Optional:            true,
			},
		},
	}
}

// ConfigValidators refuses more than one kind of credentials, and what else can
// be given in two ways given in both.
func (p *Provider) ConfigValidators(context.Context) []fwprovider.ConfigValidator {
	conflict := func(a, b path.Expression) fwprovider.ConfigValidator { return providervalidator.Conflicting(a, b) }
	tls := func(name string) path.Expression { return path.MatchRoot("tls").AtName(name) }
	out := []fwprovider.ConfigValidator{
		conflict(path.MatchRoot("domain"), path.MatchRoot("api_prefix")),
		conflict(tls("ca_file"), tls("ca_pem")), conflict(tls("cert_file"), tls("cert_pem")), conflict(tls("key_file"), tls("key_pem")),
	}
	kinds := [][]string{{"credentials_file"}, {"credentials"}, {"nkey_seed_file"}, {"nkey_seed"}, {"user", "password"}, {"token"}}
	for i, kind := range kinds {
		for _, other := range kinds[i+1:] {
			for _, a := range kind {
				for _, b := range other {
					out = append(out, conflict(path.MatchRoot(a), path.MatchRoot(b)))
				}
			}
		}
	}
	return out
}
