package provider

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

const (
	defaultConnectTimeout = 5 * time.Second
	defaultRequestTimeout = 5 * time.Second
)

// providerModel is the provider block.
type providerModel struct {
	Servers         types.List   `tfsdk:"servers"`
	Context         types.String `tfsdk:"context"`
	CredentialsFile types.String `tfsdk:"credentials_file"`
	Credentials     types.String `tfsdk:"credentials"`
	NkeySeedFile    types.String `tfsdk:"nkey_seed_file"`
	NkeySeed        types.String `tfsdk:"nkey_seed"`
	User            types.String `tfsdk:"user"`
	Password        types.String `tfsdk:"password"`
	Token           types.String `tfsdk:"token"`
	TLS             types.Object `tfsdk:"tls"`
	Domain          types.String `tfsdk:"domain"`
	APIPrefix       types.String `tfsdk:"api_prefix"`
	InboxPrefix     types.String `tfsdk:"inbox_prefix"`
	ConnectTimeout  types.String `tfsdk:"connect_timeout"`
	RequestTimeout  types.String `tfsdk:"request_timeout"`
	MaxRetries      types.Int64  `tfsdk:"max_retries"`
	ForceDestroy    types.Bool   `tfsdk:"force_destroy"`
}

// tlsModel is the attribute tls.
type tlsModel struct {
	CAFile             types.String `tfsdk:"ca_file"`
	CAPEM              types.String `tfsdk:"ca_pem"`
	CertFile           types.String `tfsdk:"cert_file"`
	CertPEM            types.String `tfsdk:"cert_pem"`
	KeyFile            types.String `tfsdk:"key_file"`
	KeyPEM             types.String `tfsdk:"key_pem"`
	ServerName         types.String `tfsdk:"server_name"`
	HandshakeFirst     types.Bool   `tfsdk:"handshake_first"`
	InsecureSkipVerify types.Bool   `tfsdk:"insecure_skip_verify"`
}

// settings are the provider block, the environment and the context, resolved.
type settings struct {
	name    string // of the connection, as the server's monitoring shows it
	servers []string

	credentials credentials
	tls         tlsSettings
	from        origins
	domain      string
	apiPrefix   string
	inboxPrefix string

	connectTimeout time.Duration
	requestTimeout time.Duration
	maxRetries     int
	forceDestroy   bool

	// unknown are the arguments whose values are known only after apply. While
	// there is one, no connection can be made: any guess could reach, and
	// change, the wrong system.
	unknown []string
}

// settings resolves the block: an argument wins over its environment variable,
// that over the context, and credentials in the block over all others.
func (m providerModel) settings(ctx context.Context, getenv func(string) string) (settings, diag.Diagnostics) {
	var diags diag.Diagnostics
	s := settings{
		servers:        stringsOf(m.Servers),
		domain:         m.Domain.ValueString(),
		apiPrefix:      m.APIPrefix.ValueString(),
		inboxPrefix:    m.InboxPrefix.ValueString(),
		connectTimeout: parseDuration(m.ConnectTimeout, defaultConnectTimeout),
		requestTimeout: parseDuration(m.RequestTimeout, defaultRequestTimeout),
		maxRetries:     int(m.MaxRetries.ValueInt64()),
		forceDestroy:   m.ForceDestroy.ValueBool(),
		unknown:        m.unknown(),
	}
	if len(s.unknown) != 0 {
		return s, diags
	}
	var named natsContext
	if name := cmp.Or(m.Context.ValueString(), getenv("NATS_CONTEXT")); name != "" {
		var err error
		if named, err = readContext(name, getenv); err != nil {
			diags.AddAttributeError(path.Root("context"), "NATS context can not be used", sentence(err))
			return s, diags
		}
	}
	s.findServers(getenv, named)
	if s.domain == "" && s.apiPrefix == "" {
		s.domain, s.apiPrefix = named.Domain, named.APIPrefix
	}
	s.inboxPrefix = cmp.Or(s.inboxPrefix, named.InboxPrefix)

	var block tlsModel
	if !m.TLS.IsNull() {
		diags.Append(m.TLS.As(ctx, &block, basetypes.ObjectAsOptions{})...)
	}
	s.tls = block.settings(getenv, named)
	s.from.ca, s.from.cert = block.origins(getenv, named)
	diags.Append(m.authenticate(&s, getenv, named)...)
	return s, diags
}

// unknown lists the arguments that a connection depends on and that are not
// known yet.
func (m providerModel) unknown() []string {
	var names []string
	for _, a := range []struct {
		name  string
		value attr.Value
	}{
		{"servers", m.Servers}, {"context", m.Context}, {"credentials_file", m.CredentialsFile}, {"credentials", m.Credentials},
		{"nkey_seed_file", m.NkeySeedFile}, {"nkey_seed", m.NkeySeed}, {"user", m.User}, {"password", m.Password}, {"token", m.Token},
		{"tls", m.TLS}, {"domain", m.Domain}, {"api_prefix", m.APIPrefix}, {"inbox_prefix", m.InboxPrefix},
		{"connect_timeout", m.ConnectTimeout}, {"request_timeout", m.RequestTimeout}, {"max_retries", m.MaxRetries},
	} {
		if !known(a.value) {
			names = append(names, a.name)
		}
	}
	return names
}

// parseDuration reads a duration that validation has seen.
func parseDuration(v types.String, fallback time.Duration) time.Duration {
	if d, err := time.ParseDuration(v.ValueString()); err == nil {
		return d
	}
	return fallback
}
