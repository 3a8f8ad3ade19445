package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// hop is the way from a group's origin into its work-queue stream, as a client can
// look at it. Nothing here changes anything.
type hop struct {
	js            jetstream.JetStream
	stream, group string
	filters       []string // what the group takes of the origin; none of them overlap
	// patient repeats questions that get no answer, as a cluster may drop them.
	patient bool
	// uncountable is set once the user turned out not to be able to count.
	uncountable bool
}

func newHop(js jetstream.JetStream, stream, group string, c *ElasticConsumerGroupConfig) *hop {
	h := &hop{js: js, stream: stream, group: group}
	for _, t := range groupTransforms(c) {
		h.filters = append(h.filters, t.Source)
	}
	return h
}

// adopt takes the filters from the work-queue stream itself.
func (h *hop) adopt(queue jetstream.StreamConfig) {
	for _, src := range queue.Sources {
		if src.Name == h.stream {
			h.filters = nil
			for _, t := range src.SubjectTransforms {
				h.filters = append(h.filters, t.Source)
			}
		}
	}
}

// whole tells whether the group takes every message of the origin.
func (h *hop) whole() bool { return len(h.filters) == 1 && h.filters[0] == ">" }

func (h *hop) queue() string { return ComposeGroupStreamName(h.stream, h.group) }

// info asks a stream's leader how it is.
func (h *hop) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	s, err := withPatience(ctx, h, func(ctx context.Context) (jetstream.Stream, error) { return h.js.Stream(ctx, name) })
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

func withPatience[T any](ctx context.Context, h *hop, question func(context.Context) (T, error)) (T, error) {
	ctx, cancel := call(ctx, h.js)
	defer cancel()
	if !h.patient {
		return question(ctx)
	}
	return ask(ctx, question)
}

// look takes one look: of one request if it is not deep, of two if it is, and of
// some more while the origin is silent. after is the newest origin sequence known to have been
// sourced. Only an error that says nothing about the streams is returned.
func (h *hop) look(ctx context.Context, after uint64, deep bool) (sourceSight, *jetstream.StreamInfo, error) {
	o := sourceSight{deep: deep}
	if deep {
		// It comes first: what is gone from it and was not sourced afterwards
		// either never will be.
		origin, err := h.info(ctx, h.stream)
		if err != nil && notAsked(err) != nil && ctx.Err() != nil {
			return o, nil, err
		}
		if err == nil {
			o.originLeader, o.originLed, o.originAlive = leaderOf(origin, time.Now())
			o.originFirst, o.originLast = origin.State.FirstSeq, origin.State.LastSeq
			if origin.Config.Replicas < 2 {
				o.originLed = originSettled // it is never elected
			}
		}
	}
	info, err := h.info(ctx, h.queue())
	o.at = time.Now()
	if err != nil {
		return o, nil, notAsked(err)
	}
	o.leader, o.led, o.answered = leaderOf(info, o.at)
	if !o.answered {
		return o, info, nil
	}
	h.adopt(info.Config)
	o.last, o.created, o.whole = info.State.LastSeq, info.Created, h.whole()
	for _, src := range info.Sources {
		if src.Name == h.stream {
			o.active, o.lag, o.seq = src.Active, src.Lag, src.Seq
		}
	}
	if o.originAlive && silent(o.active) {
		err = h.lookBehind(ctx, &o, info, after)
	}
	return o, info, err
}

// lookBehind finds the first message that waits in the origin.
func (h *hop) lookBehind(ctx context.Context, o *sourceSight, info *jetstream.StreamInfo, after uint64) error {
	place, err := h.placeOf(ctx, info)
	if err != nil {
		return notAsked(err)
	}
	next, err := h.next(ctx, max(after, place)+1)
	if err != nil {
		// The origin may have lost its leader since.
		o.originAlive = false
		return notAsked(err)
	}
	if next != nil {
		o.next = next.Sequence
		o.full = isFull(info, next.size)
	}
	return nil
}

// placeOf is the newest origin sequence known to be in the work-queue stream or to
// have been there: what the server says (from 2.15 on), or else what the newest
// message in it says. If it is empty too, it is at least as many as it ever held.
func (h *hop) placeOf(ctx context.Context, info *jetstream.StreamInfo) (uint64, error) {
	place := h.recorded(info)
	if place > 0 || info.State.LastSeq == 0 {
		return place, nil
	}
	newest, err := h.get(ctx, h.queue(), getRequest{LastFor: ">"})
	if err != nil || newest != nil && newest.origin > 0 {
		return newest.originOr(0), err
	}
	return info.State.LastSeq, nil
}

// recorded is the origin sequence that the work-queue stream's leader says it stored
// last; 0 if it does not say.
func (h *hop) recorded(info *jetstream.StreamInfo) uint64 {
	for _, src := range info.Sources {
		if src.Name == h.stream {
			return src.Seq
		}
	}
	return 0
}

// isFull tells whether a message of this size may be refused (discard new).
func isFull(info *jetstream.StreamInfo, size int) bool {
	c, st := info.Config, info.State
	// The transform and the source's header make the message somewhat larger.
	grown := uint64(size)*2 + 512
	return c.MaxMsgs > 0 && st.Msgs >= uint64(c.MaxMsgs) || c.MaxBytes > 0 && st.Bytes+grown > uint64(c.MaxBytes)
}

// leaderOf is the server that leads a stream, and for how long it has; ok is false
// if none does.
func leaderOf(info *jetstream.StreamInfo, now time.Time) (name string, led time.Duration, ok bool) {
	c := info.Cluster
	if c == nil {
		return "", 0, true
	}
	if c.LeaderSince != nil {
		// By the server's clock: its own time stamp is the one to compare with.
		if !info.TimeStamp.IsZero() {
			now = info.TimeStamp
		}
		led = max(now.Sub(*c.LeaderSince), 0)
	}
	return c.Leader, led, c.Leader != ""
}

// notAsked keeps the errors that say nothing about a stream: of the others, that
// there is no answer or no such stream is itself what was seen.
func notAsked(err error) error {
	var api *jetstream.APIError
	if err == nil || errors.As(err, &api) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

// getRequest is a request for one message (ADR-31's fields of STREAM.MSG.GET).
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

// stored is a message in a stream, without its data.
type stored struct {
	Subject  string `json:"subject"`
	Sequence uint64 `json:"seq"`
	Header   []byte `json:"hdrs"`
	origin   uint64 // its sequence in the stream it was sourced from, 0 if it was not
	size     int    // at least that of its data and header
}

func (m *stored) originOr(none uint64) uint64 {
	if m == nil {
		return none
	}
	return m.origin
}

// get reads a message from a stream's leader; nil if there is none. The client's
// GetMsg may be answered by a server of a cluster that is behind.
func (h *hop) get(ctx context.Context, stream string, request getRequest) (*stored, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	reply, err := withPatience(ctx, h, func(ctx context.Context) (*nats.Msg, error) {
		return h.js.Conn().RequestMsgWithContext(ctx, &nats.Msg{Subject: apiPrefix(h.js) + "STREAM.MSG.GET." + stream, Data: body})
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *stored             `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, jetstream.ErrInvalidJetStreamResponse
	}
	m := answer.Message
	m.size = len(reply.Data) * 3 / 4 // it came in base64
	if header, err := nats.DecodeHeadersMsg(m.Header); err == nil {
		m.origin = originSequence(header.Get(sourceHeader))
	}
	return m, nil
}

// next is the first message of the group in the origin at or after a sequence; nil
// if there is none.
func (h *hop) next(ctx context.Context, seq uint64) (*stored, error) {
	var first *stored
	for _, f := range h.filters {
		m, err := h.get(ctx, h.stream, getRequest{Seq: seq, NextFor: f})
		if err != nil {
			return nil, err
		}
		if m != nil && (first == nil || m.Sequence < first.Sequence) {
			first = m
		}
	}
	return first, nil
}
