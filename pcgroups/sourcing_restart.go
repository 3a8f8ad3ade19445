package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// levelSourcePlace is the JetStream API level from which a server keeps a record
// of what it sourced, so that a change of leader resumes there: nats-server 2.15.
const levelSourcePlace = 5

// ErrNotStalled is returned by [RestartSourcing] when sourcing does not stand
// still, or something else explains why it does, or it is not safe to help.
var ErrNotStalled = errors.New("sourcing can not or need not be restarted")

const (
	restartEvery   = 500 * time.Millisecond
	restartSpread  = 2 * time.Second  // clients that act at once spread over this
	restartQuiet   = 10 * time.Second // the least time between two changes of leader
	restartObserve = 4 * time.Second  // how long to look before it is no stall
)

// RestartOption changes how [RestartSourcing] works.
type RestartOption func(*restartOptions)

type restartOptions struct{ server string }

// PreferServer names the server that is to lead the work-queue stream: one that
// was not killed or restarted lately. It must hold a current replica.
func PreferServer(name string) RestartOption {
	return func(o *restartOptions) { o.server = name }
}

// Restart is what [RestartSourcing] did.
type Restart struct {
	From, To string        // the servers that led the work-queue stream before and lead it now
	Stall    SourceStall   // what was found
	Took     time.Duration // from the change of leader until the origin was heard
	// Skip is set if the new leader's record of its place is behind the old one's,
	// so that messages may come twice or be skipped.
	Skip *SourceSkip
}

// RestartSourcing ends a stall of an elastic group's sourcing (see [SourceStall])
// by moving the leadership of its work-queue stream to another server. The
// messages flow again after about a second instead of up to two minutes.
//
// It is not free of risk: 24 of 25 stalls that were ended in this way lost and
// repeated nothing, the other repeated three messages, because leadership went to
// a server that had been killed shortly before. Waiting is always exact as long as
// the leader stays, so use it only if waiting is worse, and name a server by
// [PreferServer] if you know which was not restarted.
//
// It looks for some seconds first and does nothing, with [ErrNotStalled], unless
// all of this holds: both streams have leaders that have been there for a while,
// that of the work-queue stream for 10 s; messages wait and nothing was heard from
// the origin; the stream is not full; there is a replica that is current and was
// never seen offline. Several programs may call it at once: they wait for a random
// time and look again, and after the first has acted the leader is too new for
// the others. On a server older than 2.15, which would skip messages, it fails
// with [ErrServerTooOld].
//
// It needs permission for STREAM.LEADER.STEPDOWN of the work-queue stream, and for
// STREAM.INFO and STREAM.MSG.GET of both streams. Other errors: those of
// [GetElasticConsumerGroupConfig], [ErrStreamNotFound], [ErrNotGroupStream].
func RestartSourcing(ctx context.Context, js jetstream.JetStream, streamName string, consumerGroupName string, opts ...RestartOption) (*Restart, error) {
	var o restartOptions
	for _, opt := range opts {
		opt(&o)
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	r, err := restartSourcing(ctx, js, streamName, consumerGroupName, o)
	return r, failed("restart sourcing of elastic group", streamName, consumerGroupName, "", withRefusal(js, err))
}

func restartSourcing(ctx context.Context, js jetstream.JetStream, stream, group string, o restartOptions) (*Restart, error) {
	c, err := readElastic(ctx, js, stream, group)
	if err != nil {
		return nil, err
	}
	h := newHop(js, stream, group, c)
	info, err := h.info(ctx, h.queue())
	switch {
	case err != nil:
		return nil, err
	case !isGroupStream(stream, c, info.Config):
		return nil, foreignStream(stream, group)
	case !keepsPlace(info):
		return nil, because(ErrServerTooOld, errors.New("a new leader would skip messages, as only nats-server 2.15 and later records what was sourced"), "wait: the server gets over it by itself")
	case info.Cluster == nil || info.Config.Replicas < 2:
		return nil, because(ErrNotStalled, errors.New("the work-queue stream has one replica, so its leader can not change"), "wait: the server gets over it by itself")
	}
	r := &restarter{hop: h, state: sourceState{whole: h.whole()}, offline: map[string]bool{}}
	if err := r.observe(ctx, restartObserve); err != nil {
		return nil, err
	}
	// Others may be at it too.
	if err := pause(ctx, rand.N(restartSpread)); err != nil {
		return nil, err
	}
	if err := r.observe(ctx, 0); err != nil {
		return nil, err
	}
	to, err := r.successor(o.server)
	if err != nil {
		return nil, err
	}
	return r.move(ctx, to)
}

// restarter looks, and acts once.
type restarter struct {
	*hop
	state   sourceState
	sight   sourceSight
	info    *jetstream.StreamInfo
	offline map[string]bool // servers that were seen offline or behind
	stall   *SourceStall
}

// observe looks until there is a stall, at least once and for at most so long.
func (r *restarter) observe(ctx context.Context, most time.Duration) error {
	for end := time.Now().Add(most); ; {
		if err := r.see(ctx); err != nil {
			return err
		}
		// Every rule has to hold now, not only when the stall was found.
		holds := r.sight.answered && r.sight.originAlive && silent(r.sight.active) && r.sight.next > 0 && !r.sight.full
		switch {
		case r.stall != nil && holds && r.sight.led >= restartQuiet:
			return nil
		case !time.Now().Before(end):
			return because(ErrNotStalled, errors.New(r.why()), "look at DescribeElastic")
		}
		if err := pause(ctx, restartEvery); err != nil {
			return err
		}
	}
}

// see takes one look.
func (r *restarter) see(ctx context.Context) error {
	o, info, err := r.look(ctx, r.state.high, true)
	if err != nil {
		return err
	}
	r.sight = o
	if info != nil && info.Cluster != nil {
		r.info = info
		for _, p := range info.Cluster.Replicas {
			if p.Offline || !p.Current {
				r.offline[p.Name] = true
			}
		}
	}
	for _, news := range r.state.see(o) {
		switch news := news.(type) {
		case SourceStall:
			r.stall = &news
		case sourceRecovered:
			r.stall = nil
		}
	}
	return nil
}

// why says which of the rules does not hold.
func (r *restarter) why() string {
	o := r.sight
	switch {
	case !o.answered:
		return "the work-queue stream has no leader"
	case !silent(o.active):
		return fmt.Sprintf("it heard from the origin %v ago", o.active)
	case !o.originAlive:
		return "the origin has no leader"
	case o.next == 0:
		return "no message of the group waits in the origin"
	case o.full:
		return "the work-queue stream is full"
	case o.led < restartQuiet:
		return fmt.Sprintf("its leader has been there for %v only", o.led.Round(time.Millisecond))
	}
	return "the origin's leader is too new"
}

// successor is the server to move to.
func (r *restarter) successor(wanted string) (string, error) {
	for _, p := range r.info.Cluster.Replicas {
		if (wanted == "" || p.Name == wanted) && !r.offline[p.Name] && p.Current && p.Lag == 0 {
			return p.Name, nil
		}
	}
	if wanted != "" {
		return "", because(ErrNotStalled, fmt.Errorf("server %s holds no replica of %s that is current", wanted, r.queue()), "name another, or wait")
	}
	return "", because(ErrNotStalled, errors.New("no other replica is current, and a new leader would skip or repeat messages"), "wait")
}

// move makes a server the leader and waits until it hears from the origin.
func (r *restarter) move(ctx context.Context, to string) (*Restart, error) {
	body, err := json.Marshal(map[string]any{"placement": map[string]string{"preferred": to}})
	if err != nil {
		return nil, err
	}
	done := &Restart{From: r.sight.leader, Stall: *r.stall}
	begun := time.Now()
	reply, err := r.js.Conn().RequestMsgWithContext(ctx, &nats.Msg{Subject: apiPrefix(r.js) + "STREAM.LEADER.STEPDOWN." + r.queue(), Data: body})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	was := r.state.high
	for {
		o, _, err := r.look(ctx, was, false)
		if err != nil {
			return nil, err
		}
		if o.answered && o.leader != done.From && !silent(o.active) {
			done.To, done.Took = o.leader, time.Since(begun)
			if o.seq < was {
				done.Skip = &SourceSkip{Kind: SourcePlaceLost, First: o.seq + 1, Last: was}
			}
			return done, nil
		}
		if err := pause(ctx, restartEvery/5); err != nil {
			return nil, fmt.Errorf("leadership was moved, but sourcing did not go on: %w", err)
		}
	}
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
