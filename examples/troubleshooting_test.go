//go:build unix

package examples

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func troubleshooting(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../templates/guides/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quotes are the messages that parts of the guide quote and no test has met yet.
type quotes struct {
	t    *testing.T
	left map[string]bool
}

func newQuotes(t *testing.T, headings ...string) *quotes {
	t.Helper()
	q := &quotes{t: t, left: map[string]bool{}}
	for _, heading := range headings {
		_, part, found := strings.Cut(troubleshooting(t), "\n## "+heading+"\n")
		if !found {
			t.Fatalf("the guide has no part %q", heading)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		for _, block := range strings.Split(part, "\n```text\n")[1:] {
			message, _, _ := strings.Cut(block, "```")
			q.left[oneLine(message)] = true
		}
	}
	return q
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// met checks that the guide quotes the message, or what follows the name of a
// program that begins it.
func (q *quotes) met(message string) {
	q.t.Helper()
	message = oneLine(message)
	for _, text := range []string{message, message[strings.Index(message, ": ")+len(": "):]} {
		if q.left[text] {
			delete(q.left, text)
			return
		}
	}
	q.t.Errorf("the guide does not quote\n%s\nit has\n%s", message, strings.Join(keys(q.left), "\n"))
}

func (q *quotes) error(_ any, err error) {
	q.t.Helper()
	if err == nil {
		q.t.Error("no error")
		return
	}
	q.met(err.Error())
}

// says runs a program that must give up, and takes the last line of what it says.
func (q *quotes) says(env []string, name string, args ...string) {
	q.t.Helper()
	p := start(q.t, env, name, args...)
	if code := p.exit(); code == 0 {
		q.t.Errorf("%s %v succeeds", name, args)
	}
	lines := p.log.All()
	q.met(lines[len(lines)-1])
}

func (q *quotes) allMet() {
	q.t.Helper()
	for _, text := range keys(q.left) {
		q.t.Errorf("the guide quotes what is not provoked here:\n%s", text)
	}
}

func keys(m map[string]bool) (out []string) {
	for key := range m {
		out = append(out, key)
	}
	return out
}

// Prevents: a guide whose messages are not those of the programs and the library,
// so that nobody who meets one finds it there. Each that it quotes is provoked.
func TestTroubleshooting_programs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := newQuotes(t, "Go programs")
	at := func(s *natstest.Server) []string { return []string{"NATS_URL=" + s.URL()} }

	down := natstest.Start(t)
	down.Shutdown()
	q.says(at(down), "quickstart", "worker-1")
	locked := natstest.Start(t, natstest.WithUser("boss", "correct"))
	q.says([]string{"NATS_URL=nats://" + locked.Addr()}, "quickstart", "worker-1")
	q.says(at(natstest.Start(t, natstest.WithoutJetStream())), "quickstart", "worker-1")

	s := natstest.Start(t)
	js := s.JetStream()
	q.says(at(s), "quickstart", "worker-1")
	stream := func(name string, subjects ...string) {
		t.Helper()
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: subjects}); err != nil {
			t.Fatal(err)
		}
	}
	stream("ORDERS", "other.*")
	q.says(nil, "elastic", "-server", s.URL(), "m1")
	if err := js.DeleteStream(ctx, "ORDERS"); err != nil {
		t.Fatal(err)
	}
	stream("ORDERS", "orders.*")
	create := func(stream, group string, partitions uint, members ...string) error {
		_, err := pcgroups.CreateElastic(ctx, js, stream, group, partitions, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers(members...))
		return err
	}
	if err := create("ORDERS", "billing", 8, "m1"); err != nil {
		t.Fatal(err)
	}
	q.says(at(s), "quickstart", "worker-1")
	q.error(nil, create("ORDERS", "billing", 16))
	q.error(nil, create("NOPE", "billing", 8))

	if err := create("ORDERS", "orders-workers", 8); err != nil {
		t.Fatal(err)
	}
	waiting := start(t, at(s), "quickstart", "worker-9")
	q.met(waiting.out.Wait(t, patience, func(lines []string) bool { return len(lines) != 0 })[0])
	line := waiting.logs("member waits")
	q.met(line[strings.Index(line, "consumer group member"):])
	waiting.end()
	worker := start(t, at(s), "worker", "-member", "worker-9", "-listen", "127.0.0.1:0")
	_, line, _ = strings.Cut(worker.logs("waiting"), `"msg":"`)
	line, _, _ = strings.Cut(line, `","member"`)
	q.met(line)
	worker.end()

	stream("PAYMENTS", "payments.*")
	q.says(nil, "static", "-server", s.URL(), "alice")
	if err := js.DeleteStream(ctx, "PAYMENTS"); err != nil {
		t.Fatal(err)
	}
	q.says(nil, "static", "-server", s.URL(), "zoe")

	session, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
		pcgroups.HandlerFunc(func(context.Context, *pcgroups.Msg) error { return errors.New("the database is gone") }),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "orders.alice", nil); err != nil {
		t.Fatal(err)
	}
	q.error(nil, session.Wait(ctx))

	mute := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{{Username: "guest", Password: "guest", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.>"}},
		}}}
	}), natstest.WithUser("guest", "guest"))
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	q.error(pcgroups.GetElasticConsumerGroupConfig(short, mute.JetStream(), "ORDERS", "billing"))
	q.allMet()
}

// Prevents: the same for what is said before anything runs.
func TestTroubleshooting_before(t *testing.T) {
	q := newQuotes(t, "Before anything runs")
	s := natstest.Start(t)
	p := start(t, []string{"NATS_URL=" + s.URL()}, "worker", "-member", "m", "-listen", s.Addr())
	if code := p.exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	_, line, _ := strings.Cut(p.logs("the worker failed"), `"error":"`)
	q.met(strings.Replace(strings.TrimSuffix(line, `"}`), s.Addr(), "127.0.0.1:8080", 1))

	t.Setenv(tfcli.PathVariable, "/nowhere/terraform")
	q.error(tfcli.Find(t.Context(), io.Discard))
	t.Setenv(tfcli.PathVariable, "")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	q.error(tfcli.Find(t.Context(), io.Discard))
	q.allMet()
}

// Prevents: a new error of the library, or a new text of one, that the guide does
// not have.
func TestTroubleshooting_sentinels(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "../pcgroups/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	guide := troubleshooting(t)
	n := 0
	ast.Inspect(tree, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		call := spec.Values[0].(*ast.CallExpr)
		text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if row := "| `" + spec.Names[0].Name + "` | " + text + " |"; !strings.Contains(guide, row) {
			t.Errorf("the guide has no row that begins with %s", row)
		}
		return false
	})
	if n < 16 {
		t.Errorf("%d sentinels were found", n)
	}
}
