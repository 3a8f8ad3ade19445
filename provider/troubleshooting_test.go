package provider

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// quoted is what the troubleshooting guide has under the headings of the part
// about Terraform: messages, or nothing.
func quoted(t *testing.T) map[string]string {
	t.Helper()
	_, part, found := strings.Cut(read(t, "../templates/guides/troubleshooting.md"), "\n## Terraform\n")
	part, _, ended := strings.Cut(part, "\n## ")
	if !found || !ended {
		t.Fatal("the guide has no part about Terraform")
	}
	out := map[string]string{}
	for _, section := range strings.Split(part, "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		_, message, _ := strings.Cut(text, "```text\n")
		message, _, _ = strings.Cut(message, "```")
		out[heading] = message
	}
	return out
}

// Prevents: a guide whose messages are not the provider's, so that nobody who
// meets one finds it there. Each that the guide quotes is provoked.
func TestAccTroubleshooting(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "there", 4, nil, -1, -1)
	w.must(err)
	_, err = w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS-taken", Subjects: []string{"taken"}})
	w.must(err)
	down := natstest.Start(t)
	gone := down.Addr()
	down.Shutdown()
	bare := natstest.Start(t, natstest.WithoutJetStream())
	mute := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{{Username: "guest", Password: "guest", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.>"}},
		}}}
	}))
	locked := natstest.Start(t, natstest.WithUser("boss", "correct"))
	group := func(stream, name string) string {
		return groupBlock("pcgroups_elastic_group", []string{fmt.Sprintf("stream = %q", stream), fmt.Sprintf("name = %q", name), `max_members = 4`})
	}
	to := func(address, more string) string {
		return requires + fmt.Sprintf("provider \"pcgroups\" {\n servers = [\"nats://%s\"]\n %s\n}\n", address, more)
	}

	messages := quoted(t)
	var steps []resource.TestStep
	refuse := func(heading, address string, step resource.TestStep) {
		t.Helper()
		message := messages[heading]
		delete(messages, heading)
		if message == "" {
			t.Fatalf("the guide quotes nothing under %q", heading)
		}
		step.PreConfig = func() { t.Log(heading) }
		step.ExpectError = says(strings.ReplaceAll(message, "127.0.0.1:4222", address))
		steps = append(steps, step)
	}
	for heading, config := range map[string]string{
		"Stream not found":                      w.config(group("NOPE", "cg")),
		"Consumer group exists already":         w.config(group("ORDERS", "there")),
		"The work-queue stream's name is taken": w.config(group("ORDERS", "taken")),
		"Consumer group not found":              w.config("resource \"pcgroups_elastic_member\" \"m\" {\n stream = \"ORDERS\"\n group = \"nope\"\n member = \"a\"\n}\n"),
		"JetStream is not enabled":              to(bare.Addr(), "") + group("ORDERS", "cg"),
		"No answer from JetStream":              to(mute.Addr(), "user = \"guest\"\n password = \"guest\"\n request_timeout = \"200ms\"") + group("ORDERS", "cg"),
		"Connection settings can not be used":   to(w.Addr(), `credentials_file = "/nowhere/x.creds"`) + group("ORDERS", "cg"),
		"User without a password":               to(w.Addr(), `user = "u"`) + group("ORDERS", "cg"),
	} {
		refuse(heading, "", resource.TestStep{Config: config})
	}
	refuse("Cannot reach NATS", gone, resource.TestStep{Config: to(gone, "") + group("ORDERS", "cg")})
	refuse("NATS refused the credentials", locked.Addr(), resource.TestStep{Config: to(locked.Addr(), "user = \"boss\"\n password = \"wrong\"") + group("ORDERS", "cg")})
	whole := w.config(group("ORDERS", "cg"))
	steps = append(steps, resource.TestStep{Config: whole})
	refuse("Refused to destroy a consumer group in use", "", resource.TestStep{Config: whole, Destroy: true})
	refused := &steps[len(steps)-1]
	refused.PreConfig = func() {
		for range 2 {
			_, err := w.js.Publish(ctx, "orders.alice", nil)
			w.must(err)
		}
		natstest.Eventually(t, 20*time.Second, func() error {
			d, err := pcgroups.DescribeElastic(ctx, w.js, "ORDERS", "cg")
			if err == nil && d.BufferedMsgs != 2 {
				err = fmt.Errorf("%d messages were copied", d.BufferedMsgs)
			}
			return err
		})
	}
	steps = append(steps, resource.TestStep{
		PreConfig: func() {
			s, err := w.js.Stream(ctx, "ORDERS-cg")
			w.must(err)
			w.must(s.Purge(ctx))
		},
		Config: whole, Destroy: true,
	})
	for heading, message := range messages {
		if message != "" {
			t.Errorf("what the guide quotes under %q is not provoked here", heading)
		}
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
}

// Prevents: a heading of the guide by which nobody finds it, as the provider says
// something else.
func TestTroubleshooting_headings(t *testing.T) {
	said := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				said[text] = true
			}
			return true
		})
	}
	for heading := range quoted(t) {
		if !said[heading] {
			t.Errorf("the guide has a heading %q, and the provider does not say that", heading)
		}
	}
}
