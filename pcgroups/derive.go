package pcgroups

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// defaultAckWait stands in for an AckWait of zero (oracle: defaultAckWait).
	// It is much shorter than the server's 30 s because the time to notice a
	// dead instance is derived from it.
	defaultAckWait = 5 * time.Second

	// minExpiry is the floor of pull expiry and pin time to live (oracle:
	// minPullExpiryPinnedTTL). Below an AckWait of 2 s the two meet there and an
	// idle group's pin can move between instances of a member.
	minExpiry = time.Second
)

// timers are the times that one AckWait decides.
type timers struct {
	ackWait    time.Duration // how long a message may be in a handler
	pinnedTTL  time.Duration // how long a silent instance keeps the pin
	pullExpiry time.Duration // how long a pull request waits at the server
	heartbeat  time.Duration // how often the server speaks while one waits
	selfCheck  time.Duration // how often a member looks at the server unprompted
}

// deriveTimers applies the oracle's rules: PinnedTTL max(AckWait, 1s), pull
// expiry max(AckWait/2, 1s).
//
// The self-check is our own: it finds what nothing else tells, such as a watch
// that died with its bucket. The oracle tries to correct itself every AckWait +
// 500 ms, but asks nobody; this asks, three requests at a time, so less often.
func deriveTimers(ackWait time.Duration) timers {
	if ackWait <= 0 {
		ackWait = defaultAckWait
	}
	expiry := max(ackWait/2, minExpiry)
	return timers{
		ackWait:    ackWait,
		pinnedTTL:  max(ackWait, minExpiry),
		pullExpiry: expiry,
		heartbeat:  min(expiry/2, 30*time.Second),
		selfCheck:  min(max(4*ackWait, 2*time.Second), 30*time.Second),
	}
}

// effectiveAckWait is the time after which the server really redelivers a first
// delivery: BackOff overrides AckWait.
func effectiveAckWait(c jetstream.ConsumerConfig) time.Duration {
	if len(c.BackOff) > 0 {
		return c.BackOff[0]
	}
	return c.AckWait
}

// deriveConsumer returns the configuration of a member's consumer, field by
// field what the oracle sends for the same input.
func deriveConsumer(fl *flavour, group, member string, user jetstream.ConsumerConfig, filters []string) jetstream.ConsumerConfig {
	t := deriveTimers(user.AckWait)
	c := user
	c.AckWait = t.ackWait
	c.FilterSubjects = filters
	c.PriorityGroups = []string{PriorityGroup}
	c.PriorityPolicy = jetstream.PriorityPolicyPinned
	c.PinnedTTL = t.pinnedTTL
	if fl.durable {
		c.Durable = fl.consumerName(group, member)
		return c
	}
	c.Durable = ""
	c.Name = fl.consumerName(group, member)
	// An instance that is gone must not keep its partitions from the next owner
	// of them for longer than its messages need to come back.
	c.InactiveThreshold = t.ackWait
	return c
}

// deriveGroupStream returns the configuration of an elastic group's work-queue
// stream, what the oracle sends for the same input.
func deriveGroupStream(stream, group string, c *ElasticConsumerGroupConfig, origin jetstream.StreamConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:      ComposeGroupStreamName(stream, group),
		Retention: jetstream.WorkQueuePolicy,
		Replicas:  origin.Replicas,
		Storage:   origin.Storage,
		MaxMsgs:   c.MaxBufferedMsgs,
		MaxBytes:  c.MaxBufferedBytes,
		Discard:   jetstream.DiscardNew,
		Sources: []*jetstream.StreamSource{{
			Name:              stream,
			SubjectTransforms: groupTransforms(c),
		}},
		AllowDirect: true,
	}
}

func groupTransforms(c *ElasticConsumerGroupConfig) []jetstream.SubjectTransformConfig {
	filters := c.PartitioningFilters
	if len(filters) == 0 {
		filters = []PartitioningFilter{{Filter: ">"}}
	}
	out := make([]jetstream.SubjectTransformConfig, len(filters))
	for i, f := range filters {
		out[i] = jetstream.SubjectTransformConfig{
			Source:      f.Filter,
			Destination: PartitioningTransformDestination(f, c.MaxMembers),
		}
	}
	return out
}

// isGroupStream tells whether a stream is the work-queue stream of this group,
// whoever made it: work-queue retention, no subjects of its own, and the origin
// as its one source. With a configuration its transforms must be the group's;
// without one they must at least put a partition in front. Everything that an
// operator may well have edited (limits, replicas, metadata) is not looked at.
func isGroupStream(stream string, c *ElasticConsumerGroupConfig, sc jetstream.StreamConfig) bool {
	if sc.Retention != jetstream.WorkQueuePolicy || len(sc.Subjects) != 0 || sc.Mirror != nil || len(sc.Sources) != 1 {
		return false
	}
	src := sc.Sources[0]
	if src.Name != stream || src.External != nil {
		return false
	}
	if c == nil {
		return len(src.SubjectTransforms) != 0 && !slices.ContainsFunc(src.SubjectTransforms, func(t jetstream.SubjectTransformConfig) bool {
			return !strings.HasPrefix(strings.ToLower(t.Destination), "{{partition(")
		})
	}
	return slices.EqualFunc(src.SubjectTransforms, groupTransforms(c), func(a, b jetstream.SubjectTransformConfig) bool {
		return a.Source == b.Source && foldFunctions(a.Destination) == foldFunctions(b.Destination)
	})
}

// foldFunctions lower-cases what stands in {{…}}: other implementations write
// {{wildcard(1)}} where this one writes {{Wildcard(1)}}, and the server takes
// both.
func foldFunctions(destination string) string {
	parts := strings.Split(destination, "{{")
	for i, part := range parts[1:] {
		if fn, rest, ok := strings.Cut(part, "}}"); ok {
			parts[i+1] = strings.ToLower(fn) + "}}" + rest
		}
	}
	return strings.Join(parts, "{{")
}

// wholeSubject tells whether the group hashes whole subjects, which needs
// nats-server 2.12.
func wholeSubject(c *ElasticConsumerGroupConfig) bool {
	return len(c.PartitioningFilters) == 0 || slices.ContainsFunc(c.PartitioningFilters, func(f PartitioningFilter) bool {
		return len(f.PartitioningWildcards) == 0
	})
}
