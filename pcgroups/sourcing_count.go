package pcgroups

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// tally is how many messages of a group the origin holds in a stretch of it.
type tally struct {
	n uint64
	// exact: n is neither too small because of messages that came in while it
	// was counted, nor because some of the stretch are gone from the origin.
	exact bool
	known bool // the origin could be counted at all
}

const (
	// countTries bounds how often a count is repeated because messages came in.
	countTries = 5
	// countLife is how long a consumer that counted lives if it can not be
	// deleted.
	countLife = 5 * time.Second
	// countPatience is how long to wait for such a consumer. Without permission
	// no answer ever comes.
	countPatience = 5 * time.Second
)

// count counts the group's messages in a stretch of the origin, both ends included.
//
// Where the group takes all messages and none is gone, that is a subtraction.
// Otherwise two short-lived consumers that nobody reads from tell how many are
// after each end. That works for an origin with limits retention only: in others
// a consumer has a say in what is kept. If it can not be counted, for this or for
// want of permission, the result is not known, without an error; one is returned
// only when ctx has ended or the connection is closed.
func (h *hop) count(ctx context.Context, from, to uint64) (tally, error) {
	info, err := h.info(ctx, h.stream)
	if err != nil {
		return tally{}, lasting(ctx, err)
	}
	st := info.State
	switch {
	case from > to || from > st.LastSeq:
		return tally{exact: true, known: true}, nil
	case info.Config.Retention != jetstream.LimitsPolicy:
		return tally{}, nil
	}
	intact := st.FirstSeq <= from && st.NumDeleted == 0
	if h.whole() && intact && to <= st.LastSeq {
		return tally{n: to - from + 1, exact: true, known: true}, nil
	}
	if h.uncountable {
		return tally{}, nil
	}
	for try := 1; ; try++ {
		before, err := h.pending(ctx, to+1)
		var all, after uint64
		if err == nil {
			all, err = h.pending(ctx, from)
		}
		if err == nil {
			after, err = h.pending(ctx, to+1)
		}
		switch {
		case err != nil:
			h.uncountable = true
			return tally{}, lasting(ctx, err)
		case before == after:
			return tally{n: all - min(after, all), exact: intact, known: true}, nil
		case try == countTries:
			// What came in since all was taken makes the result too small.
			return tally{n: all - min(after, all), known: true}, nil
		}
	}
}

// pending is how many messages of the group are in the origin from a sequence on.
func (h *hop) pending(ctx context.Context, seq uint64) (uint64, error) {
	try, cancel := context.WithTimeout(ctx, countPatience)
	defer cancel()
	c, err := h.js.CreateConsumer(try, h.stream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: seq, FilterSubjects: h.filters,
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, Replicas: 1, InactiveThreshold: countLife,
	})
	if err != nil {
		return 0, err
	}
	info := c.CachedInfo()
	// It goes by itself if this fails.
	away, stop := context.WithTimeout(context.WithoutCancel(ctx), countPatience)
	defer stop()
	_ = h.js.DeleteConsumer(away, h.stream, info.Name)
	return info.NumPending, nil
}

// lasting keeps an error that trying something else would only meet again.
func lasting(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isClosed(err) {
		return err
	}
	return nil
}
