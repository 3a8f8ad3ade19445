package conformance

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go/jetstream"
)

// consuming is a session of a member, of either Go implementation.
type consuming interface {
	Stop()
	Done() <-chan error
}

// verbs are the calls of a Go implementation. They differ only in the package
// they are from, so everything else about an adapter is written once (adapter).
type verbs interface {
	create(ctx context.Context, js jetstream.JetStream, r Request) error
	get(ctx context.Context, js jetstream.JetStream, r Request) (json.RawMessage, error)
	list(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error)
	remove(ctx context.Context, js jetstream.JetStream, r Request) error
	addMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error)
	deleteMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error)
	setMappings(ctx context.Context, js jetstream.JetStream, r Request) error
	deleteMappings(ctx context.Context, js jetstream.JetStream, r Request) error
	active(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error)
	membership(ctx context.Context, js jetstream.JetStream, r Request) (member, active bool, err error)
	stepDown(ctx context.Context, js jetstream.JetStream, r Request) error
	consume(ctx context.Context, js jetstream.JetStream, r Request, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (consuming, error)
}
