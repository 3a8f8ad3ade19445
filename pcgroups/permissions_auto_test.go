package pcgroups_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// documentedBeside reads the permissions of the guide's list that follows some
// words.
func documentedBeside(t *testing.T, words string) (list []string) {
	t.Helper()
	guide, err := os.ReadFile("../templates/guides/permissions.md")
	must(t, err)
	_, text, found := strings.Cut(string(guide), words)
	if !found {
		t.Fatalf("the guide does not say %q", words)
	}
	_, text, _ = strings.Cut(text, "```text\n")
	text, _, _ = strings.Cut(text, "```")
	for line := range strings.Lines(text) {
		list = append(list, strings.Split(line, `"`)[1])
	}
	return list
}

// Prevents: a member that manages its own membership and can not join, leave or
// evict with exactly the documented permissions, or one of them without a use.
func TestAutoMemberPermissions(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	p := documented(t, elasticMember)
	extra := documentedBeside(t, "With `WithAutoMembership`")
	p = &server.Permissions{Publish: &server.SubjectPermission{Allow: slices.Concat(p.Publish.Allow, extra)}, Subscribe: p.Subscribe}
	var seen violations
	f := newFixture(t, withUser(p)...)
	f.elastic(2, "ghost")
	captured := natstest.Capture(t, f.srv.Connect())
	js := f.restricted(inbox(t, p), &seen)
	c := strict(time.Second)
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", f.handler("m1", 0), c,
		pcgroups.WithAutoMembership(3*time.Second, func(string) bool { return true }))
	must(t, err)
	t.Cleanup(func() { s.Stop(); <-s.Closed() })
	members := func() []string {
		c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), f.js, "ORDERS", "workers")
		must(t, err)
		return c.Members
	}
	natstest.Eventually(t, patience, func() error {
		if got := members(); !slices.Equal(got, []string{"m1"}) {
			return errors.New("the members are " + strings.Join(got, ", "))
		}
		return nil
	})
	f.publish(4, 2)
	f.allHandled(8)
	s.Stop()
	must(t, waitDone(t, s))
	if got := members(); len(got) != 0 {
		t.Errorf("members %v are left", got)
	}
	if _, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("its consumer: %v", err)
	}
	sameStrings(t, "refused", seen.All())
	captured.Sync(f.js.Conn())
	for _, permission := range extra {
		if !slices.ContainsFunc(captured.Requests(""), func(r natstest.Request) bool {
			return strings.HasPrefix(r.Reply, inbox(t, p)) && covers(permission, r.Subject)
		}) {
			t.Errorf("%s is not used", permission)
		}
	}
}
