package pcgroups_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// goner is a user to whom the server can not deliver a message, although there is
// interest: for the server that is what a client is whose connection breaks at that
// moment. (The server looks at what is denied only if a subscription with a wildcard
// overlaps with any of it, hence the box.)
const goner = `
authorization { users = [
	{ user: all, password: all }
	{ user: goner, password: goner, permissions: { subscribe: { deny: ["goner.box", "*.orders.*"] } } }
] }
no_auth_user: all
`

// Prevents a member that stands still for good, and an instance that can not hand
// over: a server before 2.14.6 that fails to deliver a message for the first time,
// and has nobody else to deliver it to yet, ignores all acknowledgements of it from
// then on (nats-server #8511). A connection that breaks does that in one of some
// twenty takeovers; here it is certain.
func TestServerDeafToAcknowledgements(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for _, version := range []string{"2.11.17", "2.12.15"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f, srv := deafFixture(t, version)
			told := make(chan error, 100)
			f.elastic(4, "m1")
			s := f.member("m1", 0, strict(time.Second), pcgroups.WithEvents(pcgroups.Events{Recovered: func(err error) { told <- err }}))
			f.publish(1, 1)
			f.allHandled(1)

			f.pinGoner(srv)
			f.publish(4, 5)
			f.allHandled(21)
			natstest.Eventually(t, patience, func() error {
				c, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
				if err != nil {
					return err
				}
				if i := c.CachedInfo(); i.NumAckPending+int(i.NumPending) > 0 || i.Config.MaxAckPending != 1 {
					return fmt.Errorf("%d in flight, %d pending, max_ack_pending %d", i.NumAckPending, i.NumPending, i.Config.MaxAckPending)
				}
				return nil
			})
			for deaf := false; !deaf; {
				select {
				case err := <-told:
					deaf = strings.Contains(err.Error(), "upgrade nats-server")
				case <-time.After(patience):
					t.Fatal("the server was not deaf, so this shows nothing")
				}
			}
			s.Stop()
			if err := waitDone(t, s); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func deafFixture(t *testing.T, version string) (*fixture, *natstest.Release) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "goner.conf")
	if err := os.WriteFile(conf, []byte(goner), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := natstest.StartRelease(t, version, "-c", conf)
	return &fixture{t: t, js: srv.JetStream(), check: checker.New(), seq: make(map[string]uint64)}, srv
}

// pinGoner has the server take the pin of m1 from its instance and give it, with
// the next message, to a client that will not get it.
func (f *fixture) pinGoner(srv *natstest.Release) {
	f.t.Helper()
	nc := srv.JetStream(nats.UserInfo("goner", "goner")).Conn()
	if _, err := nc.SubscribeSync("goner.*"); err != nil {
		f.t.Fatal(err)
	}
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.ORDERS-workers.m1", "goner.box",
		[]byte(`{"batch":1,"expires":20000000000,"group":"`+pcgroups.PriorityGroup+`"}`)); err != nil {
		f.t.Fatal(errors.Join(err, nc.Flush()))
	}
	f.waiting("ORDERS-workers", "m1", 2)
	if err := pcgroups.ElasticMemberStepDown(f.ctx(), f.js, "ORDERS", "workers", "m1"); err != nil {
		f.t.Fatal(err)
	}
}

// Prevents a partition that nobody gets: an instance that has to hand over waits for
// its last acknowledgement to be taken, which a deaf server never does. The message
// is handled once more then.
func TestHandOverFromDeafServer(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f, srv := deafFixture(t, "2.11.17")
	f.elastic(4, "m1")
	f.member("m1", 0, strict(5*time.Second))
	f.member("m2", 0, strict(5*time.Second))
	f.publish(1, 1)
	f.allHandled(1)
	f.pinGoner(srv)
	f.publish(1, 1)
	f.allHandled(2)
	if _, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
		t.Fatal(err)
	}
	f.publish(4, 5)
	if err := f.check.WaitHandled(f.ctx(), 22); err != nil {
		t.Fatal(err, f.check.Verdict())
	}
	if v := f.check.Verdict(); v.Lost+v.OutOfOrder+v.Overlapping > 0 || v.Duplicated > 1 {
		t.Fatal(v, v.Examples)
	}
}
