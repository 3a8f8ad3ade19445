package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// captureQueue is how many messages may wait for the recorder, which only
// appends.
const captureQueue = 1 << 16

// settling is how long a request may be recorded after its answer, in a cluster.
const settling = 200 * time.Millisecond

// capture records, in the server's order, what clients other than the suite send
// to the JetStream API and to KV buckets, and acknowledgements that ask for an
// answer. It is a plain subscription and so changes nothing.
type capture struct {
	nc        *nats.Conn
	marker    string
	clustered bool
	done      chan struct{}

	mu      sync.Mutex
	msgs    []*nats.Msg
	markers []string
	lost    error
	arrived chan struct{} // closed by the next arrival
}

func startCapture(url string) (*capture, error) {
	c := &capture{marker: nats.NewInbox(), done: make(chan struct{}), arrived: make(chan struct{})}
	var err error
	c.nc, err = nats.Connect(url, nats.CustomInboxPrefix(suiteInbox), nats.IgnoreDiscoveredServers(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lost = err
		}))
	if err != nil {
		return nil, fmt.Errorf("%w: capture: %w", ErrHarness, err)
	}
	queue := make(chan *nats.Msg, captureQueue)
	// A server hands a message to the widest subscription first. With one as wide
	// as this the record has a request before whoever answers it has got it, so
	// that nothing sent after the answer can overtake. In a cluster requests get
	// lost with it (4 of 36 creates, 2.15.3; cause unknown); sync waits there instead.
	subjects := []string{"$JS.>", "$KV.>", c.marker}
	if c.clustered = c.nc.ConnectedClusterName() != ""; c.clustered {
		subjects = []string{"$JS.API.>", "$JS.ACK.>", "$KV.>", c.marker}
	}
	for _, subject := range subjects {
		if _, err = c.nc.ChanSubscribe(subject, queue); err != nil {
			break
		}
	}
	if err == nil {
		err = c.nc.Flush()
	}
	if err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("%w: capture: %w", ErrHarness, err)
	}
	go c.record(queue)
	return c, nil
}

func (c *capture) record(queue <-chan *nats.Msg) {
	for {
		select {
		case <-c.done:
			return
		case m := <-queue:
			c.mu.Lock()
			switch {
			case m.Subject == c.marker:
				c.markers = append(c.markers, string(m.Data))
			case fromClient(m):
				c.msgs = append(c.msgs, m)
			}
			close(c.arrived)
			c.arrived = make(chan struct{})
			c.mu.Unlock()
		}
	}
}

// fromClient tells the requests of implementations from the suite's own, and
// from those by which a stream gets the messages of its source.
func fromClient(m *nats.Msg) bool {
	switch {
	case strings.HasPrefix(m.Reply, suiteInbox):
		return false
	case strings.HasPrefix(m.Subject, "$JS.ACK."):
		return m.Reply != "" // plain ones are the application's business
	case !strings.HasPrefix(m.Subject, "$KV.") && !strings.HasPrefix(m.Subject, api):
		return false // advisories, and what a stream gets from its source
	}
	return !strings.Contains(m.Subject, ".JS_SRC_") && !bytes.Contains(m.Data, []byte(`"deliver_subject":"$JS.S.`))
}

// sync returns when all that the server got before is recorded.
func (c *capture) sync(ctx context.Context, nc *nats.Conn) error {
	id := nats.NewInbox()
	if err := nc.Publish(c.marker, []byte(id)); err != nil {
		return fmt.Errorf("%w: capture: %w", ErrHarness, err)
	}
	_, err := c.wait(ctx, 0, func([]*nats.Msg) bool { return slices.Contains(c.markers, id) })
	if err == nil && c.clustered {
		select {
		case <-time.After(settling):
		case <-ctx.Done():
		}
	}
	return err
}

// wait returns what was recorded from the given position on, as soon as enough
// of it is there. enough is called with the lock held.
func (c *capture) wait(ctx context.Context, from int, enough func([]*nats.Msg) bool) ([]*nats.Msg, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		msgs, arrived, lost := slices.Clone(c.msgs[from:]), c.arrived, c.lost
		ok := enough(msgs)
		c.mu.Unlock()
		if lost != nil {
			return nil, fmt.Errorf("%w: capture: %w", ErrHarness, lost)
		}
		if ok {
			return msgs, nil
		}
		select {
		case <-arrived:
		case <-limit.C:
			return msgs, errNotSeen
		case <-ctx.Done():
			return msgs, fmt.Errorf("%w: %w", ErrHarness, ctx.Err())
		}
	}
}

var errNotSeen = fmt.Errorf("not seen within %v", patience)

func (c *capture) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.msgs)
}

func (c *capture) close() {
	c.nc.Close()
	close(c.done)
}
