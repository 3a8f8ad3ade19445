package pcgroups

import "encoding/json"

// flavour is everything in which static and elastic groups differ. The code
// that administers and consumes them is one and the same; it asks a flavour.
type flavour struct {
	kind   string // as it appears in messages
	bucket string // where configurations are stored

	// groupStream and consumerName tell where a member's consumer is.
	groupStream  func(stream, group string) string
	consumerName func(group, member string) string
	durable      bool // the consumer is a durable with no inactivity threshold

	// mustBeMember: joining is refused to a name that is not in the group.
	// Otherwise it waits until it is added.
	mustBeMember bool
	// explicitAck: only explicit acknowledgement is allowed.
	explicitAck bool
	// recreates: a consumer that is gone is created again. Otherwise that would
	// lose the member's position, so the session ends.
	recreates bool
	// deletesConsumer: a member removes its consumer when the group is changed
	// or deleted, as nothing else will.
	deletesConsumer bool

	// view decodes a stored configuration to what one member must know of it.
	view func(value []byte, member string) (view, error)
}

// view is what a session knows of a configuration.
type view struct {
	// shape stands for the part that may not change while a session runs. Two
	// configurations that differ only in nil and empty have the same shape.
	shape string
	// member tells whether the name is in the group.
	member bool
	// filters are the subjects of the member's consumer. A member beyond the
	// partition count has none.
	filters []string
	// partitions are what the filters cover, for Status and Events.
	partitions []int
}

var staticFlavour = &flavour{
	kind:            "static",
	bucket:          StaticBucket,
	groupStream:     func(stream, _ string) string { return stream },
	consumerName:    ComposeStaticConsumerName,
	durable:         true,
	mustBeMember:    true,
	deletesConsumer: true,
	view: func(value []byte, member string) (view, error) {
		c, err := decodeStatic(value)
		if err != nil {
			return view{}, err
		}
		return view{
			shape:      shapeOf(c), // all of it
			member:     c.IsInMembership(member),
			filters:    StaticGetPartitionFilters(*c, member),
			partitions: partitionsOf(c.MaxMembers, c.Members, c.MemberMappings, member),
		}, nil
	},
}

var elasticFlavour = &flavour{
	kind:         "elastic",
	bucket:       ElasticBucket,
	groupStream:  ComposeGroupStreamName,
	consumerName: func(_, member string) string { return member },
	explicitAck:  true,
	recreates:    true,
	view: func(value []byte, member string) (view, error) {
		c, err := decodeElastic(value)
		if err != nil {
			return view{}, err
		}
		fixed := *c
		fixed.Members, fixed.MemberMappings = nil, nil
		if len(fixed.PartitioningFilters) == 0 {
			fixed.PartitioningFilters = nil
		}
		fixed.PartitioningFilters = append([]PartitioningFilter(nil), fixed.PartitioningFilters...)
		for i, f := range fixed.PartitioningFilters {
			if len(f.PartitioningWildcards) == 0 {
				fixed.PartitioningFilters[i].PartitioningWildcards = nil
			}
		}
		return view{
			shape:      shapeOf(&fixed),
			member:     c.IsInMembership(member),
			filters:    ElasticGetPartitionFilters(*c, member),
			partitions: partitionsOf(c.MaxMembers, c.Members, c.MemberMappings, member),
		}, nil
	},
}

// shapeOf turns a configuration into a comparable value. Marshalling these
// types can not fail: they hold only strings, integers and slices of them.
func shapeOf(config any) string {
	b, _ := json.Marshal(config)
	return string(b)
}
