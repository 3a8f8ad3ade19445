package conformance

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"
)

// OracleVersion is the version of the reference that go.mod pins.
const OracleVersion = "v0.2.2"

// Oracle is the reference implementation, in this process.
func Oracle() Implementation {
	return inProcess(Hello{Name: "oracle", Version: OracleVersion, Language: "go", Features: allFeatures()}, orbit{})
}

// orbit calls the reference, github.com/synadia-io/orbit.go/pcgroups.
type orbit struct{}

func (orbit) create(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		_, err := oracle.CreateStatic(ctx, js, r.Stream, r.Group, r.MaxMembers, r.Filters, r.Members, orbit{}.mappings(r.Mappings))
		return err
	}
	_, err := oracle.CreateElastic(ctx, js, r.Stream, r.Group, r.MaxMembers, orbit{}.filters(r.PartitionFilters), r.MaxBufferedMsgs, r.MaxBufferedBytes)
	return err
}

func (orbit) get(ctx context.Context, js jetstream.JetStream, r Request) (json.RawMessage, error) {
	var config any
	var err error
	if r.Flavour == Static {
		config, err = oracle.GetStaticConsumerGroupConfig(ctx, js, r.Stream, r.Group)
	} else {
		config, err = oracle.GetElasticConsumerGroupConfig(ctx, js, r.Stream, r.Group)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(config)
}

func (orbit) list(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	if r.Flavour == Static {
		return oracle.ListStaticConsumerGroups(ctx, js, r.Stream)
	}
	return oracle.ListElasticConsumerGroups(ctx, js, r.Stream)
}

func (orbit) remove(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		return oracle.DeleteStatic(ctx, js, r.Stream, r.Group)
	}
	return oracle.DeleteElastic(ctx, js, r.Stream, r.Group)
}

func (orbit) addMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	return oracle.AddMembers(ctx, js, r.Stream, r.Group, r.Members)
}

func (orbit) deleteMembers(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	return oracle.DeleteMembers(ctx, js, r.Stream, r.Group, r.Members)
}

func (orbit) setMappings(ctx context.Context, js jetstream.JetStream, r Request) error {
	return oracle.SetMemberMappings(ctx, js, r.Stream, r.Group, orbit{}.mappings(r.Mappings))
}

func (orbit) deleteMappings(ctx context.Context, js jetstream.JetStream, r Request) error {
	return oracle.DeleteMemberMappings(ctx, js, r.Stream, r.Group)
}

func (orbit) active(ctx context.Context, js jetstream.JetStream, r Request) ([]string, error) {
	if r.Flavour == Static {
		return oracle.ListStaticActiveMembers(ctx, js, r.Stream, r.Group)
	}
	return oracle.ListElasticActiveMembers(ctx, js, r.Stream, r.Group)
}

func (orbit) membership(ctx context.Context, js jetstream.JetStream, r Request) (bool, bool, error) {
	return oracle.ElasticIsInMembershipAndActive(ctx, js, r.Stream, r.Group, r.Member)
}

func (orbit) stepDown(ctx context.Context, js jetstream.JetStream, r Request) error {
	if r.Flavour == Static {
		return oracle.StaticMemberStepDown(ctx, js, r.Stream, r.Group, r.Member)
	}
	return oracle.ElasticMemberStepDown(ctx, js, r.Stream, r.Group, r.Member)
}

func (orbit) consume(ctx context.Context, js jetstream.JetStream, r Request, handle func(jetstream.Msg), config jetstream.ConsumerConfig) (consuming, error) {
	if r.Flavour == Static {
		return oracle.StaticConsume(ctx, js, r.Stream, r.Group, r.Member, handle, config)
	}
	return oracle.ElasticConsume(ctx, js, r.Stream, r.Group, r.Member, handle, config)
}

// mappings and filters convert one by one, so that nil stays nil.
func (orbit) mappings(in []MemberMapping) []oracle.MemberMapping {
	if in == nil {
		return nil
	}
	out := make([]oracle.MemberMapping, len(in))
	for i, m := range in {
		out[i] = oracle.MemberMapping{Member: m.Member, Partitions: m.Partitions}
	}
	return out
}

func (orbit) filters(in []PartitioningFilter) []oracle.PartitioningFilter {
	if in == nil {
		return nil
	}
	out := make([]oracle.PartitioningFilter, len(in))
	for i, f := range in {
		out[i] = oracle.PartitioningFilter{Filter: f.Filter, PartitioningWildcards: f.Wildcards}
	}
	return out
}
