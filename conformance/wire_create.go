package conformance

import (
	"github.com/nats-io/nats.go/jetstream"
)

// partitionedOrigin is a stream whose subjects carry the number of one of two
// partitions, as static groups need it.
var partitionedOrigin = jetstream.StreamConfig{
	Subjects:         []string{"orders.*", "returns.*"},
	SubjectTransform: &jetstream.SubjectTransformConfig{Source: "*.*", Destination: "{{Partition(2,2)}}.{{Wildcard(1)}}.{{Wildcard(2)}}"},
}

var plainOrigin = jetstream.StreamConfig{Subjects: []string{"orders.>", "returns.>"}}

func elasticRequest(n uint, filters []PartitioningFilter, msgs, bytes int64) Request {
	return Request{Op: OpCreate, Flavour: Elastic, Stream: stream, Group: group,
		MaxMembers: n, PartitionFilters: filters, MaxBufferedMsgs: msgs, MaxBufferedBytes: bytes}
}

func staticRequest(n uint, filters, members []string, mappings []MemberMapping) Request {
	return Request{Op: OpCreate, Flavour: Static, Stream: stream, Group: group,
		MaxMembers: n, Filters: filters, Members: members, Mappings: mappings}
}

var (
	oneFilter   = []PartitioningFilter{{Filter: "orders.*", Wildcards: []int{1}}}
	manyFilters = []PartitioningFilter{{Filter: "orders.*", Wildcards: []int{1}}, {Filter: "returns.*.*", Wildcards: []int{2, 1}}, {Filter: "orders.*.>", Wildcards: []int{1}}}
	twoMappings = []MemberMapping{{Member: "m2", Partitions: []int{2, 0}}, {Member: "m1", Partitions: []int{1}}}
)

// createCase creates a group of one shape, in one step.
func createCase(name string, origin jetstream.StreamConfig, nodes int, whole bool, r Request, needs ...string) Case {
	if nodes > 0 {
		origin.Replicas = nodes
	}
	create := func(s *stage) {
		s.origin(origin)
		s.do("create", r)
	}
	c := Case{Name: "wire/" + r.Flavour + "/" + name, Needs: append(needs, r.Flavour), Nodes: nodes, WholeSubject: whole, wire: create}
	c.onOldServer = func(s *stage) {
		create(s)
		if s.err == nil && !s.script[0].refused {
			s.err = &missing{"a refusal: this server can not partition by the whole subject"}
		}
	}
	return c
}

// createCases cover every shape of a configuration.
func createCases() []Case {
	memory, file := plainOrigin, plainOrigin
	memory.Storage, file.Storage = jetstream.MemoryStorage, jetstream.FileStorage
	e := func(name string, whole bool, filters []PartitioningFilter, needs ...string) Case {
		return createCase("create/"+name, plainOrigin, 0, whole, elasticRequest(6, filters, -1, -1), needs...)
	}
	wild := func(filter string, w []int) []PartitioningFilter {
		return []PartitioningFilter{{Filter: filter, Wildcards: w}}
	}
	cases := []Case{
		e("filters-null", true, nil, FeatureWholeSubject),
		e("filters-empty", true, []PartitioningFilter{}, FeatureWholeSubject),
		e("filter-one", false, oneFilter),
		e("filters-many", false, manyFilters, FeatureManyFilters),
		e("wildcards-null", true, wild("orders.>", nil), FeatureWholeSubject),
		e("wildcards-empty", true, wild("orders.>", []int{}), FeatureWholeSubject),
		e("wildcards-null-star", true, wild("orders.*", nil), FeatureWholeSubject),
		e("wildcards-some", false, wild("orders.*.*.>", []int{2})),
		e("wildcards-out-of-order", false, wild("orders.*.*", []int{2, 1})),
		e("filter-escaped", false, wild("orders.<&.*", []int{1})),
	}
	cases = append(cases,
		createCase("create/limits-none", plainOrigin, 0, false, elasticRequest(6, oneFilter, 0, 0)),
		createCase("create/limits-positive", plainOrigin, 0, false, elasticRequest(6, oneFilter, 20000, 1<<30)),
		createCase("create/limits-one", plainOrigin, 0, false, elasticRequest(6, oneFilter, 0, 1<<20)),
		createCase("create/limits-mixed", plainOrigin, 0, false, elasticRequest(6, oneFilter, -1, 1<<20)),
		createCase("create/partitions-one", plainOrigin, 0, false, elasticRequest(1, oneFilter, -1, -1)),
		createCase("create/partitions-many", plainOrigin, 0, false, elasticRequest(1000, oneFilter, -1, -1)),
		createCase("create/origin-memory", memory, 0, false, elasticRequest(6, oneFilter, -1, -1)),
		createCase("create/origin-file", file, 0, false, elasticRequest(6, oneFilter, -1, -1)),
		createCase("create/origin-replicated", plainOrigin, 3, false, elasticRequest(6, oneFilter, -1, -1)),
		createCase("refused/invalid", plainOrigin, 0, false, elasticRequest(0, oneFilter, -1, -1)),
	)
	s := func(name string, n uint, filters, members []string, mappings []MemberMapping, needs ...string) Case {
		return createCase(name, partitionedOrigin, 0, false, staticRequest(n, filters, members, mappings), needs...)
	}
	memory, file = partitionedOrigin, partitionedOrigin
	memory.Storage, file.Storage = jetstream.MemoryStorage, jetstream.FileStorage
	return append(cases,
		s("create/filters-null", 2, nil, []string{"m1", "m2"}, nil),
		s("create/filters-empty", 2, []string{}, []string{"m1"}, []MemberMapping{}),
		s("create/filter-one", 2, []string{"orders.*"}, []string{"m1"}, nil),
		s("create/filters-many", 2, []string{"returns.*", "orders.>"}, []string{"m1"}, nil, FeatureManyFilters),
		s("create/members-as-given", 4, nil, []string{"m2", "m10", "m1"}, nil),
		s("create/members-none", 2, nil, nil, nil),
		s("create/mappings", 3, nil, nil, twoMappings, FeatureMappings),
		s("create/mappings-many-filters", 3, []string{"orders.*", "returns.*"}, nil, twoMappings, FeatureMappings, FeatureManyFilters),
		createCase("create/origin-memory", memory, 0, false, staticRequest(2, nil, []string{"m1"}, nil)),
		createCase("create/origin-file", file, 0, false, staticRequest(2, nil, []string{"m1"}, nil)),
		createCase("create/origin-replicated", partitionedOrigin, 3, false, staticRequest(2, nil, []string{"m1"}, nil)),
		s("refused/invalid", 2, nil, []string{"m1"}, twoMappings),
	)
}
