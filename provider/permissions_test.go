package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// documentedPermissions are those of the guide.
func documentedPermissions(t *testing.T) []string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "../templates/guides/permissions.md"), "\npublish:\n")
	text, _, ended := strings.Cut(text, "\nsubscribe:\n")
	if !found || !ended {
		t.Fatal("the guide is not as this test expects it")
	}
	var publish []string
	for line := range strings.Lines(text) {
		publish = append(publish, strings.Fields(line)[0])
	}
	return publish
}

// matches tells whether a permission covers a subject.
func matches(permission, subject string) bool {
	p, s := strings.Split(permission, "."), strings.Split(subject, ".")
	for i := range p {
		if p[i] == ">" {
			return len(s) > i
		}
		if i >= len(s) || p[i] != "*" && p[i] != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

// Prevents: a user with the documented permissions who can not do his work, and
// a documented permission that nobody needs.
func TestAccProvider_permissions(t *testing.T) {
	publish := documentedPermissions(t)
	planning := slices.DeleteFunc(slices.Clone(publish), func(p string) bool { // as the guide says below its list
		return p != "$JS.API.INFO" && p != "$JS.API.STREAM.INFO.*" && p != "$JS.API.CONSUMER.LIST.*" && !strings.HasPrefix(p, "$JS.API.STREAM.MSG.GET.")
	})
	w := newWorld(t, natstest.WithUser("admin", "secret"), natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "secret"},
			{Username: "tf", Password: "secret", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: []string{"_TF.>"}},
			}},
			{Username: "planner", Password: "secret", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: planning}}},
		}
	}))
	ctx := t.Context()
	// The answers to the restricted user tell his requests from all others.
	captured := natstest.Capture(t, w.Connect())
	provider := configuredFor(t, "nats://tf:secret@"+w.Addr(), "inbox_prefix=_TF", "request_timeout=2s")
	config := func(body string) string {
		return requires + fmt.Sprintf("provider \"pcgroups\" {\n  servers = [%q]\n  user = \"tf\"\n  password = \"secret\"\n  inbox_prefix = \"_TF\"\n  request_timeout = \"2s\"\n}\n", "nats://"+w.Addr()) + body
	}
	planner := func(body string) string {
		return requires + fmt.Sprintf("provider \"pcgroups\" {\n  servers = [%q]\n  user = \"planner\"\n  password = \"secret\"\n  request_timeout = \"2s\"\n}\n", "nats://"+w.Addr()) + body
	}
	groups := func(members string) string {
		return groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`, keyed, `members = ` + members, `force_destroy = true`}) +
			groupBlock("pcgroups_static_group", []string{`stream = "PARTS"`, `name = "cg"`, `max_members = 4`, `members = ["m1"]`, `force_destroy = true`}) + `
resource "pcgroups_elastic_group" "free" {
  stream      = "ORDERS"
  name        = "free"
  max_members = 4
}
resource "pcgroups_elastic_member" "m" {
  stream = pcgroups_elastic_group.free.stream
  group  = pcgroups_elastic_group.free.name
  member = "x"
}
`
	}
	const data = `
data "pcgroups_groups" "all" {}
data "pcgroups_elastic_group" "g" {
  stream = "ORDERS"
  name   = "cg"
}
data "pcgroups_group_status" "s" {
  stream = "PARTS"
  group  = "cg"
  kind   = "static"
}
`
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config(groups(`["m1"]`))},
			{
				PreConfig: func() {
					s, err := w.js.Stream(ctx, "ORDERS-cg")
					w.must(err)
					sc := s.CachedInfo().Config
					sc.MaxMsgs = 7
					_, err = w.js.UpdateStream(ctx, sc)
					w.must(err)
					session, err := pcgroups.StaticConsume(ctx, w.js, "PARTS", "cg", "m1", func(m jetstream.Msg) { _ = m.Ack() }, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
					w.must(err)
					w.must(session.WaitForConsuming(ctx, true))
					session.Stop()
					w.must(session.Wait(ctx))
				},
				Config: config(groups(`["m1", "m2"]`) + data),
				Check: func(*terraform.State) error {
					if _, problems := invoke(t, provider, map[string]string{"stream": "PARTS", "group": "cg", "kind": "static", "member": "m1"}); len(problems) != 0 {
						t.Errorf("step down: %v", problems)
					}
					if got := listed(t, provider, "pcgroups_static_group", nil, 0, true); len(got) != 1 {
						t.Errorf("listed %v", got)
					}
					return nil
				},
			},
			{Config: planner(groups(`["m1", "m2"]`)), PlanOnly: true},
			{Config: planner(strings.ReplaceAll(groups(`["m1", "m2"]`), "max_members = 4", "max_members = 5")), PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: config(groups(`["m1", "m2"]`)), PlanOnly: true},
		},
	})
	for _, line := range w.Log() {
		// What is refused may have been got in another way, after a while.
		if strings.Contains(line, "Violation") {
			t.Errorf("refused: %s", line)
		}
	}
	used := make(map[string]bool)
	for _, r := range captured.Requests("") {
		if !strings.HasPrefix(r.Reply, "_TF.") {
			continue
		}
		covered := false
		for _, p := range publish {
			if matches(p, r.Subject) {
				used[p], covered = true, true
			}
		}
		if !covered {
			t.Errorf("%s is needed and not documented", r.Subject)
		}
	}
	for _, p := range publish {
		if !used[p] && !strings.HasPrefix(p, "$JS.FC.") { // flow control, of long lists only
			t.Errorf("%s is documented and not needed", p)
		}
	}
}
