package pcgroups

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MemberMapping assigns partitions to a member explicitly.
type MemberMapping struct {
	Member     string `json:"member"`     // the member's name
	Partitions []int  `json:"partitions"` // its partitions, each from 0 to one less than the partition count
}

// PartitioningFilter is one subject filter of an elastic group and the wildcards
// in it that make up the partitioning key.
type PartitioningFilter struct {
	// Filter selects the messages. It needs a * wildcard or must end in >.
	Filter string `json:"filter"`

	// PartitioningWildcards are the positions, counted from 1, of the *
	// wildcards whose tokens are hashed, in that order: for "foo.*.*", [2] keys
	// on the last token. Without any, the whole subject is the key, which needs
	// nats-server 2.12.
	PartitioningWildcards []int `json:"partitioning_wildcards"`
}

// StaticConsumerGroupConfig is the stored configuration of a static group. Its
// JSON is the wire contract. It never changes while the group lives.
type StaticConsumerGroupConfig struct {
	MaxMembers     uint            `json:"max_members"`               // the number of partitions, and so the most members that can be busy
	Filters        []string        `json:"filters,omitempty"`         // subject filters, without the partition token; none means all subjects
	Members        []string        `json:"members,omitempty"`         // the members, or
	MemberMappings []MemberMapping `json:"member_mappings,omitempty"` // the members with their partitions

	revision uint64
}

// ElasticConsumerGroupConfig is the stored configuration of an elastic group.
// Its JSON is the wire contract. Only its membership changes while the group
// lives.
type ElasticConsumerGroupConfig struct {
	MaxMembers          uint                 `json:"max_members"`                  // the number of partitions, and so the most members that can be busy
	PartitioningFilters []PartitioningFilter `json:"partitioning_filters"`         // what is consumed and how it is keyed; none means all subjects, keyed by the whole subject
	MaxBufferedMsgs     int64                `json:"max_buffered_msg,omitempty"`   // most messages in the work-queue stream, 0 or -1 for no limit
	MaxBufferedBytes    int64                `json:"max_buffered_bytes,omitempty"` // most bytes in the work-queue stream, 0 or -1 for no limit
	Members             []string             `json:"members,omitempty"`            // the members, or
	MemberMappings      []MemberMapping      `json:"member_mappings,omitempty"`    // the members with their partitions

	revision uint64
}

// IsInMembership tells whether the member is in the group. A member beyond
// MaxMembers is, although it has no partitions.
func (config *StaticConsumerGroupConfig) IsInMembership(name string) bool {
	return inMembership(config.Members, config.MemberMappings, name)
}

// IsInMembership tells whether the member is in the group now. A member beyond
// MaxMembers is, although it has no partitions.
func (config *ElasticConsumerGroupConfig) IsInMembership(name string) bool {
	return inMembership(config.Members, config.MemberMappings, name)
}

func inMembership(members []string, mappings []MemberMapping, name string) bool {
	return slices.Contains(members, name) ||
		slices.ContainsFunc(mappings, func(m MemberMapping) bool { return m.Member == name })
}

// Revision is the revision of the bucket entry that the configuration was read
// from or written as, for [IfRevision]. It is 0 for a configuration that was not
// obtained from this package.
func (config *StaticConsumerGroupConfig) Revision() uint64 { return config.revision }

// Revision is the revision of the bucket entry that the configuration was read
// from or written as, for [IfRevision]. It is 0 for a configuration that was not
// obtained from this package.
func (config *ElasticConsumerGroupConfig) Revision() uint64 { return config.revision }

// Assignments returns the partitions of every member; see the function of the
// same name.
func (config *StaticConsumerGroupConfig) Assignments() map[string][]int {
	return Assignments(config.MaxMembers, config.Members, config.MemberMappings)
}

// Assignments returns the partitions of every member; see the function of the
// same name.
func (config *ElasticConsumerGroupConfig) Assignments() map[string][]int {
	return Assignments(config.MaxMembers, config.Members, config.MemberMappings)
}

// decodeStatic reads a stored value. Values that the oracle refuses are refused
// with the same verdict, and legacy ones in addition.
func decodeStatic(value []byte) (*StaticConsumerGroupConfig, error) {
	var c StaticConsumerGroupConfig
	if err := decode(value, &c, staticLegacyKeys); err != nil {
		return nil, err
	}
	return &c, c.Validate()
}

// decodeElastic is decodeStatic for elastic groups.
func decodeElastic(value []byte) (*ElasticConsumerGroupConfig, error) {
	var c ElasticConsumerGroupConfig
	if err := decode(value, &c, elasticLegacyKeys); err != nil {
		return nil, err
	}
	return &c, c.Validate()
}

// The top-level keys of orbit.go v0.1.0 and of the prototype before it.
var (
	staticLegacyKeys  = []string{"filter", "max-members", "member-mappings"}
	elasticLegacyKeys = []string{"filter", "partitioning_wildcards", "max-members", "member-mappings", "partitioning-wildcards", "msg-buffer-size"}
)

func decode(value []byte, into any, legacy []string) error {
	if err := json.Unmarshal(value, into); err != nil {
		return because(ErrInvalidConfig, err, "the stored value is not a configuration; repair or delete the group's key")
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(value, &keys) != nil {
		return nil //nolint:nilerr // null: all zero, which validation refuses
	}
	for _, k := range legacy {
		if _, found := keys[k]; found {
			return because(ErrLegacyConfig, fmt.Errorf("it has the key %q", k),
				"stop its members, delete the group and create it again with current software")
		}
	}
	return nil
}

// The comparisons below treat nil and empty as the same, unlike the oracle's,
// which refuses to re-create a group that it wrote itself a moment ago if one
// caller passes nil and the other an empty slice.

func sameStatic(a, b *StaticConsumerGroupConfig) bool {
	return a.MaxMembers == b.MaxMembers &&
		slices.Equal(a.Filters, b.Filters) &&
		slices.Equal(a.Members, b.Members) &&
		slices.EqualFunc(a.MemberMappings, b.MemberMappings, sameMapping)
}

// sameElasticShape compares what can not change while an elastic group lives.
func sameElasticShape(a, b *ElasticConsumerGroupConfig) bool {
	return a.MaxMembers == b.MaxMembers &&
		a.MaxBufferedMsgs == b.MaxBufferedMsgs &&
		a.MaxBufferedBytes == b.MaxBufferedBytes &&
		slices.EqualFunc(a.PartitioningFilters, b.PartitioningFilters, func(x, y PartitioningFilter) bool {
			return x.Filter == y.Filter && slices.Equal(x.PartitioningWildcards, y.PartitioningWildcards)
		})
}

func sameMapping(a, b MemberMapping) bool {
	return a.Member == b.Member && slices.Equal(a.Partitions, b.Partitions)
}

// setting is what can not be changed while a group lives, by its name in JSON.
type setting struct {
	name  string
	value any
}

func (config *StaticConsumerGroupConfig) fixed() []setting {
	return []setting{
		{"max_members", config.MaxMembers},
		{"filters", config.Filters},
		{"members", config.Members},
		{"member_mappings", config.MemberMappings},
	}
}

func (config *ElasticConsumerGroupConfig) fixed() []setting {
	return []setting{
		{"max_members", config.MaxMembers},
		{"partitioning_filters", config.PartitioningFilters},
		{"max_buffered_msg", config.MaxBufferedMsgs},
		{"max_buffered_bytes", config.MaxBufferedBytes},
	}
}

// otherConfig names in which settings a stored configuration is not the one that
// was to be created.
func otherConfig(stored, wanted []setting) error {
	var what []string
	for i, s := range stored {
		is, not := shown(s.value), shown(wanted[i].value)
		switch {
		case is == not:
		case len(is)+len(not) > 1000:
			what = append(what, s.name+" differs") // nobody would find out where
		default:
			what = append(what, fmt.Sprintf("%s is %s, not %s", s.name, is, not))
		}
	}
	return fmt.Errorf("with another configuration: %s", strings.Join(what, ", "))
}

// shown is a value's JSON as people write it: no list is an empty one, and > not
// an escape.
func shown(value any) string {
	switch v := value.(type) {
	case []MemberMapping:
		v = slices.Clone(v)
		for i := range v {
			v[i].Partitions = nilIsEmpty(v[i].Partitions)
		}
		value = v
	case []PartitioningFilter:
		v = slices.Clone(v)
		for i := range v {
			v[i].PartitioningWildcards = nilIsEmpty(v[i].PartitioningWildcards)
		}
		value = v
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // of numbers, strings and lists of them
	if text := strings.TrimSuffix(b.String(), "\n"); text != "null" {
		return text
	}
	return "[]"
}

func nilIsEmpty(list []int) []int {
	if list == nil {
		return []int{}
	}
	return list
}
