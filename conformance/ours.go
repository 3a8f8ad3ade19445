package conformance

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Ours is this repository's library, in this process.
func Ours() Implementation {
	return inProcess(Hello{Name: "ours", Language: "go", Features: append(allFeatures(), FeatureSortedMembers)}, ours{})
}

// ours calls package pcgroups.
type ours struct{}

func (ours) create(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		_, err := pcgroups.CreateStatic(ctx, js, r.Stream, r.Group, r.MaxMembers, r.Filters, r.Members, ours{}.mappings(r.Mappings))
		return err
	}
	_, err := pcgroups.CreateElastic(ctx, js, r.Stream, r.Group, r.MaxMembers, ours{}.filters(r.PartitionFilters), r.MaxBufferedMsgs, r.MaxBufferedBytes)
	return err
}

func (ours) get(ctx context.Context, js jetstream.JetStream, r Request) (json.RawMessage, error) {
	var config any
	var err error
	if r.Flavour == Static {
		config, err = pcgroups.GetStaticConsumerGroupConfig(ctx, js, r.Stream, r.Group)
	} else {
		config, err = pcgroups.GetElasticConsumerGroupConfig(ctx, js, r.Stream, r.Group)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(config)
}

func (ours) list(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	if r.Flavour == Static {
		return pcgroups.ListStaticConsumerGroups(ctx, js, r.Stream)
	}
	return pcgroups.ListElasticConsumerGroups(ctx, js, r.Stream)
}

func (ours) remove(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		return pcgroups.DeleteStatic(ctx, js, r.Stream, r.Group)
	}
	return pcgroups.DeleteElastic(ctx, js, r.Stream, r.Group)
}

func (ours) addMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	return pcgroups.AddMembers(ctx, js, r.Stream, r.Group, r.Members)
}

func (ours) deleteMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	return pcgroups.DeleteMembers(ctx, js, r.Stream, r.Group, r.Members)
}

func (ours) setMappings(ctx context.Context, js jetstream.JetStream, r Request) error {
	return pcgroups.SetMemberMappings(ctx, js, r.Stream, r.Group, ours{}.mappings(r.Mappings))
}

func (ours) deleteMappings(ctx context.Context, js jetstream.JetStream, r Request) error {
	return pcgroups.DeleteMemberMappings(ctx, js, r.Stream, r.Group)
}

func (ours) active(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	if r.Flavour == Static {
		return pcgroups.ListStaticActiveMembers(ctx, js, r.Stream, r.Group)
	}
	return pcgroups.ListElasticActiveMembers(ctx, js, r.Stream, r.Group)
}

func (ours) membership(ctx context.Context, js jetstream.JetStream, r Request) (bool, bool, error) {
	return pcgroups.ElasticIsInMembershipAndActive(ctx, js, r.Stream, r.Group, r.Member)
}

func (ours) stepDown(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		return pcgroups.StaticMemberStepDown(ctx, js, r.Stream, r.Group, r.Member)
	}
	return pcgroups.ElasticMemberStepDown(ctx, js, r.Stream, r.Group, r.Member)
}

func (ours) consume(ctx context.Context, js jetstream.JetStream, r Request, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (consuming, error) {
	if r.Flavour == Static {
		return pcgroups.StaticConsume(ctx, js, r.Stream, r.Group, r.Member, handle, config)
	}
	return pcgroups.ElasticConsume(ctx, js, r.Stream, r.Group, r.Member, handle, config)
}

// mappings and filters convert one by one, so that nil stays nil.
func (ours) mappings(in []MemberMapping) []pcgroups.MemberMapping {
	if in == nil {
		return nil
	}
	out := make([]pcgroups.MemberMapping, len(in))
	for i, m := range in {
		out[i] = pcgroups.MemberMapping{Member: m.Member, Partitions: m.Partitions}
	}
	return out
}

func (ours) filters(in []PartitioningFilter) []pcgroups.PartitioningFilter {
	if in == nil {
		return nil
	}
	out := make([]pcgroups.PartitioningFilter, len(in))
	for i, f := range in {
		out[i] = pcgroups.PartitioningFilter{Filter: f.Filter, PartitioningWildcards: f.Wildcards}
	}
	return out
}
