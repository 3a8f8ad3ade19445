package provider

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

func testClient(t *testing.T, servers ...string) *client {
	t.Helper()
	c := newClient(settings{name: "test", servers: servers, connectTimeout: 5 * time.Second, requestTimeout: time.Second})
	t.Cleanup(c.close)
	return c
}

// Prevents: a connection for each resource, and for each of those that need the
// first one at the same moment.
func TestClient_sharesOne(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	c := testClient(t, s.URL())
	before := s.Raw().NumClients()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := c.jetStream(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.Raw().NumClients() - before; got != 1 {
		t.Errorf("%d connections", got)
	}
	c.close()
	natstest.Eventually(t, 5*time.Second, func() error {
		if s.Raw().NumClients() != before {
			return errors.New("the connection is still there")
		}
		return nil
	})
}

// Prevents: one failure to connect being the answer for ever after.
func TestClient_triesAgain(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	c := testClient(t, s.URL())
	s.Shutdown()
	if _, err := c.jetStream(t.Context()); !errors.Is(err, nats.ErrNoServers) {
		t.Fatalf("server down: %v", err)
	}
	s.Restart()
	if _, err := c.jetStream(t.Context()); err != nil {
		t.Fatalf("server up again: %v", err)
	}
}

// Prevents: an interrupted run hanging until the connection times out, and the
// connection that was waited for being left open when it comes after all.
func TestClient_interrupted(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	c := testClient(t, "nats://"+silent.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	if _, err := c.jetStream(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
	c.close()
}

// Prevents: a connection that comes up after the provider was closed staying.
func TestClient_closedWhileConnecting(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	c := testClient(t, s.URL())
	a, _ := c.attempt()
	c.close()
	<-a.done
	if a.nc != nil && !a.nc.IsClosed() {
		t.Error("the connection is open")
	}
}

// Prevents: a guess where the servers, or who to be there, is not known yet.
func TestClient_unknownSettings(t *testing.T) {
	t.Parallel()
	m := providerModel{Servers: types.ListUnknown(types.StringType), Password: types.StringUnknown()}
	s, diags := m.settings(t.Context(), func(string) string { return "" })
	if diags.HasError() {
		t.Fatal(diags)
	}
	_, err := newClient(s).jetStream(t.Context())
	if err == nil || err.Error() != "the provider's servers, password will be known only after apply" {
		t.Errorf("%v", err)
	}
}

// Prevents: a secret in the log or in a message.
func TestClient_hidesSecrets(t *testing.T) {
	t.Parallel()
	for _, s := range []settings{
		{servers: []string{"nats://127.0.0.1:1"}, credentials: credentials{user: "u", password: "hunter2"}},
		{servers: []string{"nats://127.0.0.1:1"}, credentials: credentials{token: "hunter2"}},
		{servers: []string{"nats://127.0.0.1:1"}, credentials: credentials{text: "hunter2"}},
		{servers: []string{"nats://u:hunter2@127.0.0.1:1"}},
		{servers: []string{"hunter2@127.0.0.1:1"}},
		{servers: []string{"nats://u:hunter2@127.0.0.1:notaport"}},
	} {
		s.connectTimeout = time.Second
		var log bytes.Buffer
		c := newClient(s)
		_, err := c.jetStream(tflogtest.RootLogger(t.Context(), &log))
		if err == nil {
			t.Fatal("connected to nothing")
		}
		d := explain(groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}, "read", err, "")
		for what, text := range map[string]string{"log": log.String(), "error": err.Error(), "message": d.Summary() + d.Detail()} {
			if strings.Contains(text, "hunter2") {
				t.Errorf("%s of %+v: %s", what, s, text)
			}
		}
		if !strings.Contains(log.String(), "127.0.0.1") {
			t.Errorf("the log does not tell where it connects to: %s", &log)
		}
		c.close()
	}
}

// Prevents: a server that answers nothing being waited for until the timeout of
// the whole operation rather than request_timeout.
func TestWithin(t *testing.T) {
	t.Parallel()
	ctx, end := within(t.Context(), "timeouts.read", time.Millisecond)
	defer end()
	if _, has := ctx.Deadline(); has {
		t.Error("it has a deadline, which takes the place of request_timeout")
	}
	<-ctx.Done()
	if got := context.Cause(ctx).Error(); got != "not finished after 1ms, see timeouts.read" {
		t.Error(got)
	}
}
