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
		{name: "credentials from the environment", env: env{"NATS_CREDS": "/f"}, want: settings{credentialsFile: "/f"}},
		{name: "user from the environment", env: env{"NATS_USER": "u", "NATS_PASSWORD": "p"}, want: settings{user: "u", password: "p"}},
		{name: "password from the environment", block: providerModel{User: str("u")}, env: env{"NATS_USER": "other", "NATS_PASSWORD": "p", "NATS_CREDS": "/f"}, want: settings{user: "u", password: "p"}},
		{name: "token in the block wins over all", block: providerModel{Token: str("t")}, env: env{"NATS_CREDS": "/f", "NATS_USER": "u", "NATS_TOKEN": "other"}, want: settings{token: "t"}},
		{name: "two kinds in the environment", env: env{"NATS_CREDS": "/f", "NATS_TOKEN": "t"}, bad: "More than one kind of NATS credentials"},
		{name: "a password for nobody", block: providerModel{Password: str("p")}, bad: "Password without a user"},
		{name: "timeouts", block: providerModel{ConnectTimeout: str("1s"), RequestTimeout: str("250ms")}, want: settings{connectTimeout: time.Second, requestTimeout: 250 * time.Millisecond}},
	} {
		got, diags := tc.block.settings(func(name string) string { return tc.env[name] })
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
		if got.credentialsFile != tc.want.credentialsFile || got.user != tc.want.user || got.password != tc.want.password || got.token != tc.want.token {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
		if tc.want.connectTimeout != 0 && (got.connectTimeout != tc.want.connectTimeout || got.requestTimeout != tc.want.requestTimeout) {
			t.Errorf("%s: timeouts %v and %v", tc.name, got.connectTimeout, got.requestTimeout)
		}
	}
}
