package pcgroups

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// lookout is what a dispatcher asks of the server.
type lookout interface {
	// flight tells how many messages of the consumer are in flight, up to which
	// sequence it has delivered, and up to which all are settled.
	flight(ctx context.Context) (inFlight int, delivered, floor uint64, err error)
	// gone tells whether a message is not in the stream any more.
	gone(ctx context.Context, seq uint64) (bool, error)
	// progress extends the ack deadlines of the messages with these reply
	// subjects, and returns when the server has done so.
	progress(ctx context.Context, replies []string) error
}

func (b *natsBackend) flight(ctx context.Context) (inFlight int, delivered, floor uint64, err error) {
	info, err := b.info(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return info.NumAckPending, info.Delivered.Stream, info.AckFloor.Stream, nil
}

func (b *natsBackend) gone(ctx context.Context, seq uint64) (bool, error) {
	s, err := b.js.Stream(ctx, b.consumerStream())
	if err != nil {
		return false, err
	}
	_, err = s.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return true, nil
	}
	return false, err
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
