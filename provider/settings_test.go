package provider

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
		{name: "a user without a password", block: providerModel{User: str("u")}, bad: "User without a password"},
		{name: "a user without a password in the environment", env: env{"NATS_USER": "u"}, bad: "User without a password"},
		{name: "a user who has no password", block: providerModel{User: str("u"), Password: str("")}, env: env{"NATS_PASSWORD": "p"}, want: settings{credentials: credentials{user: "u"}}},
		{name: "a user of the environment who has no password", block: providerModel{Password: str("")}, env: env{"NATS_USER": "u", "NATS_PASSWORD": "p"}, want: settings{credentials: credentials{user: "u"}}},
		{name: "no password for nobody", block: providerModel{Password: str("")}, bad: "Password without a user"},
		{name: "a password for nobody in the environment", env: env{"NATS_PASSWORD": "p"}, bad: "Password without a user"},
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
			if !diags.HasError() || diags[0].Summary() != tc.bad || !regexp.MustCompile(`^["A-Z].*\.$`).MatchString(diags[0].Detail()) {
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

// Prevents: somebody looking for the wrong setting in the provider block while it
// is in the environment, or in a context.
func TestSettings_origins(t *testing.T) {
	t.Parallel()
	type env map[string]string
	str := types.StringValue
	const none = "the default, as neither servers nor NATS_URL nor a context names any"
	for _, tc := range []struct {
		name  string
		block providerModel
		env   env
		want  origins
	}{
		{"nothing", providerModel{}, nil, origins{servers: none}},
		{"the block", providerModel{Servers: stringList([]string{"nats://a"}), Token: str("t")}, env{"NATS_URL": "nats://b", "NATS_USER": "u"},
			origins{servers: "servers in the provider block", credentials: "token in the provider block"}},
		{"the environment", providerModel{}, env{"NATS_URL": "nats://b", "NATS_CREDS": "/f", "NATS_CA": "/ca", "NATS_CERT": "/c", "NATS_KEY": "/k"},
			origins{"NATS_URL in the environment", "NATS_CREDS in the environment", "NATS_CA in the environment", "NATS_CERT and NATS_KEY in the environment"}},
		{"both", providerModel{User: str("u")}, env{"NATS_PASSWORD": "p"}, origins{servers: none, credentials: "user in the provider block, NATS_PASSWORD in the environment"}},
		{"a user of the environment", providerModel{Password: str("p")}, env{"NATS_USER": "u", "NATS_PASSWORD": "other"}, origins{servers: none, credentials: "password in the provider block, NATS_USER in the environment"}},
		{"a context", providerModel{Context: str("testdata/whole.json")}, nil,
			origins{`the context "testdata/whole.json"`, `the context "testdata/whole.json"`, `the context "testdata/whole.json"`, `the context "testdata/whole.json"`}},
	} {
		got, diags := tc.block.settings(t.Context(), func(name string) string { return tc.env[name] })
		if diags.HasError() || got.from != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", tc.name, got.from, diags, tc.want)
		}
	}
}

// Prevents: a file or a text that can not be used being reported as the server's
// fault, without a hint where it was named, or with its secret.
func TestSettings_unusable(t *testing.T) {
	t.Parallel()
	half := filepath.Join(t.TempDir(), "half.creds")
	if err := os.WriteFile(half, []byte("SUhunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]map[string]string{
		"NATS_CREDS in the environment: open /nowhere/a.creds: no such file or directory":    {"NATS_CREDS": "/nowhere/a.creds"},
		"NATS_CREDS in the environment: " + half + " is not a credentials file: it holds no": {"NATS_CREDS": half},
		"NATS_NKEY in the environment: ":                                              {"NATS_NKEY": "/nowhere/a.nk"},
		"NATS_CA in the environment: open /nowhere/ca.pem: no such file or directory": {"NATS_CA": "/nowhere/ca.pem"},
		"NATS_CERT in the environment: a client certificate needs its key":            {"NATS_CERT": half},
	} {
		s, diags := providerModel{}.settings(t.Context(), func(name string) string { return env[name] })
		if diags.HasError() {
			t.Fatal(diags)
		}
		_, _, err := s.connect(nil)
		var unusable *settingError
		if !errors.As(err, &unusable) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", env, err)
		}
		d := explain(groupRef{}, "read", err, "")
		if d.Summary() != "Connection settings can not be used" || !strings.HasPrefix(d.Detail(), want) {
			t.Errorf("%v: told %v", env, d)
		}
	}
}
