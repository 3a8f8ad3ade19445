package pcgroups_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// administration is the life of two groups, in the words of everyCall. Where it
// says "join" a member comes, who is none of the administrator's concern.
var administration = []string{
	"create static group", "create elastic group", "check stream", "get static group", "get elastic group",
	"list static groups of", "list elastic groups of", "add members to", "join",
	"list active members of static group", "list active members of elastic group", "look for member",
	"describe static group", "describe elastic group", "step down in static group", "step down in elastic group",
	"drop members from", "set members of", "set member mappings of", "delete member mappings of", "clear membership of",
	"delete static group", "delete elastic group",
}

// administer does it as a user with these permissions, until something fails. A
// call that got no answer although nothing was refused is made again: the machine
// is busy.
func administer(t *testing.T, p *server.Permissions, prefix string, patience time.Duration, seen *violations) (*admin, []natstest.Request, error) {
	t.Helper()
	a := newBareAdmin(t, withUser(p)...)
	a.stream("ORDERS", 4)
	captured := natstest.Capture(t, a.srv.Connect())
	js := a.restricted(prefix, seen)
	for i := 0; i < len(administration); i++ {
		op := administration[i]
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		var err error
		switch op {
		case "check stream":
			err = pcgroups.CheckStaticStream(ctx, js, "ORDERS", 4, nil)
		case "describe static group":
			_, err = pcgroups.DescribeStatic(ctx, js, "ORDERS", "cg")
		case "describe elastic group":
			_, err = pcgroups.DescribeElastic(ctx, js, "ORDERS", "cg")
		case "join":
			for _, join := range []consumeFunc{pcgroups.StaticConsume, pcgroups.ElasticConsume} {
				s, err := join(a.ctx(), a.js, "ORDERS", "cg", "m1", ignore, strict(0))
				must(t, err)
				t.Cleanup(func() { s.Stop(); <-s.Closed() })
				must(t, s.WaitForConsuming(a.ctx(), true))
			}
			a.settle() // what has not been sourced yet would be looked into, which takes more permissions
		default:
			err = everyCall[op](ctx, js)
		}
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && seen.Len() == 0 {
			i--
		} else if err != nil {
			return a, nil, err
		}
	}
	captured.Sync(a.js.Conn())
	return a, captured.Requests(""), nil
}

// Prevents: an administrator with exactly the documented permissions who can not
// do something, or waits for what is refused.
func TestAdministratorPermissions(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	p := documented(t, administrator)
	var seen violations
	a, requests, err := administer(t, p, inbox(t, p), patience, &seen)
	must(t, err)
	sameStrings(t, "refused", seen.All())
	sameStrings(t, "consumers that are left", a.consumers("ORDERS"))
	for _, permission := range p.Publish.Allow {
		used := slices.ContainsFunc(requests, func(r natstest.Request) bool {
			return strings.HasPrefix(r.Reply, inbox(t, p)) && covers(permission, r.Subject)
		})
		if !used && !strings.HasPrefix(permission, "$JS.FC.") { // flow control, of long lists only
			t.Errorf("%s is not used", permission)
		}
	}
}

// Prevents: a documented permission that is more than an administrator needs, and
// an error that leaves the user to find out which one is missing.
func TestAdministratorPermissionsAreAllNeeded(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	p := documented(t, administrator)
	for _, permission := range slices.Concat(p.Publish.Allow, p.Subscribe.Allow) {
		if strings.HasPrefix(permission, "$JS.FC.") {
			continue
		}
		t.Run("without "+permission, func(t *testing.T) {
			t.Parallel()
			var seen violations
			_, _, err := administer(t, without(p, permission), inbox(t, p), 2*time.Second, &seen)
			if err == nil || !seen.of(permission) || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
				t.Fatalf("%v; refused: %q", err, seen.All())
			}
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "Permissions Violation for ") {
				t.Errorf("the error does not tell what was refused: %v", err)
			}
		})
	}
}

// Prevents: a member's user who can change the group, or read another one's
// messages: the documented permissions are for one group.
func TestMemberMayNotAdministrate(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for kind, user := range memberUsers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := documented(t, user)
			var seen violations
			l := newLife(t, kind, false, p, inbox(t, p), &seen)
			_, err := l.fixture.js.CreateStream(l.ctx(), jetstream.StreamConfig{Name: "SECRETS", Subjects: []string{"secrets.>"}})
			must(t, err)
			before := l.config(kind)
			nc := l.js.Conn()
			for _, subject := range []string{
				"$KV.elastic-consumer-groups.ORDERS.workers", "$KV.static-consumer-groups.ORDERS.workers",
				"$JS.API.STREAM.DELETE.ORDERS-workers", "$JS.API.STREAM.DELETE.ORDERS", "$JS.API.STREAM.PURGE.ORDERS",
				"$JS.API.STREAM.UPDATE.ORDERS", "$JS.API.STREAM.MSG.DELETE.ORDERS", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
				"$JS.API.STREAM.MSG.GET.SECRETS", "$JS.API.DIRECT.GET.SECRETS", "$JS.API.CONSUMER.CREATE.SECRETS.x", "$JS.API.CONSUMER.MSG.NEXT.SECRETS.x",
				"secrets.a",
			} {
				if m, err := nc.Request(subject, nil, 50*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
					t.Errorf("%s was answered: %v, %v", subject, m, err)
				}
				seen.Wait(t, patience, func(texts []string) bool { return refusedOf(texts, subject) })
			}
			if after := l.config(kind); after != before {
				t.Errorf("the group is now %s", after)
			}
		})
	}
}

// config is the stored configuration of the group.
func (l *memberLife) config(kind string) string {
	l.t.Helper()
	bucket := pcgroups.ElasticBucket
	if kind == "static" {
		bucket = pcgroups.StaticBucket
	}
	kv, err := l.fixture.js.KeyValue(l.ctx(), bucket)
	must(l.t, err)
	e, err := kv.Get(l.ctx(), "ORDERS.workers")
	must(l.t, err)
	return string(e.Value())
}
