// Package embedded runs nats-servers inside the process, one or a JetStream
// cluster, for programs that are not tests: the demo, benchmarks and fault
// runs. Package natstest wraps it for tests. It reports errors, prints nothing
// and imports nothing from package testing.
package embedded

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

const (
	host = "127.0.0.1"
	// startTimeout bounds one start; a start takes about 10 ms, far longer
	// only on a machine that is out of breath.
	startTimeout = 15 * time.Second
	// bindTimeout bounds the wait for a fixed port that somebody else holds.
	bindTimeout = 10 * time.Second
	// Limits are set because the server's defaults depend on the memory and
	// the disk of the machine, and so would a test that reserves space.
	maxMemory = 1 << 30
	maxStore  = 16 << 30
)

// Options say how to run one server. The zero value is not enough: JetStream
// needs a StoreDir.
type Options struct {
	// Name is the server name; empty lets the server choose one.
	Name string
	// Port is the client port on 127.0.0.1; 0 takes a free one.
	Port int
	// StoreDir is where JetStream keeps its files. The caller owns and
	// removes it. Required unless NoJetStream.
	StoreDir string
	// NoJetStream runs a core NATS server only.
	NoJetStream bool
	// Username and Password, if set, are required of every client.
	Username, Password string
	// Token, if set, is required of every client.
	Token string
	// Configure, if set, has the last word on the server's options. It runs
	// at every start, so also at a restart.
	Configure func(*server.Options)
}

// Server is one embedded nats-server. It can be stopped and started again and
// keeps its port and store directory. Its methods are safe for concurrent use.
type Server struct {
	opts Options // as given

	mu   sync.Mutex // held for the whole of a start or stop
	srv  *server.Server
	log  *logTail
	port int // to listen on; 0 until a free one is found

	state sync.RWMutex // guards what callers read while a start or stop runs
	url   string
	addr  string
}

// Run starts a server and returns when it accepts connections and, with
// JetStream, has recovered what its store directory holds.
func Run(opts Options) (*Server, error) {
	if opts.StoreDir == "" && !opts.NoJetStream {
		return nil, errors.New("embedded server: JetStream needs a store directory")
	}
	s := &Server{opts: opts, port: opts.Port}
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts a stopped server on its old port and store directory. It does
// nothing if the server runs.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv != nil {
		return nil
	}
	// While a server is down, the kernel may lend its port to an outgoing
	// connection of anybody; such loans are short, so that one error, and no
	// other, is worth another try.
	var other error
	taken := poll.Until(bindTimeout, func() error {
		err := s.startOnce()
		if isPortTaken(err) {
			return err
		}
		other = err
		return nil
	})
	return errors.Join(taken, other)
}

// startOnce is one attempt; mu is held.
func (s *Server) startOnce() error {
	o := s.serverOptions()
	srv, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("embedded server: %w", err)
	}
	log := &logTail{}
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	err = poll.Until(startTimeout, func() error {
		if log.err() != nil || srv.ReadyForConnections(time.Millisecond) {
			return nil //nolint:nilerr // it has failed for good, which is told below
		}
		return errors.New("not ready for connections")
	})
	if fatal := log.err(); fatal != nil {
		err = fatal
	}
	if err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return fmt.Errorf("embedded server: %w", err)
	}
	s.srv, s.log = srv, log
	clientURL := srv.ClientURL()
	s.state.Lock()
	defer s.state.Unlock()
	s.url = clientURL
	if u, err := url.Parse(clientURL); err == nil {
		s.addr = u.Host
		s.port, _ = strconv.Atoi(u.Port())
	}
	return nil
}

func (s *Server) serverOptions() *server.Options {
	port := s.port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{
		ServerName:            s.opts.Name,
		Host:                  host,
		Port:                  port,
		NoLog:                 true,
		NoSigs:                true,
		DisableShortFirstPing: true,
		Username:              s.opts.Username,
		Password:              s.opts.Password,
		Authorization:         s.opts.Token,
	}
	if !s.opts.NoJetStream {
		o.JetStream = true
		o.StoreDir = s.opts.StoreDir
		o.JetStreamMaxMemory = maxMemory
		o.JetStreamMaxStore = maxStore
	}
	if s.opts.Configure != nil {
		s.opts.Configure(o)
	}
	return o
}

func isPortTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "address already in use")
}

// Shutdown stops the server gracefully (it hands over leaderships and flushes
// its stores) and returns when all of it is gone. It does nothing if the
// server does not run.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv == nil {
		return
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	s.srv = nil
}

// Restart is [Server.Shutdown] and [Server.Start]: same port, same store.
func (s *Server) Restart() error {
	s.Shutdown()
	return s.Start()
}

// Running tells whether the server is up.
func (s *Server) Running() bool { return s.Raw() != nil }

// Raw is the nats-server itself, nil while it is stopped. A restart makes a
// new one. It waits while a start or stop is under way.
func (s *Server) Raw() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

// URL is the client URL, for example nats://127.0.0.1:34567, without
// credentials. It stays the same while the server is stopped and after a
// restart.
func (s *Server) URL() string {
	s.state.RLock()
	defer s.state.RUnlock()
	return s.url
}

// Addr is the host and port of the client URL.
func (s *Server) Addr() string {
	s.state.RLock()
	defer s.state.RUnlock()
	return s.addr
}

// Log copies the last warnings and errors of the current or last run, oldest
// first, at most 50.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	return s.log.tail()
}

// Connect dials the server with its credentials. The caller closes the
// connection. See [DialOptions] for the defaults, which opts override.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(s.URL(), append(DialOptions(s.opts), opts...)...)
}

// DialOptions are the options to dial a server run with o: its credentials,
// and reconnects without end every 20 ms, so that a restart or a healed link
// costs milliseconds and not the two seconds of the client's default.
func DialOptions(o Options) []nats.Option {
	opts := []nats.Option{
		nats.Timeout(5 * time.Second),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(20 * time.Millisecond),
		nats.ReconnectJitter(5*time.Millisecond, 5*time.Millisecond),
	}
	if o.Username != "" {
		opts = append(opts, nats.UserInfo(o.Username, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	return opts
}
