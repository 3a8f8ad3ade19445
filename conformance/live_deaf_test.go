package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// Prevents a failure that no implementation can help: a server of 2.11 that fails to
// deliver a message once, here because the client that it has pinned may not have it,
// ignores its acknowledgements from then on. The case is excused, the reference being who acknowledges.
func TestDeafServerIsExcused(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "goner.conf")
	if err := os.WriteFile(conf, []byte(`
authorization { users = [
	{ user: all, password: all }
	{ user: goner, password: goner, permissions: { subscribe: { deny: ["goner.box", "*.orders.*"] } } }
] }
no_auth_user: all
`), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := natstest.StartRelease(t, "2.11.17", "-c", conf)
	p := playOn(t, srv.URL, srv.JetStream(), Elastic)
	admin := p.started(Oracle(), "m1")
	p.joins(Oracle(), "m1", 0)
	p.settled(assigned("m1"))
	p.phase(assigned("m1"))

	nc := srv.JetStream(nats.UserInfo("goner", "goner")).Conn()
	if _, err := nc.SubscribeSync("goner.*"); err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+workQueue+".m1", "goner.box",
		[]byte(`{"batch":1,"expires":20000000000,"group":"PCG"}`)); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, patience, func() error {
		if c, err := p.js.Consumer(p.ctx, workQueue, "m1"); err != nil || c.CachedInfo().NumWaiting != 2 {
			return errors.Join(err, errors.New("two pulls should wait"))
		}
		return nil
	})
	p.ask(admin, Request{Op: OpStepDown, Member: "m1"})
	before := p.total()
	p.publish(1)
	if n := p.handledSoon(before + 1); n != before+1 || p.over() {
		t.Fatalf("%d handled after %d: %v %v", n, before, p.found, p.err)
	}
	natstest.Eventually(t, patience, func() error {
		if !p.excuse() {
			return errors.New("not excused")
		}
		return nil
	})
	if !errors.Is(p.err, ErrUnsupported) {
		t.Error(p.err)
	}
}

// Prevents an excuse for everything: a message in flight whose acknowledgement the
// server takes is no sign of a deaf one.
func TestHearingServerIsNoExcuse(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	p := playOn(t, srv.URL(), srv.JetStream(), Static)
	p.started(Oracle(), "m1")
	p.joins(Oracle(), "m1", 0)
	p.settled(assigned("m1"))
	p.phase(assigned("m1"))
	c, err := p.js.CreateConsumer(p.ctx, stream, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	if info, err := c.Info(p.ctx); err != nil || info.NumAckPending != 1 {
		t.Fatal(info, err)
	}
	if p.excuse() {
		t.Error("excused")
	}
	if info, err := c.Info(p.ctx); err != nil || info.NumAckPending != 0 {
		t.Error("nobody asked the server", err)
	}
}

func playOn(t *testing.T, url string, js jetstream.JetStream, flavour string) *play {
	t.Helper()
	p := &play{bench: &bench{url: url, nc: js.Conn(), js: js}, ctx: t.Context(), flavour: flavour, sent: map[string]int{}}
	t.Cleanup(func() {
		for _, a := range p.actors {
			if err := a.peer.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}
