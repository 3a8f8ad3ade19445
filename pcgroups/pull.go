package pcgroups

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsPuller is a running pull of the client.
type natsPuller struct {
	nc *nats.Conn
	cc jetstream.ConsumeContext
	// ended is asked for once: the client closes early what it returns to a later
	// call while a handler still runs.
	ended <-chan struct{}
}

func (p *natsPuller) stop(deliver bool) {
	if deliver && p.nc.IsConnected() { // draining waits for the server
		p.cc.Drain()
		return
	}
	p.cc.Stop()
}

func (p *natsPuller) closed() <-chan struct{} { return p.ended }

// pull starts pulling with the oracle's parameters: the priority group, without
// which a pull would bypass the pin, and an expiry of half the consumer's ack
// wait, by which a pinned instance renews its pin in time.
func (b *natsBackend) pull(a attachment, r *runner, tell func(event)) (puller, error) {
	t := deriveTimers(a.config.AckWait)
	cc, err := a.consumer.Consume(r.deliver,
		jetstream.PullExpiry(t.pullExpiry),
		jetstream.PullHeartbeat(t.heartbeat),
		jetstream.PullPriorityGroup(PriorityGroup),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			if errors.Is(err, jetstream.ErrPinIDMismatch) {
				r.unpinned()
			}
			if shaken(err) {
				r.doubt()
			}
			if ev := pullEvent(err); ev != nil {
				tell(ev)
			}
		}))
	if err != nil {
		return nil, err
	}
	return &natsPuller{nc: b.js.Conn(), cc: cc, ended: cc.Closed()}, nil
}

// pullEvent tells what a report of the client's pull means. Those after which it
// stops by itself are noticed by its closing.
func pullEvent(err error) event {
	switch {
	case errors.Is(err, jetstream.ErrPinIDMismatch):
		return evPinned{}
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrConnectionClosed):
		return nil // seen by the session itself
	case errors.Is(err, jetstream.ErrConsumerLeadershipChanged), errors.Is(err, jetstream.ErrServerShutdown):
		return evNotice{err: err}
	}
	// Deleted consumers, missing heartbeats, no responders, refused requests: the
	// client goes on asking for some of them for ever, so a look decides.
	return evPullTrouble{err}
}

// watch follows the group's key. The subscription is bound to its own context:
// the client drops a watch whose context ends.
func (b *natsBackend) watch(ctx context.Context, tell func(event)) (func(), error) {
	st, err := openStore(ctx, b.js, b.fl)
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	setUp := context.AfterFunc(ctx, cancel) // ctx bounds the setting up
	w, err := st.kv.Watch(own, ComposeKey(b.stream, b.group))
	if err == nil && !setUp() {
		err = errors.Join(ctx.Err(), w.Stop())
	}
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.Updates() {
			if e != nil {
				tell(b.entryEvent(e))
			}
		}
		if own.Err() == nil {
			tell(evWatchLost{errors.New("the watch of the group's configuration was closed")})
		}
	}()
	return func() {
		cancel()
		_ = w.Stop() // fails only if it is gone already
		<-ended
	}, nil
}

func (b *natsBackend) entryEvent(e jetstream.KeyValueEntry) event {
	if e.Operation() != jetstream.KeyValuePut {
		return evGone{e.Revision()}
	}
	v, err := b.fl.view(e.Value(), b.member)
	if err != nil {
		return evBadConfig{err: err, revision: e.Revision()}
	}
	return evConfig{view: v, revision: e.Revision()}
}
