package pcgroups_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// everyCall is each exported function that talks to the server, by the words its
// errors use for it, asked about the member m1 of ORDERS/cg.
var everyCall = map[string]func(ctx context.Context, js jetstream.JetStream) error{
	"create static group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.CreateStatic(ctx, js, "ORDERS", "cg", 4, nil, []string{"m1"}, nil)
		return err
	},
	"create elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.CreateElastic(ctx, js, "ORDERS", "cg", 4, byKey, -1, -1)
		return err
	},
	"get static group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, "ORDERS", "cg")
		return err
	},
	"get elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, "ORDERS", "cg")
		return err
	},
	"list static groups of": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.ListStaticConsumerGroups(ctx, js, "ORDERS")
		return err
	},
	"list elastic groups of": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.ListElasticConsumerGroups(ctx, js, "ORDERS")
		return err
	},
	"list active members of static group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.ListStaticActiveMembers(ctx, js, "ORDERS", "cg")
		return err
	},
	"list active members of elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.ListElasticActiveMembers(ctx, js, "ORDERS", "cg")
		return err
	},
	"look for member": func(ctx context.Context, js jetstream.JetStream) error {
		_, _, err := pcgroups.ElasticIsInMembershipAndActive(ctx, js, "ORDERS", "cg", "m1")
		return err
	},
	"step down in static group": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.StaticMemberStepDown(ctx, js, "ORDERS", "cg", "m1")
	},
	"step down in elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.ElasticMemberStepDown(ctx, js, "ORDERS", "cg", "m1")
	},
	"add members to": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.AddMembers(ctx, js, "ORDERS", "cg", []string{"m1"})
		return err
	},
	"drop members from": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.DeleteMembers(ctx, js, "ORDERS", "cg", []string{"m1"})
		return err
	},
	"set members of": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.SetMembers(ctx, js, "ORDERS", "cg", []string{"m1"})
		return err
	},
	"set member mappings of": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.SetMemberMappings(ctx, js, "ORDERS", "cg", []pcgroups.MemberMapping{all("m1")})
	},
	"delete member mappings of": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.DeleteMemberMappings(ctx, js, "ORDERS", "cg")
	},
	"clear membership of": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.ClearMembership(ctx, js, "ORDERS", "cg")
	},
	"consume static group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.StaticConsume(ctx, js, "ORDERS", "cg", "m1", ignore, strict(0))
		return err
	},
	"consume elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		_, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "cg", "m1", ignore, strict(0))
		return err
	},
	"delete static group": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.DeleteStatic(ctx, js, "ORDERS", "cg")
	},
	"delete elastic group": func(ctx context.Context, js jetstream.JetStream) error {
		return pcgroups.DeleteElastic(ctx, js, "ORDERS", "cg")
	},
}

// want is what an error is to be: around these causes, with this advice.
type want struct {
	advice string
	causes []error
}

// explained fails unless err also tells, in one line, what was being done to
// which group.
func explained(t *testing.T, op string, err error, w want) {
	t.Helper()
	refused(t, err, w.causes...)
	var e *pcgroups.Error
	errors.As(err, &e)
	on, group := "ORDERS/cg", "cg"
	if strings.HasSuffix(op, " groups of") {
		on, group = "ORDERS", ""
	}
	if e.Op != op || e.Stream != "ORDERS" || e.Group != group {
		t.Errorf("%s: the error is %+v", op, e)
	}
	text := err.Error()
	if !strings.HasPrefix(text, "pcgroups: "+op+" "+on) || !strings.Contains(text, w.advice) || strings.ContainsAny(text, "\n\t") {
		t.Errorf("%s: %q is not readable, or does not say %q", op, text, w.advice)
	}
}

// asked makes every call but some and compares their errors; nil is success.
func asked(t *testing.T, js jetstream.JetStream, timeout time.Duration, usual *want, but map[string]*want) {
	t.Helper()
	var ops []string
	for op := range everyCall {
		ops = append(ops, op)
	}
	errs := atOnce(len(ops), func(i int) error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return everyCall[ops[i]](ctx, js)
	})
	for i, op := range ops {
		w, special := but[op]
		if !special {
			w = usual
		}
		if w != nil {
			explained(t, op, errs[i], *w)
		} else if errs[i] != nil {
			t.Errorf("%s: %v", op, errs[i])
		}
	}
}

// An error is read by somebody who did not write the program, at a bad time. One
// that says "not found" and not what, or only "no responders", costs them an hour,
// and one without its cause leaves the program no choice but to give up.
func TestAdminErrors(t *testing.T) {
	t.Parallel()
	t.Run("another account", func(t *testing.T) {
		t.Parallel()
		js := withAccounts(t).JetStream(as("with"))
		noStream := &want{"create the stream first, or check its name and the account", []error{pcgroups.ErrStreamNotFound, jetstream.ErrStreamNotFound}}
		noQueue := &want{"work-queue stream ORDERS-cg is missing: check the names, or create the group again", noStream.causes}
		asked(t, js, patience, &want{"create the group first", []error{pcgroups.ErrGroupNotFound, jetstream.ErrBucketNotFound}}, map[string]*want{
			"create static group": noStream, "create elastic group": noStream,
			"step down in static group": noStream, "step down in elastic group": noQueue,
			"list static groups of": nil, "list elastic groups of": nil, "delete static group": nil, "delete elastic group": nil,
		})
	})
	t.Run("account without JetStream", func(t *testing.T) {
		t.Parallel()
		asked(t, withAccounts(t).JetStream(as("without")), patience,
			&want{"enable it on the server and for the account, or check the domain", []error{pcgroups.ErrJetStreamDisabled, jetstream.ErrJetStreamNotEnabledForAccount}}, nil)
	})
	t.Run("server without JetStream", func(t *testing.T) {
		t.Parallel()
		srv := natstest.Start(t, natstest.WithoutJetStream())
		asked(t, srv.JetStream(), patience, &want{"on the server and for the account", []error{pcgroups.ErrJetStreamDisabled}}, nil)
	})
	t.Run("unknown domain", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		js, err := jetstream.NewWithDomain(a.js.Conn(), "hub")
		must(t, err)
		asked(t, js, patience, &want{"the domain", []error{pcgroups.ErrJetStreamDisabled}}, nil)
	})
	t.Run("closed connection", func(t *testing.T) {
		t.Parallel()
		js := natstest.Start(t).JetStream()
		js.Conn().Close()
		asked(t, js, patience, &want{"connect again", []error{pcgroups.ErrConnectionClosed, nats.ErrConnectionClosed}}, nil)
	})
	t.Run("no permission", func(t *testing.T) {
		t.Parallel()
		asked(t, withAccounts(t).JetStream(as("mute")), 200*time.Millisecond,
			&want{"check the connection, and that the user may use the JetStream API", []error{context.DeadlineExceeded}}, nil)
	})
	t.Run("no group of that name", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("other")
		a.staticGroup("other")
		unknown := want{"check the names of stream and group", []error{pcgroups.ErrGroupNotFound, jetstream.ErrKeyNotFound}}
		for op, call := range everyCall {
			switch op {
			case "create static group", "create elastic group", "list static groups of", "list elastic groups of", "delete static group", "delete elastic group":
			case "step down in static group":
				explained(t, op, call(a.ctx(), a.js), want{"no running instance, or its name is misspelt", []error{pcgroups.ErrMemberNotInGroup, jetstream.ErrConsumerNotFound}})
			case "step down in elastic group":
				explained(t, op, call(a.ctx(), a.js), want{"ORDERS-cg is missing", []error{pcgroups.ErrStreamNotFound}})
			default:
				explained(t, op, call(a.ctx(), a.js), unknown)
			}
		}
	})
	t.Run("caller gone", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for op, call := range everyCall {
			explained(t, op, call(ctx, a.js), want{"", []error{context.Canceled}})
		}
	})
	t.Run("work queue gone", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("cg", "m1")
		must(t, a.js.DeleteStream(a.ctx(), "ORDERS-cg"))
		for _, op := range []string{"list active members of elastic group", "look for member", "step down in elastic group", "consume elastic group"} {
			explained(t, op, everyCall[op](a.ctx(), a.js), want{"create the group again", []error{pcgroups.ErrStreamNotFound, jetstream.ErrStreamNotFound}})
		}
	})
}

// withAccounts runs a server with an account that has JetStream and one that has
// not. Of the first one's users, mute may not use it, and shy may use it, but ask
// neither for the account's limits nor a stream's leader for a message.
func withAccounts(t *testing.T) *natstest.Server {
	t.Helper()
	deny := func(subjects ...string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Deny: subjects}}
	}
	srv := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		with, without := server.NewAccount("WITH"), server.NewAccount("WITHOUT")
		o.Accounts = []*server.Account{with, without}
		o.Users = []*server.User{
			{Username: "with", Password: "x", Account: with},
			{Username: "without", Password: "x", Account: without},
			{Username: "mute", Password: "x", Account: with, Permissions: deny("$JS.API.>")},
			{Username: "shy", Password: "x", Account: with, Permissions: deny("$JS.API.INFO", "$JS.API.STREAM.MSG.GET.>")},
		}
	}))
	account, err := srv.Raw().LookupAccount("WITH")
	must(t, err)
	must(t, account.EnableJetStream(nil, nil))
	return srv
}

func as(user string) nats.Option { return nats.UserInfo(user, "x") }

// A user of few permissions may well be kept from questions that the oracle does
// not ask. If the answer that never comes were waited for until the caller's time
// is up, such a user could neither create a group nor join one.
func TestAdminFewPermissions(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	srv := withAccounts(t)
	a := &admin{&fixture{t: t, srv: srv, js: srv.JetStream(as("with"))}}
	a.stream("ORDERS", 4)
	a.staticGroup("first", "m1") // the client library asks when it creates a bucket
	a.js = srv.JetStream(as("shy"))
	_, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "workers", 4, nil, []string{"m1"}, nil)
	must(t, err)
	a.join(pcgroups.StaticConsume, "m1", ignore, strict(0))
}
