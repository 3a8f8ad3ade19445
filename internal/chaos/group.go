package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// partitions of every group.
const partitions = 8

// minAckWait is the shortest that any instance is run with. No handler may take
// as long: past its deadline a message may rightly be handled elsewhere too.
const minAckWait = 4 * time.Second

// session is what both implementations return to who consumes.
type session interface {
	Stop()
	Done() <-chan error
}

// group is a consumer group under test, its origin stream and the traffic on it.
type group struct {
	stream, name string
	static       bool
	flips        bool // members come and go
	replaced     bool // it is deleted and created again; its sessions have WithRejoin
	keys         int
	rate         float64 // messages a second of each key
	pending      int     // MaxAckPending
	concurrency  int     // how many partitions of a member are handled at once
	members      []string
	instances    int      // of each member
	oracles      []string // further members, or the same, run by the oracle

	judge *judge
}

// groups are what a run is about. The strict fleet is ours alone.
func groups(mixed bool) []*group {
	flipping := &group{stream: "ORDERS", name: "flip", flips: true, keys: 12, rate: 6, pending: 1, members: []string{"m1", "m2", "m3", "m4"}, instances: 2}
	all := []*group{
		flipping,
		{stream: "BULK", name: "ahead", flips: true, keys: 16, rate: 6, pending: 100, concurrency: 4, members: []string{"m1", "m2", "m3"}, instances: 2},
		{stream: "EVENTS", name: "fixed", static: true, keys: 8, rate: 6, pending: 1, members: []string{"m1", "m2"}, instances: 2},
		{stream: "PARTS", name: "again", replaced: true, keys: 6, rate: 1.5, pending: 1, members: []string{"m1", "m2"}, instances: 2},
	}
	if mixed {
		// One member is the oracle's alone, one has instances of both.
		flipping.oracles = []string{"o1", "m4"}
	}
	return all
}

func (g *group) String() string { return g.stream + "/" + g.name }

// subject is what a key's messages are published to.
func (g *group) subject(key string) string { return g.stream + "." + key }

func (g *group) filter() string { return g.stream + ".*" }

// consumerStream is the stream that the members' consumers are on.
func (g *group) consumerStream() string {
	if g.static {
		return g.stream
	}
	return pcgroups.ComposeGroupStreamName(g.stream, g.name)
}

func (g *group) consumer(member string) string {
	if g.static {
		return pcgroups.ComposeStaticConsumerName(g.name, member)
	}
	return member
}

// allMembers are the members that have instances, of either implementation.
func (g *group) allMembers() []string {
	all := append([]string(nil), g.members...)
	for _, o := range g.oracles {
		known := false
		for _, m := range g.members {
			known = known || m == o
		}
		if !known {
			all = append(all, o)
		}
	}
	return all
}

// setUp makes the origin stream and the group.
func (g *group) setUp(ctx context.Context, js jetstream.JetStream) error {
	config := jetstream.StreamConfig{Name: g.stream, Subjects: []string{g.filter()}, Storage: jetstream.FileStorage, Replicas: nodes}
	if g.static {
		config.SubjectTransform = &jetstream.SubjectTransformConfig{
			Source:      g.filter(),
			Destination: pcgroups.PartitioningTransformDestination(pcgroups.PartitioningFilter{Filter: g.filter(), PartitioningWildcards: []int{1}}, partitions),
		}
	}
	if _, err := js.CreateStream(ctx, config); err != nil {
		return fmt.Errorf("creating %s: %w", g.stream, err)
	}
	return g.create(ctx, js)
}

func (g *group) create(ctx context.Context, js jetstream.JetStream) error {
	if g.static {
		_, err := pcgroups.CreateStatic(ctx, js, g.stream, g.name, partitions, []string{g.filter()}, g.members, nil)
		return err
	}
	filters := []pcgroups.PartitioningFilter{{Filter: g.filter(), PartitioningWildcards: []int{1}}}
	_, err := pcgroups.CreateElastic(ctx, js, g.stream, g.name, partitions, filters, -1, -1, pcgroups.WithMembers(g.allMembers()...))
	return err
}

func (g *group) consumerConfig(ackWait time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: g.pending, AckWait: ackWait}
}

// consume joins as one instance of a member. The oracle's sessions need a context
// that lives as long as they do.
func (g *group) consume(ctx context.Context, js jetstream.JetStream, member string, oracle bool, ackWait time.Duration, handle func(jetstream.Msg), events pcgroups.Events) (session, error) {
	config := g.consumerConfig(ackWait)
	opts := []pcgroups.ConsumeOption{pcgroups.WithEvents(events)}
	if g.replaced {
		opts = append(opts, pcgroups.WithRejoin())
	}
	if g.concurrency > 1 {
		opts = append(opts, pcgroups.WithConcurrency(g.concurrency))
	}
	switch {
	case oracle:
		return orbit.ElasticConsume(ctx, js, g.stream, g.name, member, handle, config)
	case g.static:
		return pcgroups.StaticConsume(ctx, js, g.stream, g.name, member, handle, config, opts...)
	}
	return pcgroups.ElasticConsume(ctx, js, g.stream, g.name, member, handle, config, opts...)
}
