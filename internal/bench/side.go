package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// flavour is the kind of a group.
type flavour string

const (
	static  flavour = "static"
	elastic flavour = "elastic"
)

// group is a group that is measured, keyed by the second token of the subjects
// <stream>.<key>.
type group struct {
	flavour      flavour
	stream, name string
	partitions   uint
	members      []string
}

func (g group) filter() string { return g.stream + ".*" }

// consumerStream is the stream that the members' consumers are on.
func (g group) consumerStream() string {
	if g.flavour == static {
		return g.stream
	}
	return pcgroups.ComposeGroupStreamName(g.stream, g.name)
}

func (g group) consumer(member string) string {
	if g.flavour == static {
		return pcgroups.ComposeStaticConsumerName(g.name, member)
	}
	return member
}

// session is what both implementations return to who consumes.
type session interface {
	Stop()
	Done() <-chan error
}

// side is an implementation under measurement.
type side interface {
	name() string
	create(ctx context.Context, js jetstream.JetStream, g group) error
	remove(ctx context.Context, js jetstream.JetStream, g group) error
	add(ctx context.Context, js jetstream.JetStream, g group, member string) error
	drop(ctx context.Context, js jetstream.JetStream, g group, member string) error
	consume(ctx context.Context, js jetstream.JetStream, g group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (session, error)
}

// ours is package pcgroups.
type ours struct {
	options []pcgroups.ConsumeOption
}

func (ours) name() string { return "ours" }

func (o ours) create(ctx context.Context, js jetstream.JetStream, g group) error {
	if g.flavour == static {
		_, err := pcgroups.CreateStatic(ctx, js, g.stream, g.name, g.partitions, []string{g.filter()}, g.members, nil)
		return err
	}
	filters := []pcgroups.PartitioningFilter{{Filter: g.filter(), PartitioningWildcards: []int{1}}}
	_, err := pcgroups.CreateElastic(ctx, js, g.stream, g.name, g.partitions, filters, -1, -1, pcgroups.WithMembers(g.members...))
	return err
}

func (ours) remove(ctx context.Context, js jetstream.JetStream, g group) error {
	if g.flavour == static {
		return pcgroups.DeleteStatic(ctx, js, g.stream, g.name)
	}
	return pcgroups.DeleteElastic(ctx, js, g.stream, g.name)
}

func (ours) add(ctx context.Context, js jetstream.JetStream, g group, member string) error {
	_, err := pcgroups.AddMembers(ctx, js, g.stream, g.name, []string{member})
	return err
}

func (ours) drop(ctx context.Context, js jetstream.JetStream, g group, member string) error {
	_, err := pcgroups.DeleteMembers(ctx, js, g.stream, g.name, []string{member})
	return err
}

func (o ours) consume(ctx context.Context, js jetstream.JetStream, g group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (session, error) {
	if g.flavour == static {
		return pcgroups.StaticConsume(ctx, js, g.stream, g.name, member, handle, config, o.options...)
	}
	return pcgroups.ElasticConsume(ctx, js, g.stream, g.name, member, handle, config, o.options...)
}

// oracle is package orbit.go/pcgroups. Its sessions need a context that lives as
// long as they do.
type oracle struct{}

func (oracle) name() string { return "oracle" }

func (o oracle) create(ctx context.Context, js jetstream.JetStream, g group) error {
	if g.flavour == static {
		_, err := orbit.CreateStatic(ctx, js, g.stream, g.name, g.partitions, []string{g.filter()}, g.members, nil)
		return err
	}
	filters := []orbit.PartitioningFilter{{Filter: g.filter(), PartitioningWildcards: []int{1}}}
	if _, err := orbit.CreateElastic(ctx, js, g.stream, g.name, g.partitions, filters, -1, -1); err != nil {
		return err
	}
	_, err := orbit.AddMembers(ctx, js, g.stream, g.name, g.members)
	return err
}

func (oracle) remove(ctx context.Context, js jetstream.JetStream, g group) error {
	if g.flavour == static {
		return orbit.DeleteStatic(ctx, js, g.stream, g.name)
	}
	return orbit.DeleteElastic(ctx, js, g.stream, g.name)
}

func (oracle) add(ctx context.Context, js jetstream.JetStream, g group, member string) error {
	_, err := orbit.AddMembers(ctx, js, g.stream, g.name, []string{member})
	return err
}

func (oracle) drop(ctx context.Context, js jetstream.JetStream, g group, member string) error {
	_, err := orbit.DeleteMembers(ctx, js, g.stream, g.name, []string{member})
	return err
}

func (oracle) consume(ctx context.Context, js jetstream.JetStream, g group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (session, error) {
	if g.flavour == static {
		return orbit.StaticConsume(ctx, js, g.stream, g.name, member, handle, config)
	}
	return orbit.ElasticConsume(ctx, js, g.stream, g.name, member, handle, config)
}

// instance is a running instance of a member, with a connection of its own as if
// it were a program of its own.
type instance struct {
	conn    *nats.Conn
	session session
}

// join runs one instance.
func join(ctx context.Context, l *lab, s side, g group, member string, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (*instance, error) {
	nc, js, err := l.connectMember(s.name() + " " + member)
	if err != nil {
		return nil, err
	}
	sess, err := s.consume(ctx, js, g, member, handle, config)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%s joins as %s: %w", s.name(), member, err)
	}
	return &instance{nc, sess}, nil
}

// leave stops an instance and closes its connection.
func (i *instance) leave() error {
	i.session.Stop()
	return i.left()
}

// left waits for the end of an instance that was asked to stop.
func (i *instance) left() error {
	defer i.conn.Close()
	return ended(i.session)
}

// ended waits for the end of a session that was asked to stop.
func ended(s session) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-s.Done():
		return err
	case <-late.C:
		return errors.New("a session does not stop")
	}
}
