package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lookout is what a dispatcher asks of the server.
type lookout interface {
	// flight tells how many messages of the consumer are in flight, up to which
	// sequence it has delivered, and up to which all are settled.
	flight(ctx context.Context) (inFlight int, delivered, floor uint64, err error)
	// reign tells of the consumer's leader.
	reign(ctx context.Context) (reign, error)
	// gone tells whether a message is not in the stream any more.
	gone(ctx context.Context, seq uint64) (bool, error)
	// next tells of each whether nothing of its partition is to be settled between
	// the one it comes after and itself. With an error it says so as far as it knows.
	next(ctx context.Context, candidates []candidate) ([]bool, error)
	// progress extends the ack deadlines of the messages with these reply
	// subjects, and returns when the server has done so.
	progress(ctx context.Context, replies []string) error
	// cuts tells, before any message that comes later, that the connection was lost.
	cuts() (lost <-chan nats.Status, stop func())
}

func (b *natsBackend) flight(ctx context.Context) (inFlight int, delivered, floor uint64, err error) {
	info, err := b.info(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return info.NumAckPending, info.Delivered.Stream, info.AckFloor.Stream, nil
}

func (b *natsBackend) gone(ctx context.Context, seq uint64) (bool, error) {
	m, err := b.message(ctx, messageRequest{Seq: seq})
	return err == nil && m == 0, err
}

func (b *natsBackend) next(ctx context.Context, candidates []candidate) ([]bool, error) {
	_, _, floor, err := b.flight(ctx)
	if err != nil {
		return nil, err
	}
	next := make([]bool, len(candidates))
	if !b.fl.removesAcked {
		for i, p := range candidates {
			next[i] = floor+1 >= p.seq
		}
		if floor == 0 {
			return next, errors.New("nothing was acknowledged in order yet")
		}
		return next, nil
	}
	errs := make([]error, len(candidates))
	var asking sync.WaitGroup
	for i, p := range candidates {
		asking.Go(func() {
			// What was given up stays in the stream for ever, behind the floor.
			var m uint64
			m, errs[i] = b.message(ctx, messageRequest{Seq: max(floor, p.after) + 1, NextFor: strconv.Itoa(p.partition) + ".>"})
			next[i] = m >= p.seq
		})
	}
	asking.Wait()
	return next, errors.Join(errs...)
}

// messageRequest asks a stream for a message (STREAM.MSG.GET, ADR-31).
type messageRequest struct {
	Seq     uint64 `json:"seq"`
	NextFor string `json:"next_by_subj,omitempty"`
}

// message is the sequence of a message in the consumer's stream, 0 if there is
// none. It asks the leader, which the client's GetMsg does not: a server that is
// behind could miss one that is there.
func (b *natsBackend) message(ctx context.Context, r messageRequest) (seq uint64, err error) {
	reply, err := b.js.Conn().RequestWithContext(ctx, apiPrefix(b.js)+"STREAM.MSG.GET."+b.consumerStream(), marshal(r))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Sequence uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return 0, err
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return 0, nil
	case answer.Error != nil:
		return 0, answer.Error
	}
	return answer.Message.Sequence, nil
}

func (b *natsBackend) progress(ctx context.Context, replies []string) error {
	nc, last := b.js.Conn(), len(replies)-1
	for _, reply := range replies[:last] {
		if err := nc.Publish(reply, inProgress); err != nil {
			return err
		}
	}
	// The server answers in order.
	_, err := nc.RequestWithContext(ctx, replies[last], inProgress)
	return err
}

// inProgress is the acknowledgement that asks for more time.
var inProgress = []byte("+WPI")

func (b *natsBackend) cuts() (<-chan nats.Status, func()) {
	ch := b.js.Conn().StatusChanged(nats.RECONNECTING)
	return ch, func() { b.js.Conn().RemoveStatusListener(ch) }
}
