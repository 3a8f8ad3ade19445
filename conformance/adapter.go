package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func allFeatures() []string {
	return []string{FeatureStatic, FeatureElastic, FeatureMappings, FeatureManyFilters, FeatureWholeSubject,
		FeatureStepDown, FeatureAckPolicies, FeatureGet, FeatureBytes}
}

// inProcess is an implementation in Go that runs in this process.
func inProcess(hello Hello, v verbs) Implementation {
	hello.Protocol = ProtocolVersion
	return Implementation{Hello: hello, Open: func(_ context.Context, url string, events func(Event)) (Peer, error) {
		return openAdapter(v, url, events)
	}}
}

// adapter turns requests of the protocol into calls of a Go implementation. It
// serves in this process as well as behind Serve.
type adapter struct {
	verbs  verbs
	nc     *nats.Conn
	js     jetstream.JetStream
	events func(Event)

	tell     sync.Mutex // one event at a time
	closed   chan struct{}
	mu       sync.Mutex
	sessions map[string]consuming
	watchers sync.WaitGroup
}

func openAdapter(v verbs, url string, events func(Event)) (Peer, error) {
	// The suite captures at one server, so a cluster's others are not for clients.
	nc, err := nats.Connect(url, nats.IgnoreDiscoveredServers())
	if err != nil {
		return nil, fmt.Errorf("%w: connect to %s: %w", ErrHarness, url, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	return &adapter{verbs: v, nc: nc, js: js, events: events, closed: make(chan struct{}), sessions: map[string]consuming{}}, nil
}

// Call carries out one operation.
func (a *adapter) Call(ctx context.Context, r Request) (Answer, error) {
	var out Answer
	var err error
	switch r.Op {
	case OpCreate:
		err = a.verbs.create(ctx, a.js, r)
	case OpGet:
		out.Config, err = a.verbs.get(ctx, a.js, r)
	case OpList:
		out.Names, err = a.verbs.list(ctx, a.js, r)
	case OpDelete:
		err = a.verbs.remove(ctx, a.js, r)
	case OpAddMembers:
		out.Names, err = a.verbs.addMembers(ctx, a.js, r)
	case OpDeleteMembers:
		out.Names, err = a.verbs.deleteMembers(ctx, a.js, r)
	case OpSetMappings:
		err = a.verbs.setMappings(ctx, a.js, r)
	case OpDeleteMappings:
		err = a.verbs.deleteMappings(ctx, a.js, r)
	case OpActive:
		out.Names, err = a.verbs.active(ctx, a.js, r)
	case OpMembership:
		out.Member, out.Active, err = a.verbs.membership(ctx, a.js, r)
	case OpStepDown:
		err = a.verbs.stepDown(ctx, a.js, r)
	case OpConsume:
		err = a.consume(ctx, r)
	case OpStop:
		err = a.stop(r.Session)
	default:
		err = fmt.Errorf("%w: operation %q", ErrUnsupported, r.Op)
	}
	return out, err
}

func (a *adapter) consume(ctx context.Context, r Request) error {
	config := jetstream.ConsumerConfig{AckWait: r.AckWait, MaxAckPending: r.MaxAckPending}
	switch r.AckPolicy {
	case "all":
		config.AckPolicy = jetstream.AckAllPolicy
	case "none":
		config.AckPolicy = jetstream.AckNonePolicy
	default:
		config.AckPolicy = jetstream.AckExplicitPolicy
	}
	// The reference ends a session when the context of the join ends.
	s, err := a.verbs.consume(context.WithoutCancel(ctx), a.js, r, a.handler(r), config)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[r.Session] = s
	a.watchers.Go(func() {
		select {
		case err := <-s.Done():
			e := Event{Event: EventEnded, Session: r.Session}
			if err != nil {
				e.Error = err.Error()
			}
			a.report(e)
		case <-a.closed:
		}
	})
	return nil
}

// handler reports a message, works for as long as it is told to, acknowledges
// and reports that.
func (a *adapter) handler(r Request) func(jetstream.Msg) {
	return func(m jetstream.Msg) {
		e := Event{Event: EventMessage, Session: r.Session, Subject: m.Subject(), Data: string(m.Data()), Pinned: m.Headers().Get("Nats-Pin-Id")}
		a.report(e)
		if r.Work > 0 {
			select {
			case <-time.After(r.Work):
			case <-a.closed:
				return
			}
		}
		e.Event = EventDone
		if r.AckPolicy != "none" {
			if err := m.Ack(); err != nil {
				e.Error = err.Error()
			}
		}
		a.report(e)
	}
}

func (a *adapter) report(e Event) {
	e.TimeNs = time.Now().UnixNano()
	a.tell.Lock()
	defer a.tell.Unlock()
	select {
	case <-a.closed:
	default:
		a.events(e)
	}
}

func (a *adapter) stop(session string) error {
	a.mu.Lock()
	s := a.sessions[session]
	delete(a.sessions, session)
	a.mu.Unlock()
	if s == nil {
		return errors.New("no such session: " + session)
	}
	s.Stop()
	return nil
}

// Close ends the instance as a crash would: the connection goes without any
// session having been stopped. The sessions are then told to stop, as the
// reference would otherwise keep their goroutines for ever.
func (a *adapter) Close() error {
	a.tell.Lock()
	select {
	case <-a.closed:
	default:
		close(a.closed)
	}
	a.tell.Unlock()
	a.nc.Close()
	a.mu.Lock()
	for _, s := range a.sessions {
		s.Stop()
	}
	a.mu.Unlock()
	a.watchers.Wait()
	return nil
}
