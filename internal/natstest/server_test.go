package natstest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
)

// testContext only keeps a request from hanging; a cluster may elect meanwhile.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A restart that moves the port or empties the store would make every
// reconnect test fail, or pass without testing anything.
func TestRestartKeepsPortAndData(t *testing.T) {
	ctx := testContext(t)
	s := Start(t)
	url := s.URL()
	js := s.JetStream()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "orders.1", []byte("one")); err != nil {
		t.Fatal(err)
	}

	s.Restart()

	if s.URL() != url {
		t.Errorf("URL moved from %s to %s", url, s.URL())
	}
	Eventually(t, patience, func() error {
		info, err := stream.Info(ctx)
		if err == nil && info.State.Msgs != 1 {
			err = errors.New("the message is gone")
		}
		return err
	})
}

// While a server is down somebody else may get its port; a restart must then
// wait for it rather than move or fail.
func TestRestartWaitsForItsPort(t *testing.T) {
	s := Start(t)
	addr := s.Addr()
	s.Shutdown()
	if s.Running() {
		t.Fatal("running after shutdown")
	}
	thief, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = thief.Close() })
	s.Restart()
	if s.Addr() != addr {
		t.Errorf("moved from %s to %s", addr, s.Addr())
	}
	s.Connect()
}

// With NoLog a server that cannot start says nothing and looks started; each of
// these would then surface later as an unexplained timeout.
func TestFailedStartIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		opts embedded.Options
		want string
	}{
		"no store directory": {embedded.Options{}, "needs a store directory"},
		"store is a file":    {embedded.Options{StoreDir: file}, "Can't start JetStream"},
		"cluster without routes": {embedded.Options{StoreDir: t.TempDir(), Name: "n", Configure: func(o *server.Options) {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: -1}
		}}, "requires configured routes"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := embedded.Run(tc.opts)
			if err == nil {
				s.Shutdown()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

// Credentials must really be required, and be presented by Connect and
// ConnectVia; else the provider's authentication tests prove nothing.
func TestCredentials(t *testing.T) {
	for name, opt := range map[string]Option{
		"user":  WithUser("ann", "secret"),
		"token": WithToken("s3cret"),
	} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, opt, WithoutJetStream())
			nc, err := nats.Connect(s.URL())
			if err == nil {
				nc.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("without credentials: %v, want %v", err, nats.ErrAuthorization)
			}
			s.Connect()
			s.ConnectVia(StartProxy(t, s.URL()))
		})
	}
}

// Without JetStream a request must be refused at once, which is what the code
// under test has to recognise.
func TestWithoutJetStream(t *testing.T) {
	_, err := Start(t, WithoutJetStream()).JetStream().AccountInfo(testContext(t))
	if !errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		t.Errorf("got %v, want %v", err, jetstream.ErrJetStreamNotEnabled)
	}
}

// Every WithConfig must take effect, in order, at a restart too.
func TestWithConfig(t *testing.T) {
	s := Start(t,
		WithConfig(func(o *server.Options) { o.MaxPayload = 1; o.JetStreamDomain = "hub" }),
		WithConfig(func(o *server.Options) { o.MaxPayload = 2048 }),
		WithStoreDir(t.TempDir()))
	for range 2 {
		nc := s.Connect()
		if got := nc.MaxPayload(); got != 2048 {
			t.Errorf("max payload %d, want 2048", got)
		}
		js, err := jetstream.NewWithDomain(nc, "hub")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.AccountInfo(testContext(t)); err != nil {
			t.Errorf("domain hub: %v", err)
		}
		s.Restart()
	}
}
