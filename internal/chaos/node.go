package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

// NodeArg is the first argument by which a program tells itself to be a server;
// the second is what [ServeNode] takes.
const NodeArg = "-node"

const host = "127.0.0.1"

// accounts has a system account, which alone may ask the meta leader to step
// down; everybody who does not say who they are uses the other one.
const accounts = `
accounts {
  SYS: { users: [ { user: sys, password: sys } ] }
  APP: { jetstream: enabled, users: [ { user: app, password: app } ] }
}
system_account: SYS
no_auth_user: app
`

// nodeConfig is what a server needs to know, passed on its command line.
type nodeConfig struct {
	Name    string   `json:"name"`
	Dir     string   `json:"dir"`
	Client  int      `json:"client"`
	Route   int      `json:"route"`
	Monitor int      `json:"monitor"`
	Routes  []string `json:"routes"`
}

func (c nodeConfig) addr() string { return fmt.Sprintf("%s:%d", host, c.Client) }

// ServeNode is a server's whole life. It ends at SIGTERM, gracefully, or when
// stdin does, so that no server outlives the program that started it, however
// that ends.
func ServeNode(config string, stdin io.Reader) error {
	var c nodeConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	file := c.Dir + ".conf"
	if err := os.WriteFile(file, []byte(accounts), 0o600); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	parsed, err := server.ProcessConfigFile(file)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	srv, err := embedded.Run(embedded.Options{Name: c.Name, Port: c.Client, StoreDir: c.Dir, Configure: func(o *server.Options) {
		o.Accounts, o.Users, o.SystemAccount, o.NoAuthUser = parsed.Accounts, parsed.Users, parsed.SystemAccount, parsed.NoAuthUser
		o.HTTPHost, o.HTTPPort = host, c.Monitor
		o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "chaos", host, c.Route
		for _, r := range c.Routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: r})
		}
	}})
	if err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	signal.Ignore(os.Interrupt) // Ctrl-C is for the program that started us
	orphaned := make(chan struct{})
	go func() {
		defer close(orphaned)
		_, _ = io.Copy(io.Discard, stdin)
	}()
	select {
	case <-term:
		srv.Shutdown()
	case <-orphaned:
	}
	for _, line := range srv.Log() {
		fmt.Fprintln(os.Stderr, line)
	}
	return nil
}

// node is a server process, running or not. Its ports and store stay the same.
type node struct {
	config nodeConfig

	mu    sync.Mutex
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when cmd has ended
}

// start runs the server and returns when it accepts connections.
func (n *node) start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	arg, err := json.Marshal(n.config)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.config.Dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(self, NodeArg, string(arg))
	cmd.Stdout, cmd.Stderr = log, log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	n.cmd, n.stdin, n.ended = cmd, stdin, ended
	return await(ctx, patience, func() error {
		select {
		case <-ended:
			return fmt.Errorf("%s ended by itself, see %s.log", n.config.Name, n.config.Dir)
		default:
		}
		_, err := n.monitor("/healthz?js-server-only=true")
		return err
	})
}

// kill ends the server the hard way: nothing is flushed or handed over.
func (n *node) kill() { n.end(func(p *os.Process) { _ = p.Kill() }) }

// terminate ends the server gracefully.
func (n *node) terminate() { n.end(func(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }) }

func (n *node) end(how func(*os.Process)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	how(n.cmd.Process)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-n.ended:
	case <-late.C: // a graceful end may hang
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
	_ = n.stdin.Close()
	n.cmd = nil
}

var monitorClient = http.Client{Timeout: 2 * time.Second}

// monitor asks the server's monitoring port. A status that is not 200 is an error.
func (n *node) monitor(path string) ([]byte, error) {
	resp, err := monitorClient.Get(fmt.Sprintf("http://%s:%d%s", host, n.config.Monitor, path))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", n.config.Name, strings.TrimSpace(string(body)))
	}
	return body, err
}

// await is poll.Until that ends with ctx, too.
func await(ctx context.Context, most time.Duration, cond func() error) error {
	err := poll.Until(most, func() error {
		if ctx.Err() == nil {
			return cond()
		}
		return nil
	})
	return errors.Join(ctx.Err(), err)
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
