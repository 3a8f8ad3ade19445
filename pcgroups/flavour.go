package pcgroups

import "slices"

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
	// removesAcked: the group's stream keeps a message until it is acknowledged.
	removesAcked bool
	// sourced: the group's stream is filled by the server from another.
	sourced bool
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
	// members are all names that are, for a static member that is not.
	members []string
	// filters are the subjects of the member's consumer. A member beyond the
	// partition count has none.
	filters []string
	// partitions are what the filters cover, for Status and Events.
	partitions []int
}

// What a session that has nothing to consume waits for.
const (
	lacksGroup      = "the group does not exist"
	lacksSense      = "the group's configuration can not be used"
	lacksMembership = "it is not in the group"
	lacksPartition  = "the group has no partition for it"
)

// lacks tells why there is nothing to consume, if that is so.
func (v view) lacks() string {
	switch {
	case len(v.filters) > 0:
		return ""
	case v.member:
		return lacksPartition
	}
	return lacksMembership
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
		if err == nil {
			err = validateShare(c.MaxMembers, c.Members)
		}
		if err != nil {
			return view{}, err
		}
		v := view{
			shape:      staticShape(*c),
			member:     c.IsInMembership(member),
			filters:    StaticGetPartitionFilters(*c, member),
			partitions: partitionsOf(c.MaxMembers, c.Members, c.MemberMappings, member),
		}
		if !v.member {
			v.members = memberNames(c.Members, c.MemberMappings)
		}
		return v, nil
	},
}

var elasticFlavour = &flavour{
	kind:         "elastic",
	bucket:       ElasticBucket,
	groupStream:  ComposeGroupStreamName,
	consumerName: func(_, member string) string { return member },
	explicitAck:  true,
	removesAcked: true,
	sourced:      true,
	recreates:    true,
	view: func(value []byte, member string) (view, error) {
		c, err := decodeElastic(value)
		if err == nil {
			err = validateShare(c.MaxMembers, c.Members)
		}
		if err != nil {
			return view{}, err
		}
		return view{
			shape:      elasticShape(*c),
			member:     c.IsInMembership(member),
			filters:    ElasticGetPartitionFilters(*c, member),
			partitions: partitionsOf(c.MaxMembers, c.Members, c.MemberMappings, member),
		}, nil
	},
}

// A shape is a configuration's encoding with nil and empty made the same, for
// what would otherwise look like a change.

// staticShape is all of a static configuration, order included.
func staticShape(c StaticConsumerGroupConfig) string {
	c.MemberMappings = slices.Clone(c.MemberMappings)
	for i := range c.MemberMappings {
		c.MemberMappings[i].Partitions = emptyIsNil(c.MemberMappings[i].Partitions)
	}
	return string(marshal(c)) // empty lists are omitted
}

// elasticShape is the part of an elastic configuration that does not change.
func elasticShape(c ElasticConsumerGroupConfig) string {
	c.Members, c.MemberMappings = nil, nil
	c.PartitioningFilters = slices.Clone(emptyIsNil(c.PartitioningFilters))
	for i := range c.PartitioningFilters {
		c.PartitioningFilters[i].PartitioningWildcards = emptyIsNil(c.PartitioningFilters[i].PartitioningWildcards)
	}
	return string(marshal(c))
}

func emptyIsNil[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}
