package bench

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// raw is no consumer group at all: a consumer with the same settings as a static
// member's, and the client's own Consume. It is the most that can be had.
type raw struct{}

func (raw) name() string { return "raw" }

func (raw) create(context.Context, jetstream.JetStream, group) error { return nil }

func (raw) remove(ctx context.Context, js jetstream.JetStream, g group) error {
	return js.DeleteConsumer(ctx, g.stream, g.consumer(g.members[0]))
}

func (raw) add(context.Context, jetstream.JetStream, group, string) error {
	return errors.ErrUnsupported
}
func (raw) drop(context.Context, jetstream.JetStream, group, string) error {
	return errors.ErrUnsupported
}

func (raw) consume(ctx context.Context, js jetstream.JetStream, g group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (session, error) {
	config.Durable = g.consumer(member)
	config.FilterSubjects = pcgroups.GeneratePartitionFilters(g.members, g.partitions, nil, member, g.filter())
	config.PriorityPolicy = jetstream.PriorityPolicyPinned
	config.PriorityGroups = []string{pcgroups.PriorityGroup}
	config.PinnedTTL = config.AckWait
	consumer, err := js.CreateConsumer(ctx, g.stream, config)
	if err != nil {
		return nil, err
	}
	cc, err := consumer.Consume(handle, jetstream.PullExpiry(config.AckWait/2), jetstream.PullPriorityGroup(pcgroups.PriorityGroup))
	if err != nil {
		return nil, err
	}
	s := &rawSession{cc: cc, done: make(chan error, 1)}
	closed := cc.Closed()
	go func() {
		<-closed
		s.done <- nil
	}()
	return s, nil
}

type rawSession struct {
	cc   jetstream.ConsumeContext
	done chan error
}

func (s *rawSession) Stop()              { s.cc.Stop() }
func (s *rawSession) Done() <-chan error { return s.done }
