package provider

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go"
)

const (
	defaultConnectTimeout = 5 * time.Second
	defaultRequestTimeout = 5 * time.Second
)

// providerModel is the provider block.
type providerModel struct {
	Servers         types.List   `tfsdk:"servers"`
	CredentialsFile types.String `tfsdk:"credentials_file"`
	Credentials     types.String `tfsdk:"credentials"`
	User            types.String `tfsdk:"user"`
	Password        types.String `tfsdk:"password"`
	Token           types.String `tfsdk:"token"`
	ConnectTimeout  types.String `tfsdk:"connect_timeout"`
	RequestTimeout  types.String `tfsdk:"request_timeout"`
	ForceDestroy    types.Bool   `tfsdk:"force_destroy"`
}

// settings are the provider block and the environment, resolved.
type settings struct {
	name    string // of the connection, as the server's monitoring shows it
	servers []string

	credentialsFile string
	credentials     string
	user, password  string
	token           string

	connectTimeout time.Duration
	requestTimeout time.Duration
	forceDestroy   bool

	// unknown are the arguments whose values are known only after apply. While
	// there is one, no connection can be made: any guess could reach, and
	// change, the wrong system.
	unknown []string
}

// settings resolves the block: an argument wins over its environment variable,
// and credentials in the block over all those in the environment.
func (m providerModel) settings(getenv func(string) string) (settings, diag.Diagnostics) {
	s := settings{
		servers:        stringsOf(m.Servers),
		connectTimeout: parseDuration(m.ConnectTimeout, defaultConnectTimeout),
		requestTimeout: parseDuration(m.RequestTimeout, defaultRequestTimeout),
		forceDestroy:   m.ForceDestroy.ValueBool(),
	}
	for _, a := range []struct {
		name  string
		value attr.Value
	}{
		{"servers", m.Servers}, {"credentials_file", m.CredentialsFile}, {"credentials", m.Credentials},
		{"user", m.User}, {"password", m.Password}, {"token", m.Token},
		{"connect_timeout", m.ConnectTimeout}, {"request_timeout", m.RequestTimeout},
	} {
		if !known(a.value) {
			s.unknown = append(s.unknown, a.name)
		}
	}
	if len(s.servers) == 0 {
		s.servers = splitServers(getenv("NATS_URL"))
	}
	if len(s.servers) == 0 {
		s.servers = []string{nats.DefaultURL}
	}
	return s, m.authenticate(&s, getenv)
}

func (m providerModel) authenticate(s *settings, getenv func(string) string) diag.Diagnostics {
	var diags diag.Diagnostics
	s.credentialsFile, s.credentials, s.token = m.CredentialsFile.ValueString(), m.Credentials.ValueString(), m.Token.ValueString()
	s.user, s.password = m.User.ValueString(), m.Password.ValueString()
	if s.credentialsFile != "" || s.credentials != "" || s.token != "" || len(s.unknown) != 0 {
		return diags
	}
	if s.user != "" || s.password != "" {
		s.user, s.password = cmp.Or(s.user, getenv("NATS_USER")), cmp.Or(s.password, getenv("NATS_PASSWORD"))
	} else {
		s.credentialsFile, s.token = getenv("NATS_CREDS"), getenv("NATS_TOKEN")
		s.user, s.password = getenv("NATS_USER"), getenv("NATS_PASSWORD")
		var set []string
		for _, v := range []string{"NATS_CREDS", "NATS_USER", "NATS_TOKEN"} {
			if getenv(v) != "" {
				set = append(set, v)
			}
		}
		if len(set) > 1 {
			diags.AddError("More than one kind of NATS credentials",
				"The environment variables "+strings.Join(set, " and ")+" are set, and the provider block has no credentials of its own. "+
					"Unset all but one, or give the credentials in the provider block, which then wins.")
		}
	}
	if s.password != "" && s.user == "" {
		diags.AddAttributeError(path.Root("password"), "Password without a user",
			"A password is given, in the provider block or in NATS_PASSWORD, but no user. Set user, or NATS_USER.")
	}
	return diags
}

// secrets are the values that must not appear in a log or a message.
func (s settings) secrets() []string {
	all := []string{s.password, s.token, s.credentials}
	for _, server := range s.servers {
		_, user, _ := splitServer(server)
		_, password, _ := strings.Cut(user, ":")
		all = append(all, user, password)
	}
	return slices.DeleteFunc(all, func(v string) bool { return v == "" })
}

// redact removes secrets from a text that was made elsewhere.
func (s settings) redact(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	return text
}

// shownServers are the servers as they may be shown: without user information.
func (s settings) shownServers() string {
	shown := make([]string, len(s.servers))
	for i, server := range s.servers {
		scheme, _, host := splitServer(server)
		shown[i] = scheme + "://" + host
	}
	return strings.Join(shown, ", ")
}

// splitServer takes a server's URL apart by hand, as one that can not be parsed
// may hold a secret too.
func splitServer(server string) (scheme, user, host string) {
	scheme, host, found := strings.Cut(server, "://")
	if !found {
		scheme, host = "nats", server
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, host = host[:at], host[at+1:]
	}
	return scheme, user, host
}

func splitServers(list string) []string {
	var servers []string
	for server := range strings.SplitSeq(list, ",") {
		if server = strings.TrimSpace(server); server != "" {
			servers = append(servers, server)
		}
	}
	return servers
}

// parseDuration reads a duration that validation has seen.
func parseDuration(v types.String, fallback time.Duration) time.Duration {
	if d, err := time.ParseDuration(v.ValueString()); err == nil {
		return d
	}
	return fallback
}
