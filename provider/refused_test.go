package provider

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// badConfig is a configuration and what the user is told about it.
type badConfig struct {
	name  string
	lines []string
	says  string
	// applied: only the server can know, so it is told when it is applied.
	applied bool
}

func (w *world) refuses(kind string, cases []badConfig) {
	w.t.Helper()
	var steps []resource.TestStep
	for _, c := range cases {
		steps = append(steps, resource.TestStep{
			PreConfig:   func() { w.t.Log(c.name) },
			Config:      w.config(groupBlock(kind, c.lines)),
			PlanOnly:    !c.applied,
			ExpectError: says(c.says),
		})
	}
	resource.ParallelTest(w.t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
	// After the steps, as CheckDestroy is not called where nothing was created.
	w.must(w.untouched(nil))
}

// Prevents: input that can not work being accepted by a plan, or refused without
// naming the attribute, the reason and the way out, or leaving a bucket, a key or
// a stream behind.
func TestAccElasticGroup_badInput(t *testing.T) {
	w := newWorld(t)
	group := func(lines ...string) []string {
		return append([]string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`}, lines...)
	}
	w.refuses("pcgroups_elastic_group", []badConfig{
		{"a member of no name", group(`members = ["a", ""]`), `member: must not be empty.`, false},
		{"a member of null", group(`members = ["a", null]`), `This attribute contains a null value.`, false},
		{"partitions of null", group(`member_mappings = { a = [0, 1, 2, null], b = [3] }`), `This attribute contains a null value.`, false},
		{"a partition below zero", group(`member_mappings = { a = [-1, 0, 1, 2, 3] }`), `partition -1 of member "a" is out of range: 0 to 3.`, false},
		{"a filter of null", group(`partitioning_filters = [null]`), `This attribute contains a null value.`, false},
		{"an empty filter", group(`partitioning_filters = [{ filter = "" }]`), `partitioning_filters: a filter must not be empty.`, false},
		{"a filter twice", group(`partitioning_filters = [{ filter = "orders.*" }, { filter = "orders.*" }]`), `"orders.*" and "orders.*" overlap`, false},
		{"no time at all", group(`timeouts = { create = "-5s" }`), `timeouts.create: "-5s" must be a positive duration such as 30s or 2m.`, false},
		{"no partitions", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 0`}, `max_members: must be at least 1, as it is the number of partitions.`, false},
		{"negative partitions", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = -4`}, `max_members: must be at least 1`, false},
		{"too many partitions", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 2147483648`}, `max_members: 2147483648 is more than the server can partition by (2147483647)`, false},
		{"members twice", group(`members = ["a"]`, `member_mappings = { a = [0, 1, 2, 3] }`), `Give either members, for an even distribution of the partitions, or member_mappings`, false},
		{"a partition missing", group(`member_mappings = { a = [0, 1], b = [3] }`), `member_mappings: partition 2 belongs to no member; all 4 must be mapped.`, false},
		{"a partition repeated", group(`member_mappings = { a = [0, 1], b = [1, 2, 3] }`), `member_mappings: partition 1 is given to "a" and to "b".`, false},
		{"a partition too high", group(`member_mappings = { a = [0, 1, 2, 4] }`), `member_mappings: partition 4 of member "a" is out of range: 0 to 3.`, false},
		{"no mappings", group(`member_mappings = {}`), `member_mappings map must contain at least 1 elements`, false},
		{"a wildcard out of range", group(`partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [2] }]`), `partitioning_wildcards: 2 is out of range for "orders.*": count its * wildcards from 1 to 1.`, false},
		{"a wildcard repeated", group(`partitioning_filters = [{ filter = "orders.*.*", partitioning_wildcards = [1, 1] }]`), `partitioning_wildcards: 1 is given twice for "orders.*.*".`, false},
		{"a filter without wildcard", group(`partitioning_filters = [{ filter = "orders.new" }]`), `partitioning_filters: "orders.new" needs at least one * wildcard or must end in >.`, false},
		{"a stream with a dot", []string{`stream = "ORD.ERS"`, `name = "cg"`, `max_members = 4`}, `stream: "ORD.ERS" contains a dot; only letters, digits, '-', '_' and '=' can be used.`, false},
		{"a group with a space", []string{`stream = "ORDERS"`, `name = "c g"`, `max_members = 4`}, `name: "c g" contains a space`, false},
		{"a group with a wildcard", []string{`stream = "ORDERS"`, `name = "cg*"`, `max_members = 4`}, `name: "cg*" contains a wildcard`, false},
		{"a group without name", []string{`stream = "ORDERS"`, `name = ""`, `max_members = 4`}, `name: must not be empty.`, false},
		{"a name too long", []string{`stream = "ORDERS"`, fmt.Sprintf(`name = %q`, strings.Repeat("x", 250)), `max_members = 4`}, `the stream and group name joined by a dash is 257 bytes long, the server allows 255.`, false},
		{"a member with a dot", group(`members = ["a", "b.c"]`), `member: "b.c" contains a dot`, false},
		{"a mapped member with a space", group(`member_mappings = { "a b" = [0, 1, 2, 3] }`), `member: "a b" contains a space`, false},
		{"a filter that is no subject", group(`partitioning_filters = [{ filter = "orders..*" }]`), `"orders..*" has an empty token`, false},
		{"a negative limit", group(`max_buffered_bytes = -5`), `max_buffered_bytes: -5 is not a number of bytes; use -1 for no limit`, false},
		{"a limit of nothing", group(`max_buffered_msgs = 0`), `max_buffered_msgs: must be at least 1, or -1 for no limit.`, false},
		{"no such stream", []string{`stream = "NOPE"`, `name = "cg"`, `max_members = 4`}, `there is no stream "NOPE" in this account. Create it first`, true},
		{"filters that overlap", group(`partitioning_filters = [{ filter = "orders.>" }, { filter = "orders.*" }]`), `"orders.>" and "orders.*" overlap`, false},
	})
}

// Prevents: the same for static groups.
func TestAccStaticGroup_badInput(t *testing.T) {
	w := newWorld(t)
	group := func(lines ...string) []string {
		return append([]string{`stream = "PARTS"`, `name = "cg"`, `max_members = 4`}, lines...)
	}
	w.refuses("pcgroups_static_group", []badConfig{
		{"no partitions", []string{`stream = "PARTS"`, `name = "cg"`, `max_members = 0`, `members = ["a"]`}, `max_members: must be at least 1`, false},
		{"members twice", group(`members = ["a"]`, `member_mappings = { a = [0, 1, 2, 3] }`), `Give either members`, false},
		{"a partition missing", group(`member_mappings = { a = [0, 1, 2] }`), `partition 3 belongs to no member`, false},
		{"a partition repeated", group(`member_mappings = { a = [0, 1], b = [1, 2, 3] }`), `partition 1 is given to "a" and to "b"`, false},
		{"a member repeated", group(`members = ["a", "a"]`), `This attribute contains duplicate values of: "a"`, false},
		{"a member with a wildcard", group(`members = ["a", ">"]`), `member: ">" contains a wildcard`, false},
		{"a name with a slash", []string{`stream = "PARTS"`, `name = "c/g"`, `max_members = 4`}, `name: "c/g" contains a path separator`, false},
		{"a name too long with its member", []string{`stream = "PARTS"`, fmt.Sprintf(`name = %q`, strings.Repeat("x", 240)), `max_members = 4`, `members = ["a", "a-very-long-name"]`}, `member: the consumer name is 257 bytes long, the server allows 255.`, false},
		{"no such stream", []string{`stream = "NOPE"`, `name = "cg"`, `max_members = 4`, `members = ["a"]`}, `there is no stream "NOPE" in this account.`, true},
		{"filters that overlap", group(`filters = ["parts.*", "parts.a"]`, `members = ["a"]`), `"parts.*" and "parts.a" overlap`, false},
	})
}

// Prevents: a group that others use being overwritten, and a user who is told so
// not knowing how to take it over; a stream that happens to have the name being
// taken for the group's.
func TestAccGroups_exist(t *testing.T) {
	w := newWorld(t)
	_, err := pcgroups.CreateElastic(t.Context(), w.js, "ORDERS", "cg", 4, nil, -1, -1)
	w.must(err)
	_, err = pcgroups.CreateStatic(t.Context(), w.js, "PARTS", "cg", 4, nil, []string{"a"}, nil)
	w.must(err)
	_, err = w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS-taken", Subjects: []string{"taken"}})
	w.must(err)
	_, revision := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg")
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{
				Config:      w.elastic(`max_members = 4`, `members = ["a"]`),
				ExpectError: says(`import { to = pcgroups_elastic_group.NAME # this resource's address id = "ORDERS/cg" }`),
			},
			{
				Config:      w.static(`max_members = 4`, `members = ["a"]`),
				ExpectError: says(`import { to = pcgroups_static_group.NAME # this resource's address id = "PARTS/cg" }`),
			},
			{
				Config:      w.config(groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "taken"`, `max_members = 4`})),
				ExpectError: says(`ORDERS-taken exists and is not a work queue sourced from ORDERS with this group's partitioning; use another group name`),
			},
		},
	})
	if _, now := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg"); now != revision {
		t.Errorf("the group that was there was written: revision %d, was %d", now, revision)
	}
}

// Prevents: connection problems that look alike, that do not say what to check,
// or that show a secret.
func TestAccProvider_noConnection(t *testing.T) {
	group := groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`})
	down := natstest.Start(t)
	address := down.Addr()
	down.Shutdown()
	bare := natstest.Start(t, natstest.WithoutJetStream())
	locked := natstest.Start(t, natstest.WithUser("boss", "correct"))
	mute := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{{Username: "guest", Password: "guest", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.>"}},
		}}}
	}))
	withUser := func(to, user, password, more string) string {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		return requires + fmt.Sprintf("provider \"pcgroups\" {\n servers = [%q]\n user = %q\n password = %q\n %s\n}\n", u.Redacted(), user, password, more)
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: testProviders(t),
		Steps: []resource.TestStep{
			{
				Config:      providerConfig("nats://boss:hunter2@"+address) + group,
				ExpectError: says(`Cannot reach NATS with pcgroups_elastic_group.g`),
			},
			{
				Config:      providerConfig("nats://boss:hunter2@"+address) + group,
				ExpectError: says(`Tried nats://` + address + ` (servers in the provider block): no servers available for connection. Check that a server runs there`),
			},
			{
				Config:      providerConfig(bare.URL()) + group,
				ExpectError: says(`JetStream is not enabled`),
			},
			{
				Config:      withUser(locked.URL(), "boss", "wrong", "") + group,
				ExpectError: says(`The credentials are user and password in the provider block.`),
			},
			{
				Config:      providerConfig("nats://"+locked.Addr()) + group,
				ExpectError: says(`There were none, except what the URL holds. Set credentials_file,`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n user = \"u\"\n}\n" + group,
				ExpectError: says(`A user is given (user in the provider block), but no password. Set password, or NATS_PASSWORD`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n credentials_file = \"/nowhere/x.creds\"\n}\n" + group,
				ExpectError: says(`Connection settings can not be used with pcgroups_elastic_group.g`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n credentials_file = \"/nowhere/x.creds\"\n}\n" + group,
				ExpectError: says(`credentials_file in the provider block: open /nowhere/x.creds: no such file or directory.`),
			},
			{
				Config:      withUser(mute.URL(), "guest", "guest", `request_timeout = "200ms"`) + group,
				ExpectError: says(`a request was not answered within the provider's request_timeout. The server says: permissions violation`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n servers = [null]\n}\n" + group,
				ExpectError: says(`This attribute contains a null value.`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n token = \"\"\n}\n" + group,
				ExpectError: says(`Attribute token string length must be at least 1`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n domain = \"a.b\"\n inbox_prefix = \"a.*\"\n}\n" + group,
				ExpectError: says(`"a.b" must be one token of a subject, without dots, spaces and wildcards.`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n inbox_prefix = \"a.*\"\n max_retries = 0.5\n}\n" + group,
				ExpectError: says(`"a.*" must be tokens of a subject, separated by dots, without spaces and wildcards.`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n token = \"t\"\n user = \"u\"\n}\n" + group,
				ExpectError: says(`These attributes cannot be configured together: [user,token]`),
			},
			{
				Config:      requires + "provider \"pcgroups\" {\n servers = [\"http://nats\"]\n connect_timeout = \"5\"\n}\n" + group,
				ExpectError: says(`A server must have one of the schemes nats, tls, ws and wss, or none`),
			},
		},
	})
}
