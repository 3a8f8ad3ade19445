package natstest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// captureQueue is how many messages may wait between the connection and the
// recorder. The recorder only appends, so a full queue means something is
// badly wrong; it fails the test, since a capture with holes proves nothing.
const captureQueue = 1 << 16

// apiAndMore is what the JetStream API's requests are captured by.
const apiAndMore = "$JS.>"

// Request is one captured message: a JetStream API request or a publish to a
// KV bucket, as the server got it.
type Request struct {
	// Subject is what the message was published to.
	Subject string
	// Reply is where the answer is expected, empty for none. It is random.
	Reply string
	// Header is nil if the message had none.
	Header nats.Header
	// Data is the payload, byte for byte.
	Data []byte
}

// Captured is a running record of requests; see [Capture].
type Captured struct {
	t        testing.TB
	requests Recorder[Request]
	subs     []*nats.Subscription
	marker   string // subject of the messages that Sync sends
	syncs    Recorder[string]
}

// Capture records, in the order in which the server saw them, every JetStream
// API request and every KV publish in the account of nc, from its return until
// the test ends, pulls included; with also, further subjects, for example
// "$JS.ACK.>". It is a plain subscription and so needs no proxy and changes no
// traffic. Use a connection that does nothing else.
//
// In a cluster, capture on the node that the watched clients are connected to:
// other nodes learn of the subscription a moment later.
func Capture(t testing.TB, nc *nats.Conn, also ...string) *Captured {
	t.Helper()
	c := &Captured{t: t, marker: nats.NewInbox()}
	// One channel for all subscriptions: with one each, the order between
	// an API request and a KV publish would be lost. A server hands a message to
	// the widest subscription first: one as wide as these has a request before
	// whoever answers it, so that nothing sent after the answer can overtake.
	queue := make(chan *nats.Msg, captureQueue)
	// (In a cluster requests get lost with it: 4 of 36 creates, 2.15.3, cause unknown.)
	all := apiAndMore
	if nc.ConnectedClusterName() != "" {
		all = "$JS.API.>"
	}
	for _, subject := range append([]string{all, "$KV.>", c.marker}, also...) {
		sub, err := nc.ChanSubscribe(subject, queue)
		if err != nil {
			t.Fatalf("capture %s: %v", subject, err)
		}
		c.subs = append(c.subs, sub)
	}
	if err := nc.Flush(); err != nil {
		t.Fatalf("capture: %v", err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { c.record(queue, stop) })
	t.Cleanup(func() {
		c.check()
		for _, sub := range c.subs {
			_ = sub.Unsubscribe()
		}
		close(stop)
		wg.Wait()
	})
	return c
}

func (c *Captured) record(queue <-chan *nats.Msg, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case m := <-queue:
			if m.Subject == c.marker {
				c.syncs.Add(string(m.Data))
				continue
			}
			if m.Sub.Subject == apiAndMore && !strings.HasPrefix(m.Subject, "$JS.API.") {
				continue
			}
			c.requests.Add(Request{Subject: m.Subject, Reply: m.Reply, Header: m.Header, Data: m.Data})
		}
	}
}

// check fails the test if the client library dropped messages.
func (c *Captured) check() {
	c.t.Helper()
	for _, sub := range c.subs {
		if n, err := sub.Dropped(); err == nil && n > 0 {
			c.t.Errorf("the capture of %s has lost %d messages", sub.Subject, n)
		}
	}
}

// Requests copies the requests so far whose subject starts with prefix, a plain
// string without wildcards; empty is all. Requests that are under way may be
// missing: use [Captured.Sync] or [Captured.WaitFor] first.
func (c *Captured) Requests(prefix string) []Request {
	c.t.Helper()
	c.check()
	var found []Request
	for _, r := range c.requests.All() {
		if strings.HasPrefix(r.Subject, prefix) {
			found = append(found, r)
		}
	}
	return found
}

// WaitFor waits until enough, called with all requests so far at once and after
// every new one, returns true, and returns those requests. It fails the test
// after timeout.
func (c *Captured) WaitFor(timeout time.Duration, enough func([]Request) bool) []Request {
	c.t.Helper()
	return c.requests.Wait(c.t, timeout, enough)
}

// Sync returns when everything that nc has published so far is captured. It
// sends a marker behind it on the same connection and waits for the marker.
func (c *Captured) Sync(nc *nats.Conn) {
	c.t.Helper()
	id := nats.NewInbox()
	if err := nc.Publish(c.marker, []byte(id)); err != nil {
		c.t.Fatalf("capture: %v", err)
	}
	c.syncs.Wait(c.t, 10*time.Second, func(ids []string) bool { return slices.Contains(ids, id) })
}
