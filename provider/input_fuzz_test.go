package provider

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// FuzzImportID gives the parsers any id. What they accept must be names that can
// exist, and must come back as the same id; what they refuse must be quoted in
// the error, as Terraform does not show it.
func FuzzImportID(f *testing.F) {
	for _, id := range []string{"ORDERS/workers", "ORDERS/workers/m1", "", "/", "//", "a/", "/a", "a/b/c/d", "a b/c", "a/*", "ü/b", "\xff/\xfe", "a/b\n", strings.Repeat("a", 300) + "/b"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		stream, group, err := parseImportID(id)
		switch {
		case err == nil && formatImportID(stream, group) != id:
			t.Fatalf("%q is read as %q and %q", id, stream, group)
		case err == nil:
			c := pcgroups.StaticConsumerGroupConfig{MaxMembers: 1}
			if err := c.ValidateNew(stream, group); err != nil {
				t.Fatalf("%q: %v", id, err)
			}
		case !strings.Contains(err.Error(), "is not of the form stream/group"):
			t.Fatalf("%q: %v", id, err)
		}
		stream, group, member, err := parseMemberID(id)
		if err == nil && stream+"/"+group+"/"+member != id {
			t.Fatalf("%q is read as %q, %q and %q", id, stream, group, member)
		}
		if err == nil && strings.ContainsAny(stream+group+member, "./*> \n") {
			t.Fatalf("%q, %q, %q can not exist", stream, group, member)
		}
	})
}

// FuzzValidators gives each validator of a text any value. None may panic, and an
// error must not hold what could be a password.
func FuzzValidators(f *testing.F) {
	for _, value := range []string{"nats://u:p@host:4222", "host", "host:port", "://", "%", "tls://[::1]:1", "http://x", "a,b", "5s", "-5s", "1e9h", "a.b", "a..b", "", "\x00", "\xff"} {
		f.Add(value)
	}
	all := map[string]validator.String{
		"server": serverURL{}, "duration": duration{}, "prefix": subjectPart{tokens: true}, "domain": subjectPart{}, "stream": validName{stream: true}, "group": validName{},
	}
	f.Fuzz(func(t *testing.T, value string) {
		for name, v := range all {
			req := validator.StringRequest{Path: path.Root("x"), ConfigValue: types.StringValue(value)}
			var resp validator.StringResponse
			v.ValidateString(t.Context(), req, &resp)
			for _, d := range resp.Diagnostics {
				if d.Summary() == "" || d.Detail() == "" {
					t.Fatalf("%s of %q: %v", name, value, d)
				}
				if _, secret, _ := splitServer(value); name == "server" && len(secret) > 12 && strings.Contains(d.Detail(), secret) {
					t.Fatalf("the message holds %q: %s", secret, d.Detail())
				}
			}
			if name == "duration" && !resp.Diagnostics.HasError() && parseDuration(req.ConfigValue, -1) <= 0 {
				t.Fatalf("%q is accepted and read as another", value)
			}
		}
	})
}

// FuzzSettings gives the provider block and its environment any values. It must
// not panic, must tell no secret in what it shows, and must refuse what it can not
// use before it connects.
func FuzzSettings(f *testing.F) {
	f.Add("nats://127.0.0.1:1", "u", "hunter2-secret", "", "", "", "JS.x.API.", "_IN.")
	f.Add("hunter2-secret@h", "", "", "tok", "-----BEGIN NATS USER JWT-----\nx\n", "SUAM", "", "")
	f.Add("", "", "", "", "not creds", "", "", "")
	f.Add("", "0", "", "5s", "", "", "", "")
	f.Add("tls://a:b:c@d:e,x", "\xff", "\x00", " ", "\n", "SU", ".", ">")
	f.Fuzz(func(t *testing.T, servers, user, password, token, creds, pem, prefix, inbox string) {
		text := func(s string) types.String {
			if s == "" {
				return types.StringNull()
			}
			return types.StringValue(s)
		}
		span := func(s string) types.String { // as it is after validation
			var resp validator.StringResponse
			duration{}.ValidateString(t.Context(), validator.StringRequest{ConfigValue: text(s)}, &resp)
			if resp.Diagnostics.HasError() {
				return types.StringNull()
			}
			return text(s)
		}
		m := providerModel{
			Servers: stringList(splitServers(servers)), User: text(user), Password: text(password), Token: text(token), Credentials: text(creds),
			NkeySeed: text(pem), APIPrefix: text(prefix), InboxPrefix: text(inbox), ConnectTimeout: span(user), RequestTimeout: span(token),
		}
		env := map[string]string{"NATS_URL": servers, "NATS_USER": user, "NATS_PASSWORD": password}
		for _, getenv := range []func(string) string{func(string) string { return "" }, func(k string) string { return env[k] }} {
			s, diags := m.settings(t.Context(), getenv)
			if diags.HasError() {
				continue
			}
			if s.connectTimeout <= 0 || s.requestTimeout <= 0 {
				t.Fatalf("timeouts %v and %v", s.connectTimeout, s.requestTimeout)
			}
			s.tls.certPEM, s.tls.keyPEM, s.tls.caPEM = pem, creds, pem
			_, err := s.options()
			shown := s.shownServers()
			if err != nil {
				shown += s.redact(err.Error())
			}
			// Only what can not be in the text by chance.
			if len(password) >= 12 && !strings.Contains("(hidden)", password) && strings.Contains(shown, password) && !strings.Contains(servers, password) {
				t.Fatalf("%q is shown: %s", password, shown)
			}
		}
	})
}

// FuzzValues carries any configuration to Terraform's values and back.
func FuzzValues(f *testing.F) {
	f.Add(uint(4), "m1", "m2", 3, int64(-1))
	f.Add(uint(1)<<31-1, "m1", "", -1, int64(1)<<62)
	f.Add(^uint(0), "\xff", "a.b", 1<<31, int64(-9))
	f.Fuzz(func(t *testing.T, n uint, a, b string, p int, limit int64) {
		if a == b {
			b = base64.RawURLEncoding.EncodeToString([]byte(a)) + "x" // a map's keys differ
		}
		mappings := []pcgroups.MemberMapping{{Member: a, Partitions: []int{p}}, {Member: b, Partitions: []int{}}}
		back := mappingsOf(mappingsMap(mappings))
		if len(back) != 2 {
			t.Fatalf("%v came back as %v", mappings, back)
		}
		filters := []pcgroups.PartitioningFilter{{Filter: a, PartitioningWildcards: []int{p}}, {Filter: b}}
		if got := filtersOf(filtersList(filters)); len(got) != 2 || got[0].Filter != a || got[1].Filter != b {
			t.Fatalf("%v came back as %v", filters, got)
		}
		_ = limitValue(limit)
		_ = assignmentsValue(n, membership{members: []string{a, b}})
		_ = assignmentsValue(n, membership{mappings: mappings})
		if c := partitionCount(types.Int64Value(limit)); limit < 0 && c != 0 {
			t.Fatalf("%d partitions are %d", limit, c)
		}
	})
}
