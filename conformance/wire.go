package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

// patience is how long something is waited for that is sure to come. A case
// that needs it has failed.
const patience = 20 * time.Second

// Names used by all cases.
const (
	stream = "ORDERS"
	group  = "cg"
)

// stage is where a wire case plays: a server, the implementation under test on
// it, and the capture of what that sends. The first error ends the play: what
// follows does nothing.
type stage struct {
	*bench
	ctx    context.Context
	peer   Peer
	cap    *capture
	events *events
	err    error

	script transcript
	from   int // where the current step began in the capture
}

// events collects what a peer reports.
type events struct {
	mu      sync.Mutex
	all     []Event
	arrived chan struct{}
}

func newEvents() *events { return &events{arrived: make(chan struct{})} }

func (e *events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
	close(e.arrived)
	e.arrived = make(chan struct{})
}

func (e *events) list() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// wait waits until enough, called with all events so far, says so.
func (e *events) wait(ctx context.Context, limit time.Duration, enough func([]Event) bool) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		e.mu.Lock()
		all, arrived := slices.Clone(e.all), e.arrived
		e.mu.Unlock()
		if enough(all) {
			return true
		}
		select {
		case <-arrived:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (s *stage) harness(err error) {
	if err != nil && s.err == nil {
		if !errors.Is(err, ErrHarness) {
			err = fmt.Errorf("%w: %w", ErrHarness, err)
		}
		s.err = err
	}
}

// origin creates the stream that the group is on.
func (s *stage) origin(c jetstream.StreamConfig) {
	if s.err != nil {
		return
	}
	c.Name = stream
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	_, err := s.js.CreateStream(s.ctx, c)
	s.harness(err)
}

// do is a step: one operation and everything it sends.
func (s *stage) do(name string, r Request) {
	if s.err != nil {
		return
	}
	s.begin(name)
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	_, err := s.peer.Call(ctx, r)
	if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrHarness) {
		s.err = err
		return
	}
	if err != nil {
		last := &s.script[len(s.script)-1]
		last.refused, last.why = true, err.Error()
	}
	s.end()
}

// begin starts a step; end adds what was sent since to it.
func (s *stage) begin(name string) {
	s.harness(s.cap.sync(s.ctx, s.nc))
	s.from = s.cap.len()
	s.script = append(s.script, step{name: name})
}

func (s *stage) end() {
	if s.err != nil {
		return
	}
	s.harness(s.cap.sync(s.ctx, s.nc))
	msgs, err := s.cap.wait(s.ctx, s.from, func([]*nats.Msg) bool { return true })
	s.harness(err)
	last := &s.script[len(s.script)-1]
	last.entries = nil
	for _, m := range msgs {
		last.entries = append(last.entries, normalise(m))
	}
}

// await extends the current step until something was sent. If it is not, the
// step is left as it is: the comparison then tells what is missing.
func (s *stage) await(is func(entry) bool) {
	if s.err != nil {
		return
	}
	_, err := s.cap.wait(s.ctx, s.from, func(msgs []*nats.Msg) bool {
		return slices.ContainsFunc(msgs, func(m *nats.Msg) bool { return is(normalise(m)) })
	})
	if !errors.Is(err, errNotSeen) {
		s.harness(err)
	}
	s.end()
}

// pulled waits for a pull, with or without a pin, that is no keep-alive.
func pulled(pinned bool) func(entry) bool {
	return func(e entry) bool {
		return e.kind == kindPull && strings.Contains(e.body, `"id":`) == pinned && !strings.Contains(e.body, `"max_bytes":`)
	}
}

func wrote(subject string) func(entry) bool {
	return func(e entry) bool {
		return (e.kind == kindWrite || e.kind == kindPublish) && strings.HasPrefix(e.subject, subject)
	}
}

// handled extends the step until so many messages were handled in all.
func (s *stage) handled(n int) {
	s.expect(fmt.Sprintf("%d messages handled", n), func(all []Event) bool { return count(all, EventDone) >= n })
}

// ended extends the step until the session has ended.
func (s *stage) ended() {
	s.expect("the session to end", func(all []Event) bool { return count(all, EventEnded) > 0 })
}

func (s *stage) expect(what string, enough func([]Event) bool) {
	if s.err != nil {
		return
	}
	if !s.events.wait(s.ctx, patience, enough) {
		s.err = &missing{what}
		return
	}
	s.end()
}

// missing is a failure of the implementation under test, not of the suite.
type missing struct{ what string }

func (m *missing) Error() string { return "waited in vain for " + m.what }

func count(all []Event, kind string) int {
	n := 0
	for _, e := range all {
		if e.Event == kind {
			n++
		}
	}
	return n
}

// publish sends messages to the origin, and for an elastic group waits until they
// are in its work queue.
func (s *stage) publish(subjects ...string) {
	for i, subject := range subjects {
		if s.err != nil {
			return
		}
		_, err := s.js.Publish(s.ctx, subject, fmt.Appendf(nil, "%s:%d", subject, i))
		s.harness(err)
	}
}

// put writes a configuration past the implementation, as another one would.
func (s *stage) put(bucket, value string) {
	if s.err != nil {
		return
	}
	kv, err := s.js.KeyValue(s.ctx, bucket)
	if err == nil {
		_, err = kv.Put(s.ctx, stream+"."+group, []byte(value))
	}
	s.harness(err)
}

// quiet waits until a consumer has nothing outstanding, so that what comes next
// starts from the same state on every run.
func (s *stage) quiet(on, consumer string) {
	if s.err != nil {
		return
	}
	s.harness(poll.Until(patience, func() error {
		c, err := s.js.Consumer(s.ctx, on, consumer)
		if err != nil {
			return err
		}
		if i := c.CachedInfo(); i.NumAckPending > 0 || i.NumPending > 0 {
			return fmt.Errorf("%s has %d pending, %d unacknowledged", consumer, i.NumPending, i.NumAckPending)
		}
		return nil
	}))
}
