package pcgroups_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// The users of the guide, by the names they have there.
const (
	elasticMember = "elastic-member"
	staticMember  = "static-member"
	administrator = "administrator"
)

// documented reads the permissions of one of the guide's users out of its
// snippet, as a server does whose configuration it was copied into.
func documented(t *testing.T, user string) *server.Permissions {
	t.Helper()
	guide, err := os.ReadFile("../templates/guides/permissions.md")
	must(t, err)
	for _, block := range strings.Split(string(guide), "```") {
		text, isConfig := strings.CutPrefix(block, "text\nauthorization {")
		if !isConfig || !strings.Contains(text, "user: "+user+"\n") {
			continue
		}
		file := filepath.Join(t.TempDir(), "nats.conf")
		must(t, os.WriteFile(file, []byte("authorization {"+text), 0o600))
		o, err := server.ProcessConfigFile(file)
		must(t, err)
		if len(o.Users) != 1 || o.Users[0].Username != user {
			t.Fatalf("the guide's snippet for %s makes %+v", user, o.Users)
		}
		return o.Users[0].Permissions
	}
	t.Fatalf("the guide has no snippet for %s", user)
	return nil
}

// inbox is where the user gets its answers: the one thing it may subscribe to.
func inbox(t *testing.T, p *server.Permissions) string {
	t.Helper()
	prefix, ok := strings.CutSuffix(p.Subscribe.Allow[0], ".>")
	if !ok || len(p.Subscribe.Allow) != 1 {
		t.Fatalf("the guide allows to subscribe to %v", p.Subscribe.Allow)
	}
	return prefix
}

// without is a set with one permission less, to publish or to subscribe.
func without(p *server.Permissions, permission string) *server.Permissions {
	drop := func(list []string) *server.SubjectPermission {
		rest := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == permission })
		if len(rest) == 0 {
			return &server.SubjectPermission{Deny: []string{">"}} // an empty list allows everything
		}
		return &server.SubjectPermission{Allow: rest}
	}
	return &server.Permissions{Publish: drop(p.Publish.Allow), Subscribe: drop(p.Subscribe.Allow)}
}

// withUser runs a server with the usual all-powerful connection and one user who
// has these permissions.
func withUser(p *server.Permissions) []natstest.Option {
	return []natstest.Option{natstest.WithUser("all", "x"), natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{{Username: "all", Password: "x"}, {Username: "some", Password: "x", Permissions: p}}
	})}
}

// violations are the refusals that a connection was told of.
type violations struct {
	natstest.Recorder[string]
}

func (v *violations) handler() nats.Option {
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			v.Add(err.Error())
		}
	})
}

// of tells whether something that a permission covers was refused.
func (v *violations) of(permission string) bool { return refusedOf(v.All(), permission) }

func refusedOf(texts []string, permission string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		_, rest, _ := strings.Cut(text, `"`)
		subject, _, _ := strings.Cut(rest, `"`)
		return covers(permission, subject)
	})
}

// covers tells whether a permission covers a subject.
func covers(permission, subject string) bool {
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

// restricted is a client of the user that withUser makes.
func (f *fixture) restricted(prefix string, seen *violations) jetstream.JetStream {
	f.t.Helper()
	return f.srv.JetStream(nats.UserInfo("some", "x"), nats.CustomInboxPrefix(prefix), seen.handler())
}
