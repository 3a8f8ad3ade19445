// Package release runs released nats-servers of other versions than the one this
// module embeds, as child processes. A version is built from the module proxy
// once, which takes a minute or two, and kept in the user's cache folder.
package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

const (
	startTimeout = 30 * time.Second
	portsFiles   = "*.ports" // where a server writes its ports to
)

// Build returns the path of a nats-server of this version ("2.11.17"), building
// it if it is not there.
func Build(ctx context.Context, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pcgroups-tools", "nats-server-"+version)
	bin := filepath.Join(dir, "nats-server")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	// Built aside and renamed, so that two builds at once do no harm.
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "github.com/nats-io/nats-server/v2@v"+version)
	cmd.Dir = tmp // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server %s: %w\n%s", version, err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, there := os.Stat(bin); there != nil {
			return "", err
		}
	}
	return bin, nil
}

// Server is a child process, running or not. Its files stay the same, and its port.
type Server struct {
	// URL is where clients connect.
	URL string
	// MonitorURL is where it can be asked by HTTP, empty without the argument -m. It
	// is another one after a restart if that asks for any free port.
	MonitorURL string

	bin, dir string
	args     []string
	cmd      *exec.Cmd
	logs     *bytes.Buffer
	done     chan struct{} // closed when cmd has ended
}

// Run starts a server with JetStream on a free port, with its files in dir, which
// the caller owns. What follows goes to its command line. Stop ends it.
func Run(ctx context.Context, bin, dir string, args ...string) (*Server, error) {
	s := &Server{bin: bin, dir: dir, args: args, logs: new(bytes.Buffer)}
	if err := s.start(ctx, "-1"); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart starts a server that was stopped or killed, on its old port and files. It
// waits for the port if somebody else has it.
func (s *Server) Restart(ctx context.Context) error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	return poll.Until(startTimeout, func() error { return s.start(ctx, u.Port()) })
}

func (s *Server) start(ctx context.Context, port string) error {
	// A server that was killed has left its own.
	old, err := filepath.Glob(filepath.Join(s.dir, portsFiles))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	s.cmd = exec.Command(s.bin, append([]string{"-js", "-sd", s.dir, "-a", "127.0.0.1", "-p", port, "--ports_file_dir", s.dir}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.logs, s.logs
	if err := s.cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	s.done = done
	go func() {
		defer close(done)
		_ = s.cmd.Wait() // how it ended is of no interest
	}()
	ended := false
	err = poll.Until(startTimeout, func() error {
		select {
		case <-done:
			ended = true
			return nil // no use waiting; it is told below
		case <-ctx.Done():
			return nil
		default:
			return s.readPorts()
		}
	})
	if ended {
		err = errors.New("it ended by itself")
	}
	if err = errors.Join(ctx.Err(), err); err != nil {
		s.Stop()
		return fmt.Errorf("%s did not start: %w\n%s", s.bin, err, s.logs)
	}
	return nil
}

func (s *Server) readPorts() error {
	files, err := filepath.Glob(filepath.Join(s.dir, portsFiles))
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("no ports file yet"))
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var ports struct{ Nats, Monitoring []string }
	if err := json.Unmarshal(text, &ports); err != nil {
		return err
	}
	if len(ports.Nats) == 0 {
		return errors.New("no client port yet")
	}
	s.URL, s.MonitorURL = ports.Nats[0], ""
	if len(ports.Monitoring) > 0 {
		s.MonitorURL = ports.Monitoring[0]
	}
	return nil
}

// Kill ends the server without any chance to write what it holds, as a power
// failure would.
func (s *Server) Kill() { s.end(os.Kill) }

// Stop lets the server shut down in order.
func (s *Server) Stop() { s.end(os.Interrupt) }

func (s *Server) end(sig os.Signal) {
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// Running tells whether the process is there.
func (s *Server) Running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}
