package provider

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Prevents: credentials of one place mixed with those of another; the
// environment winning over the block; a default server when one was named.
func TestSettings(t *testing.T) {
	t.Parallel()
	type env map[string]string
	str := types.StringValue
	for _, tc := range []struct {
		name  string
		block providerModel
		env   env
		want  settings
		bad   string
	}{
		{name: "nothing", want: settings{servers: []string{"nats://127.0.0.1:4222"}}},
		{name: "servers from the environment", env: env{"NATS_URL": "nats://a:1, b:2,"}, want: settings{servers: []string{"nats://a:1", "b:2"}}},
		{name: "servers in the block win", block: providerModel{Servers: stringList([]string{"nats://c"})}, env: env{"NATS_URL": "nats://a"}, want: settings{servers: []string{"nats://c"}}},
		{name: "credentials from the environment", env: env{"NATS_CREDS": "/f"}, want: settings{credentials: credentials{file: "/f"}}},
		{name: "user from the environment", env: env{"NATS_USER": "u", "NATS_PASSWORD": "p"}, want: settings{credentials: credentials{user: "u", password: "p"}}},
		{name: "password from the environment", block: providerModel{User: str("u")}, env: env{"NATS_USER": "other", "NATS_PASSWORD": "p", "NATS_CREDS": "/f"}, want: settings{credentials: credentials{user: "u", password: "p"}}},
		{name: "token in the block wins over all", block: providerModel{Token: str("t")}, env: env{"NATS_CREDS": "/f", "NATS_USER": "u", "NATS_TOKEN": "other"}, want: settings{credentials: credentials{token: "t"}}},
		{name: "two kinds in the environment", env: env{"NATS_CREDS": "/f", "NATS_TOKEN": "t"}, bad: "More than one kind of NATS credentials"},
		{name: "a password for nobody", block: providerModel{Password: str("p")}, bad: "Password without a user"},
		{name: "an nkey from the environment", env: env{"NATS_NKEY": "/n"}, want: settings{credentials: credentials{seedFile: "/n"}}},
		{name: "all from a context", block: providerModel{Context: str("testdata/whole.json")}, env: env{"HOME": "/home/u"}, want: settings{
			servers: []string{"nats://ctx:4222"}, credentials: credentials{file: "/home/u/creds"}, domain: "hub", inboxPrefix: "_INBOX_ctx",
			tls: tlsSettings{caFile: "/ca", certFile: "/cert", keyFile: "/key", handshakeFirst: true},
		}},
		{name: "the block and the environment win over a context", block: providerModel{Context: str("testdata/whole.json"), APIPrefix: str("JS.x.API"), Token: str("t")}, env: env{"NATS_URL": "nats://env", "NATS_CA": "/env"}, want: settings{
			servers: []string{"nats://env"}, credentials: credentials{token: "t"}, apiPrefix: "JS.x.API", inboxPrefix: "_INBOX_ctx",
			tls: tlsSettings{caFile: "/env", certFile: "/cert", keyFile: "/key", handshakeFirst: true},
		}},
		{name: "credentials in the environment win over a context's", block: providerModel{Context: str("testdata/whole.json")}, env: env{"NATS_TOKEN": "t", "HOME": "/home/u"}, want: settings{
			credentials: credentials{token: "t"}, domain: "hub", inboxPrefix: "_INBOX_ctx",
			tls: tlsSettings{caFile: "/ca", certFile: "/cert", keyFile: "/key", handshakeFirst: true},
		}},
		{name: "a context that is not there", env: env{"NATS_CONTEXT": "nope", "XDG_CONFIG_HOME": "testdata"}, bad: "NATS context can not be used"},
		{name: "a context by name", env: env{"NATS_CONTEXT": "named", "XDG_CONFIG_HOME": "testdata"}, want: settings{servers: []string{"nats://named:4222"}, credentials: credentials{user: "u", password: "p"}}},
		{name: "a context that can not be honoured", block: providerModel{Context: str("testdata/proxied.json")}, bad: "NATS context can not be used"},
		{name: "timeouts", block: providerModel{ConnectTimeout: str("1s"), RequestTimeout: str("250ms")}, want: settings{connectTimeout: time.Second, requestTimeout: 250 * time.Millisecond}},
	} {
		got, diags := tc.block.settings(t.Context(), func(name string) string { return tc.env[name] })
		if tc.bad != "" {
			if !diags.HasError() || diags[0].Summary() != tc.bad {
				t.Errorf("%s: %v, want %q", tc.name, diags, tc.bad)
			}
			continue
		}
		if diags.HasError() {
			t.Errorf("%s: %v", tc.name, diags)
		}
		if tc.want.servers != nil && !slices.Equal(got.servers, tc.want.servers) {
			t.Errorf("%s: servers %v", tc.name, got.servers)
		}
		if got.credentials != tc.want.credentials {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
		if got.domain != tc.want.domain || got.apiPrefix != tc.want.apiPrefix || got.inboxPrefix != tc.want.inboxPrefix || got.tls != tc.want.tls {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
		if tc.want.connectTimeout != 0 && (got.connectTimeout != tc.want.connectTimeout || got.requestTimeout != tc.want.requestTimeout) {
			t.Errorf("%s: timeouts %v and %v", tc.name, got.connectTimeout, got.requestTimeout)
		}
	}
}
