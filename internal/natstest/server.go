// Package natstest gives tests a real nats-server, or a cluster of three, in
// the test's own process, and what is needed to watch them: waits that do not
// sleep, a capture of the API traffic, a proxy that breaks the link.
//
// Whatever a test starts here ends with the test, so nothing needs a defer.
// Everything that can fail ends the test with t.Fatal and so must be called on
// the test's goroutine. Programs that are not tests use the subpackages
// embedded, faultproxy and poll, which this package wraps.
package natstest

import (
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
)

// Option changes how [Start] and [StartCluster] run a server.
type Option func(*embedded.Options)

// WithoutJetStream runs a core NATS server.
func WithoutJetStream() Option {
	return func(o *embedded.Options) { o.NoJetStream = true }
}

// WithUser makes the server require this user and password. The connections
// made by this package present them.
func WithUser(user, pass string) Option {
	return func(o *embedded.Options) { o.Username, o.Password = user, pass }
}

// WithToken makes the server require this token. The connections made by this
// package present it.
func WithToken(token string) Option {
	return func(o *embedded.Options) { o.Token = token }
}

// WithConfig changes the server's own options after this package has set its.
// It is called at every start and, in a cluster, for every node. Several are
// called in the order given.
func WithConfig(f func(*server.Options)) Option {
	return func(o *embedded.Options) {
		before := o.Configure
		o.Configure = func(so *server.Options) {
			if before != nil {
				before(so)
			}
			f(so)
		}
	}
}

// WithStoreDir keeps JetStream's files in dir, which the caller owns, rather
// than in a folder that goes with the test.
func WithStoreDir(dir string) Option {
	return func(o *embedded.Options) { o.StoreDir = dir }
}

func newOptions(t testing.TB, opts []Option) embedded.Options {
	var o embedded.Options
	for _, opt := range opts {
		opt(&o)
	}
	if o.StoreDir == "" && !o.NoJetStream {
		// Before any cleanup is registered: the folder must be removed after
		// the server has gone.
		o.StoreDir = t.TempDir()
	}
	return o
}

// Server is an embedded server that belongs to a test. URL, Addr, Raw, Log,
// Running and Shutdown are those of [embedded.Server].
type Server struct {
	*embedded.Server
	t    testing.TB
	opts embedded.Options
}

// Start runs a server with JetStream on a free port and stops it when the test
// ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o := newOptions(t, opts)
	srv, err := embedded.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	return &Server{Server: srv, t: t, opts: o}
}

// Restart stops the server and starts it again on the same port and store.
// Connections made by this package come back by themselves.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.Server.Restart(); err != nil {
		s.t.Fatal(err)
	}
}

// Connect dials the server with its credentials and closes the connection when
// the test ends. It reconnects without end every 20 ms; opts override that.
func (s *Server) Connect(opts ...nats.Option) *nats.Conn {
	s.t.Helper()
	return connect(s.t, s.Server.Connect, opts)
}

// ConnectVia is [Server.Connect] through the proxy, and never around it.
func (s *Server) ConnectVia(p *Proxy, opts ...nats.Option) *nats.Conn {
	s.t.Helper()
	return connect(s.t, func(opts ...nats.Option) (*nats.Conn, error) {
		opts = append([]nats.Option{nats.IgnoreDiscoveredServers()}, opts...)
		return nats.Connect(p.URL(), append(embedded.DialOptions(s.opts), opts...)...)
	}, opts)
}

// JetStream is a JetStream context on a connection of its own.
func (s *Server) JetStream(opts ...nats.Option) jetstream.JetStream {
	s.t.Helper()
	return newJetStream(s.t, s.Connect(opts...))
}

// connect dials, names the connection after the test, shows its asynchronous
// errors in the test's log and closes it when the test ends.
func connect(t testing.TB, dial func(...nats.Option) (*nats.Conn, error), opts []nats.Option) *nats.Conn {
	t.Helper()
	logf := newLogf(t)
	nc, err := dial(append([]nats.Option{
		nats.Name(t.Name()),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if sub != nil {
				logf("connection: subscription to %s: %v", sub.Subject, err)
			} else {
				logf("connection: %v", err)
			}
		}),
	}, opts...)...)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func newJetStream(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatalf("jetstream: %v", err)
	}
	return js
}

// newLogf is t.Logf for goroutines that may outlive the test by a moment;
// t.Logf itself panics then.
func newLogf(t testing.TB) func(format string, args ...any) {
	var mu sync.Mutex
	var over bool
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	})
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			t.Logf(format, args...)
		}
	}
}
