package pcgroups_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// refusals is what a server may refuse a member, one at a time, and whether a
// join fails for it. Where it does not there is another way, or it is noticed
// later.
var refusals = []struct {
	subject string
	joins   bool
}{
	{"$JS.API.INFO", true},
	{"$JS.API.STREAM.INFO.>", false},
	{"$JS.API.STREAM.MSG.GET.>", true}, // asked of any server then
	{"$JS.API.DIRECT.GET.>", true},     // asked of the leader
	{"$JS.API.CONSUMER.CREATE.>", false},
	{"$JS.API.CONSUMER.INFO.>", true},
	{"$JS.API.CONSUMER.DELETE.>", true},
	{"$JS.API.CONSUMER.MSG.NEXT.>", true},
	{"$JS.API.CONSUMER.UNPIN.>", true},
	{"$JS.ACK.>", true},
	{"$KV.>", true}, // a member only reads
	{"$JS.API.>", false},
	{"_INBOX.>", false}, // the answers
}

// refusing runs a server with one user for each refusal. Until refuse is called
// they may do everything.
type refusing struct {
	*fixture
	options   func() *server.Options
	published int
}

func newRefusing(t *testing.T, refuse bool) *refusing {
	t.Helper()
	r := &refusing{}
	users := func(refuse bool) []*server.User {
		list := []*server.User{{Username: "all", Password: "x"}}
		for i, c := range refusals {
			u := &server.User{Username: fmt.Sprint("u", i), Password: "x"}
			switch deny := (&server.SubjectPermission{Deny: []string{c.subject}}); {
			case refuse && c.subject == "_INBOX.>":
				u.Permissions = &server.Permissions{Subscribe: deny}
			case refuse:
				u.Permissions = &server.Permissions{Publish: deny}
			}
			list = append(list, u)
		}
		return list
	}
	var options *server.Options
	r.fixture = newFixture(t, natstest.WithUser("all", "x"), natstest.WithConfig(func(o *server.Options) {
		o.Users = users(refuse)
		options = o
	}))
	r.options = func() *server.Options {
		o := options.Clone()
		refuse = !refuse
		o.Users = users(refuse)
		return o
	}
	return r
}

// turn makes the server refuse, or allow again, what it is about, as a reload of
// its configuration does, under connections that stay.
func (r *refusing) turn() {
	r.t.Helper()
	must(r.t, r.srv.Raw().ReloadOptions(r.options()))
}

func (r *refusing) user(i int, opts ...nats.Option) jetstream.JetStream {
	r.t.Helper()
	return r.srv.JetStream(append(opts, nats.UserInfo(fmt.Sprint("u", i), "x"), nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))...)
}

// groups creates an elastic and a static group on ORDERS.
func (r *refusing) groups(members ...string) {
	r.t.Helper()
	n := len(members) // so that each has a partition
	r.stream("ORDERS", n)
	_, err := pcgroups.CreateStatic(r.ctx(), r.js, "ORDERS", "fixed", uint(n), nil, members, nil)
	must(r.t, err)
	_, err = pcgroups.CreateElastic(r.ctx(), r.js, "ORDERS", "workers", uint(n), nil, -1, -1, pcgroups.WithMembers(members...))
	must(r.t, err)
}

// Prevents: a join that hangs beyond its context when something is refused, or
// fails with an error that does not tell what.
func TestJoinRefused(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	r := newRefusing(t, true)
	var members []string
	for i := range refusals {
		members = append(members, fmt.Sprint("m", 10+i))
	}
	r.groups(members...)
	for i, c := range refusals {
		for kind, join := range map[string]func(context.Context, jetstream.JetStream) (pcgroups.Session, error){
			"elastic": func(ctx context.Context, js jetstream.JetStream) (pcgroups.Session, error) {
				return pcgroups.ElasticConsume(ctx, js, "ORDERS", "workers", members[i], ignore, strict(2*time.Second))
			},
			"static": func(ctx context.Context, js jetstream.JetStream) (pcgroups.Session, error) {
				return pcgroups.StaticConsume(ctx, js, "ORDERS", "fixed", members[i], ignore, strict(2*time.Second))
			},
		} {
			t.Run(kind+" "+c.subject, func(t *testing.T) {
				t.Parallel()
				patient := patience
				if !c.joins {
					patient = 3 * time.Second
				}
				ctx, cancel := context.WithTimeout(context.Background(), patient)
				defer cancel()
				s, err := join(ctx, r.user(i))
				if deadline, _ := ctx.Deadline(); time.Since(deadline) > patience/2 {
					t.Errorf("it returned %v after its context", time.Since(deadline))
				}
				if err == nil {
					s.Stop()
					<-s.Closed()
				}
				if (err == nil) != c.joins {
					t.Fatalf("joined %t, want %t: %v", err == nil, c.joins, err)
				}
				if err != nil {
					refused(t, err, context.DeadlineExceeded, nats.ErrPermissionViolation)
					if want, _, _ := strings.Cut(c.subject, ".>"); !strings.Contains(err.Error(), want) {
						t.Errorf("it does not tell that %s is refused: %v", c.subject, err)
					}
				}
			})
		}
	}
}

// asksAtMost is how much a member may send in the window, keeping its pin, its
// pulls and its looks at the server included: it is some ten.
const (
	window     = 3 * time.Second
	asksAtMost = 120
)

// Prevents: a running session that spins, dies without a word or can not be
// stopped when something is refused that was allowed before, and one that does not
// go on when it is allowed again.
func TestRunningSessionRefused(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	r := newRefusing(t, false)
	var members []string
	for i := range refusals {
		members = append(members, fmt.Sprint("m", 10+i))
	}
	r.groups(members...)
	type running struct {
		what    string
		nc      *nats.Conn
		session pcgroups.Session
		got     natstest.Recorder[string]
		sent    uint64
	}
	var all []*running
	for i, c := range refusals {
		for _, kind := range []string{"elastic", "static"} {
			js := r.user(i)
			x := &running{what: kind + " without " + c.subject, nc: js.Conn()}
			handle := pcgroups.AutoAck(func(_ context.Context, m *pcgroups.Msg) error {
				x.got.Add(string(m.Data()))
				return nil
			})
			many := strict(2 * time.Second)
			many.MaxAckPending = 1000
			var err error
			if kind == "elastic" {
				x.session, err = pcgroups.ElasticConsume(r.ctx(), js, "ORDERS", "workers", members[i], handle, many, pcgroups.WithConcurrency(2))
			} else {
				many.FilterSubjects = nil
				x.session, err = pcgroups.StaticConsume(r.ctx(), js, "ORDERS", "fixed", members[i], handle, many)
			}
			must(t, err)
			t.Cleanup(func() { x.session.Stop(); <-x.session.Closed() })
			all = append(all, x)
		}
	}
	r.turn()
	for _, x := range all {
		x.sent = x.nc.Stats().OutMsgs
	}
	r.publishAll(100)
	spins := poll.While(window, func() bool {
		return !slices.ContainsFunc(all, func(x *running) bool { return x.nc.Stats().OutMsgs-x.sent > asksAtMost+uint64(x.got.Len()) })
	})
	for _, x := range all {
		n := x.nc.Stats().OutMsgs - x.sent
		t.Logf("%s: %d messages sent in %v, %d handled, %d recovered, error %v", x.what, n, window, x.got.Len(), x.session.Status().Recovered, x.session.Err())
		if n > asksAtMost+uint64(x.got.Len()) {
			t.Errorf("%s: %d messages sent in %v", x.what, n, window)
		}
		if err := x.session.Err(); err != nil && !strings.Contains(err.Error(), "pcgroups: consume") {
			t.Errorf("%s ended with %v", x.what, err)
		}
	}
	if !spins && !t.Failed() {
		t.Error("one of them spins")
	}
	r.turn()
	for _, x := range all {
		if strings.HasSuffix(x.what, "_INBOX.>") {
			must(t, x.nc.ForceReconnect()) // the server has dropped its subscriptions
		}
	}
	r.publishAll(100)
	natstest.Eventually(t, 3*patience, func() error {
		var missing []string
		for _, kind := range []string{"elastic", "static"} {
			got := map[string]bool{}
			for _, x := range all {
				for _, text := range x.got.All() {
					got[text] = got[text] || strings.HasPrefix(x.what, kind)
				}
			}
			for n := range r.published {
				if !got[fmt.Sprint(n)] {
					missing = append(missing, fmt.Sprint(kind, " ", n))
				}
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d messages were not handled after all: %v", len(missing), missing)
		}
		return nil
	})
	for _, x := range all {
		if x.session.Err() != nil {
			continue
		}
		x.session.Stop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := x.session.Wait(ctx); err != nil {
			t.Errorf("%s, stopped: %v", x.what, err)
		}
		cancel()
	}
}

// publishAll publishes to both groups.
func (r *refusing) publishAll(n int) {
	r.t.Helper()
	for range n {
		_, err := r.js.Publish(r.ctx(), fmt.Sprint("orders.k", r.published), []byte(fmt.Sprint(r.published)))
		must(r.t, err)
		r.published++
	}
}
