package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// JetStream API levels (ADR-44) and the server versions that brought them.
const (
	levelPinned       = 1 // pinned clients: nats-server 2.11
	levelWholeSubject = 2 // {{Partition(n)}} without wildcards: nats-server 2.12
)

// levelPatience is how long to wait for the account's level: a server answers
// at once, or, when permissions keep the question from it, never.
const levelPatience = time.Second

// requireLevel refuses what the account's JetStream can not do. The level is
// the one of the servers that hold the streams, which a leaf node's or a
// domain's client is not connected to. Where the account may not ask, the server's
// own refusal has to do.
func requireLevel(ctx context.Context, js jetstream.JetStream, need int, what, version string) error {
	ask, cancel := context.WithTimeout(ctx, levelPatience)
	defer cancel()
	info, err := js.AccountInfo(ask)
	if err != nil {
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			return err
		}
		return ctx.Err()
	}
	if info.API.Level < need {
		return because(ErrServerTooOld,
			fmt.Errorf("%s needs JetStream API level %d, the account has %d", what, need, info.API.Level),
			"upgrade to nats-server "+version+" or later")
	}
	return nil
}

// origin returns the configuration of the stream that a group is made for.
func origin(ctx context.Context, js jetstream.JetStream, stream string) (jetstream.StreamConfig, error) {
	s, err := ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, stream) })
	if err != nil {
		return jetstream.StreamConfig{}, err
	}
	return s.CachedInfo().Config, nil
}

// groupStreamState is what stands where an elastic group's stream belongs.
type groupStreamState int

const (
	streamMissing groupStreamState = iota
	streamOurs
	streamForeign
)

// inspectGroupStream looks at the stream <stream>-<group>. Without a
// configuration it can only tell whether the stream is some elastic group's.
func inspectGroupStream(ctx context.Context, js jetstream.JetStream, stream, group string, c *ElasticConsumerGroupConfig) (groupStreamState, error) {
	s, err := ask(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		return js.Stream(ctx, ComposeGroupStreamName(stream, group))
	})
	switch {
	case isGone(err):
		return streamMissing, nil
	case err != nil:
		return streamMissing, err
	case isGroupStream(stream, c, s.CachedInfo().Config):
		return streamOurs, nil
	}
	return streamForeign, nil
}

func foreignStream(stream, group string) error {
	return because(ErrNotGroupStream,
		fmt.Errorf("%s exists and is not a work queue sourced from %s with this group's partitioning", ComposeGroupStreamName(stream, group), stream),
		"use another group name, or remove that stream yourself if nothing needs it")
}
