package pcgroups

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refusal is an error for want of an answer, with what the server has refused
// last on this connection. It does not answer a request that the user is not
// allowed to make; it tells the connection, to which nobody may be listening. So
// this is most likely the reason, though it can be from before.
type refusal struct{ unanswered, last error }

func (e *refusal) Error() string {
	return e.unanswered.Error() + "; the server last refused: " + e.last.Error()
}

// Unwrap leaves the refusal out where somebody cancelled, whose reason it need not
// be.
func (e *refusal) Unwrap() []error {
	if errors.Is(e.unanswered, context.Canceled) {
		return []error{e.unanswered}
	}
	return []error{e.unanswered, e.last}
}

// withRefusal adds what was refused to an error for want of an answer. Whoever
// cancelled may have done so because none came.
func withRefusal(js jetstream.JetStream, err error) error {
	unanswered := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrTimeout)
	if !unanswered || errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	if last := js.Conn().LastError(); errors.Is(last, nats.ErrPermissionViolation) {
		return &refusal{unanswered: err, last: last}
	}
	return err
}
