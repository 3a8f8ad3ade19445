package conformance

import (
	"encoding/json"
	"time"
)

// ProtocolVersion is the version of the adapter protocol that README.md
// describes. It grows when an adapter written for the one before would fail.
const ProtocolVersion = 1

// Flavours of groups, as the protocol names them.
const (
	Static  = "static"
	Elastic = "elastic"
)

// Operations of the adapter protocol.
const (
	OpHello          = "hello"
	OpConnect        = "connect"
	OpCreate         = "create"
	OpGet            = "get"
	OpList           = "list"
	OpDelete         = "delete"
	OpAddMembers     = "add_members"
	OpDeleteMembers  = "delete_members"
	OpSetMappings    = "set_member_mappings"
	OpDeleteMappings = "delete_member_mappings"
	OpActive         = "active_members"
	OpMembership     = "is_member_and_active"
	OpStepDown       = "step_down"
	OpConsume        = "consume"
	OpStop           = "stop"
)

// Features that an implementation may lack. A case that needs one says so.
const (
	FeatureStatic       = Static
	FeatureElastic      = Elastic
	FeatureMappings     = "mappings"
	FeatureManyFilters  = "many_filters"  // more than one filter in a group
	FeatureWholeSubject = "whole_subject" // partitioning without wildcards
	FeatureStepDown     = "step_down"
	FeatureAckPolicies  = "ack_policies" // static groups with acks other than explicit
	FeatureGet          = "get"          // showing a configuration as it is stored
	// FeatureBytes is claimed by implementations that encode JSON as the
	// reference does, byte for byte. For others what is decoded is compared.
	FeatureBytes = "bytes"
	// FeatureSortedMembers is claimed by implementations that store the members of
	// elastic groups sorted. The reference stores them in a random order.
	FeatureSortedMembers = "sorted_members"
)

// MemberMapping gives a member its partitions.
type MemberMapping struct {
	Member     string `json:"member"`
	Partitions []int  `json:"partitions"`
}

// PartitioningFilter is one filter of an elastic group. Null and an empty list
// of wildcards are different inputs, and must be passed on as such.
type PartitioningFilter struct {
	Filter    string `json:"filter"`
	Wildcards []int  `json:"partitioning_wildcards"`
}

// Request is one line that the suite writes. Which fields are set depends on Op.
type Request struct {
	ID int    `json:"id"`
	Op string `json:"op"`

	URL string `json:"url,omitempty"` // connect

	Flavour string `json:"flavour,omitempty"`
	Stream  string `json:"stream,omitempty"`
	Group   string `json:"group,omitempty"`
	Member  string `json:"member,omitempty"`

	// create, add_members, delete_members, set_member_mappings
	MaxMembers       uint                 `json:"max_members,omitempty"`
	Filters          []string             `json:"filters"`
	PartitionFilters []PartitioningFilter `json:"partitioning_filters"`
	MaxBufferedMsgs  int64                `json:"max_buffered_msgs,omitempty"`
	MaxBufferedBytes int64                `json:"max_buffered_bytes,omitempty"`
	Members          []string             `json:"members"`
	Mappings         []MemberMapping      `json:"member_mappings"`

	// consume, stop
	Session       string        `json:"session,omitempty"`
	AckWait       time.Duration `json:"ack_wait_ns,omitempty"` // 0: the implementation's default
	AckPolicy     string        `json:"ack_policy,omitempty"`  // explicit, all or none
	MaxAckPending int           `json:"max_ack_pending,omitempty"`
	Work          time.Duration `json:"work_ns,omitempty"` // how long a handler is to take
}

// Answer is the answer to a request, as far as there is one.
type Answer struct {
	Hello  *Hello          `json:"hello,omitempty"`
	Config json.RawMessage `json:"config,omitempty"` // get: the configuration as JSON
	Names  []string        `json:"names,omitempty"`  // list, active_members, add_members, delete_members
	Member bool            `json:"member,omitempty"` // is_member_and_active
	Active bool            `json:"active,omitempty"` // is_member_and_active
}

// Hello is how an implementation introduces itself.
type Hello struct {
	Protocol int      `json:"protocol"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Language string   `json:"language"`
	Features []string `json:"features"`
}

// Failure is the error of a response. The code "unsupported" says that the
// implementation has no such operation; anything else, or none, that it refused.
type Failure struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// CodeUnsupported is the Failure code of an operation that does not exist.
const CodeUnsupported = "unsupported"

// Events that an adapter reports unasked.
const (
	EventMessage = "message" // a handler starts
	EventDone    = "done"    // it has acknowledged and ends
	EventEnded   = "ended"   // a session is over
)

// Event is a line that an adapter writes unasked.
type Event struct {
	Event   string `json:"event"`
	Session string `json:"session"`
	Subject string `json:"subject,omitempty"` // as the application sees it
	Data    string `json:"data,omitempty"`
	Pinned  string `json:"pin,omitempty"`   // the Nats-Pin-Id header
	Error   string `json:"error,omitempty"` // ended: empty for a normal end
	TimeNs  int64  `json:"time_ns,omitempty"`
}

// line is whatever an adapter may write: a response or an event.
type line struct {
	Event
	ID     int      `json:"id,omitempty"`
	Result *Answer  `json:"result,omitempty"`
	Fault  *Failure `json:"fault,omitempty"`
}
