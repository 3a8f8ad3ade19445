package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// order is what this worker works on.
type order struct {
	Item string `json:"item"`
}

// process is the work itself. It may be asked to do the same order again, after a
// crash say, and then must do no harm. ctx ends when the message is no longer
// this instance's.
func process(_ context.Context, log *slog.Logger, msg *pcgroups.Msg) error {
	var o order
	if err := json.Unmarshal(msg.Data(), &o); err != nil {
		return fmt.Errorf("%w: %w", errPoison, err)
	}
	log.Info("order", "subject", msg.Subject(), "partition", msg.Partition(), "item", o.Item)
	return nil
}

// errPoison marks a message that no retry will make better.
var errPoison = errors.New("the message can not be processed")

// retryPause is how long the member rests after a failure. With one message in
// flight the later ones wait too, so the order is kept.
const retryPause = 5 * time.Second

// handler settles a message by the outcome of its processing. It returns an error
// only if it could not; that ends the session, and the program.
func handler(log *slog.Logger) func(context.Context, *pcgroups.Msg) (outcome, error) {
	return func(ctx context.Context, msg *pcgroups.Msg) (outcome, error) {
		err := process(ctx, log, msg)
		switch {
		case err == nil:
			return done, msg.Ack()
		case errors.Is(err, errPoison):
			log.Error("message given up", "subject", msg.Subject(), "error", err)
			return poison, msg.TermWithReason(err.Error())
		default:
			log.Warn("message will be retried", "subject", msg.Subject(), "error", err)
			return failed, msg.NakWithDelay(retryPause)
		}
	}
}
