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
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
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

// Server is a running child process.
type Server struct {
	// URL is where clients connect.
	URL string

	cmd  *exec.Cmd
	logs *bytes.Buffer
	done chan struct{}
}

// Run starts a server with JetStream on a free port, with its files in dir, which
// the caller owns. What follows goes to its command line. Stop ends it.
func Run(ctx context.Context, bin, dir string, args ...string) (*Server, error) {
	s := &Server{logs: new(bytes.Buffer), done: make(chan struct{})}
	s.cmd = exec.Command(bin, append([]string{"-js", "-sd", dir, "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", dir}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.logs, s.logs
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // how it ended is of no interest
	}()
	err := poll.Until(30*time.Second, func() error {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // no use waiting; it is told below
		}
		return s.readURL(dir)
	})
	if err = errors.Join(ctx.Err(), err); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s did not start: %w\n%s", bin, err, s.logs)
	}
	return s, nil
}

func (s *Server) readURL(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.ports"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("no ports file yet"))
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var ports struct{ Nats []string }
	if err := json.Unmarshal(text, &ports); err != nil {
		return err
	}
	if len(ports.Nats) == 0 {
		return errors.New("no client port yet")
	}
	s.URL = ports.Nats[0]
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
