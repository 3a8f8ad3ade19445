package pcgroups

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An acknowledgement that is sent to a consumer's leader while that is stepping
// down is lost. With one message in flight the consumer then stands still: its new
// leader waits for the message until its ack deadline, and nobody has it. Whoever
// acknowledged it can tell, and says so again.

// standing is what the consumer has in flight.
type standing struct {
	created   time.Time
	delivered uint64 // the last sequence that was
	waiting   bool   // for one message, which was delivered once only
}

func (b *natsBackend) standing(ctx context.Context) (standing, error) {
	info, err := b.info(ctx)
	if err != nil {
		return standing{}, err
	}
	return standing{info.Created, info.Delivered.Stream, info.NumAckPending == 1 && info.NumRedelivered == 0}, nil
}

// shaken tells whether after an error of the pull the leader may be another, so
// that an acknowledgement may have been lost.
func shaken(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerLeadershipChanged) || errors.Is(err, jetstream.ErrServerShutdown) ||
		errors.Is(err, jetstream.ErrNoHeartbeat) || errors.Is(err, nats.ErrNoResponders)
}

// asking is the context of a request that nobody waits for any more when a channel
// is closed.
func asking(ended <-chan struct{}, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// doubt has the last acknowledgement looked after.
func (r *runner) doubt() {
	select {
	case r.doubts <- struct{}{}:
	default: // it will be
	}
}

// confirmer is what confirm asks of the server.
type confirmer interface {
	standing(ctx context.Context) (standing, error)
	barrier(ctx context.Context, acked string) error
}

const (
	// confirmPause is how long is waited between two attempts: an election takes some
	// hundred milliseconds.
	confirmPause = 100 * time.Millisecond
	// confirmFirst is how long the first attempt may take, each later one twice as
	// long up to a second: what is asked while there is no leader is answered never.
	confirmFirst = 250 * time.Millisecond
)

// confirm repeats the last acknowledgement if it was lost, whenever that is in
// doubt. It returns when the runner is closed.
func (r *runner) confirm(server confirmer, created time.Time) {
	for {
		select {
		case <-r.over:
			return
		case <-r.doubts:
		}
		until := time.Now().Add(effectiveAckWait(r.config)) // then the server has given it out again
		for most := confirmFirst; time.Now().Before(until) && !r.confirmed(server, created, most); most = min(2*most, time.Second) {
			t := time.NewTimer(confirmPause)
			select {
			case <-t.C:
			case <-r.over:
				t.Stop()
				return
			}
		}
	}
}

// confirmed tells whether the server knows of the last acknowledgement, or it is
// of no use to repeat it. A consumer of the same name that was made since would
// take it for one of its own, so that is looked at each time.
func (r *runner) confirmed(server confirmer, created time.Time, most time.Duration) bool {
	d := r.mem.acked.Load()
	if d == nil {
		return true
	}
	_, seq := replyInfo(d.Reply())
	ctx, cancel := asking(r.over, most)
	defer cancel()
	now, err := server.standing(ctx)
	if err != nil {
		return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
	}
	if !now.waiting || now.delivered != seq || !now.created.Equal(created) {
		return true
	}
	return server.barrier(ctx, d.Reply()) == nil
}

const (
	appliedLook = 5 * time.Millisecond
	appliedMost = time.Second
)

// applied makes sure that a message is not delivered again by the next consumer. In a
// cluster the consumer's leader answers an acknowledgement before it has come to where
// the stream's leader is, and what is not there when the consumer is deleted, which
// takes another way, is lost. Acknowledgements come there in the order they were sent.
func (b *natsBackend) applied(ctx context.Context, seq uint64) {
	if !b.fl.removesAcked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, appliedMost)
	defer cancel()
	for {
		if gone, err := b.gone(ctx, seq); gone || errors.Is(err, jetstream.ErrStreamNotFound) {
			return
		}
		select {
		case <-time.After(appliedLook):
		case <-ctx.Done():
			return // it is handled again
		}
	}
}
