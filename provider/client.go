package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// client is the one connection that all resources of a provider share. It is
// opened by the first that needs it. A failure is told to those who wait for it
// and then forgotten, so that the next call tries again.
type client struct {
	settings settings

	claims    claims
	coalescer coalescer
	reads     sharedReads

	mu     sync.Mutex
	last   *attempt // the connection that is up, or being made, or failed
	closed bool
	stop   chan struct{} // closed with the client
}

// attempt is one try to connect. Its fields may be read when done is closed.
type attempt struct {
	done chan struct{}
	nc   *nats.Conn
	js   jetstream.JetStream
	err  error
}

func newClient(s settings) *client { return &client{settings: s, stop: make(chan struct{})} }

var errProviderClosed = errors.New("the provider was closed")

// connectError says that no connection could be made.
type connectError struct {
	servers string // without user information
	from    origins
	reason  string // the client's words, without secrets
	err     error
}

func (e *connectError) Error() string { return "connect to " + e.servers + ": " + e.reason }
func (e *connectError) Unwrap() error { return e.err }

// settingError says that the settings can not be used, whatever the server.
type settingError struct {
	reason string // without secrets
	err    error
}

func (e *settingError) Error() string { return e.reason }
func (e *settingError) Unwrap() error { return e.err }

// unknownSettingsError says that it is not known yet where to connect to.
type unknownSettingsError struct{ arguments []string }

func (e *unknownSettingsError) Error() string {
	return "the provider's " + strings.Join(e.arguments, ", ") + " will be known only after apply"
}

// jetStream returns the shared connection, opening it if need be. It returns as
// soon as ctx ends; the attempt itself is not ended then, as others may wait for
// it too, but it is bounded by connect_timeout.
func (c *client) jetStream(ctx context.Context) (jetstream.JetStream, error) {
	if len(c.settings.unknown) != 0 {
		return nil, &unknownSettingsError{c.settings.unknown}
	}
	a, started := c.attempt()
	if started {
		ctx := tflog.MaskAllFieldValuesStrings(tflog.MaskMessageStrings(ctx, c.settings.secrets()...), c.settings.secrets()...)
		tflog.Debug(ctx, "connecting to NATS", map[string]any{"servers": c.settings.shownServers(), "name": c.settings.name})
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.done:
		return a.js, a.err
	}
}

// attempt returns the connection that is up or being made, or starts to make one.
func (c *client) attempt() (a *attempt, started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && !c.last.spent() {
		return c.last, false
	}
	a = &attempt{done: make(chan struct{})}
	c.last = a
	go func() {
		nc, js, err := c.settings.connect(c.stop)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed && nc != nil {
			nc.Close()
			err = errProviderClosed
		}
		a.nc, a.js, a.err = nc, js, err
		close(a.done)
	}()
	return a, true
}

// spent tells whether the attempt is over and has, or no longer has, a connection.
func (a *attempt) spent() bool {
	select {
	case <-a.done:
		return a.err != nil || a.nc.IsClosed()
	default:
		return false
	}
}

// unreachable tells whether the last try to connect failed.
func (c *client) unreachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || !c.last.spent() {
		return false
	}
	return c.last.err != nil
}

// close closes the connection, and the one that is being made when it is there.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		close(c.stop)
	}
	c.closed = true
	if c.last != nil && !c.last.spent() {
		select {
		case <-c.last.done:
			c.last.nc.Close()
		default: // the attempt sees that it is closed
		}
	}
}

// complaint returns what the server last said about this connection on its own
// account. It refuses a request without permission this way, while the request
// itself is merely never answered.
func (c *client) complaint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.spent() {
		return ""
	}
	select {
	case <-c.last.done:
		if err := c.last.nc.LastError(); err != nil {
			return c.settings.redact(err.Error())
		}
	default:
	}
	return ""
}

// overtimeError says that an operation was ended by its own timeout.
type overtimeError struct {
	name  string // of the attribute that would allow more
	after time.Duration
}

func (e *overtimeError) Error() string {
	return fmt.Sprintf("not finished after %v, see %s", e.after, e.name)
}

// within bounds a whole operation. It does so by cancelling rather than with a
// deadline because a deadline would take the place of request_timeout, and a
// server that never answers would be waited for until the operation's end.
func within(ctx context.Context, name string, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(d, func() { cancel(&overtimeError{name, d}) })
	return ctx, func() {
		t.Stop()
		cancel(nil)
	}
}
