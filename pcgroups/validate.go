package pcgroups

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Validate tells whether the configuration can work, by the oracle's rules in
// the oracle's order (validateStaticConfig). The error is a [*ConfigError].
//
// Creating a group is stricter: see [CreateStatic].
func (config *StaticConsumerGroupConfig) Validate() error {
	if err := validateMaxMembers(config.MaxMembers); err != nil {
		return err
	}
	return validateMembership(config.MaxMembers, config.Members, config.MemberMappings)
}

// Validate tells whether the configuration can work, by the oracle's rules in
// the oracle's order (validateConfig). The error is a [*ConfigError].
//
// Creating a group is stricter: see [CreateElastic].
func (config *ElasticConsumerGroupConfig) Validate() error {
	if err := validateMaxMembers(config.MaxMembers); err != nil {
		return err
	}
	for _, f := range config.PartitioningFilters {
		if err := f.validate(); err != nil {
			return err
		}
	}
	return validateMembership(config.MaxMembers, config.Members, config.MemberMappings)
}

func validateMaxMembers(n uint) error {
	if n < 1 {
		return badField("max_members", "must be at least 1, as it is the number of partitions")
	}
	return nil
}

func (f *PartitioningFilter) validate() error {
	const filter, index = "partitioning_filters", "partitioning_wildcards"
	if f.Filter == "" {
		return badField(filter, "a filter must not be empty")
	}
	stars, tail := countWildcards(f.Filter)
	if stars == 0 && !tail {
		return badField(filter, "%q needs at least one * wildcard or must end in >", f.Filter)
	}
	if len(f.PartitioningWildcards) > stars {
		return badField(index, "%d given for %q, which has %d * wildcards", len(f.PartitioningWildcards), f.Filter, stars)
	}
	seen := make(map[int]bool, len(f.PartitioningWildcards))
	for _, w := range f.PartitioningWildcards {
		if seen[w] {
			return badField(index, "%d is given twice for %q", w, f.Filter)
		}
		seen[w] = true
		if w < 1 || w > stars {
			return badField(index, "%d is out of range for %q: count its * wildcards from 1 to %d", w, f.Filter, stars)
		}
	}
	return nil
}

// countWildcards returns how many tokens of a filter are * and whether its last
// one is >.
func countWildcards(filter string) (stars int, tail bool) {
	for token := range strings.SplitSeq(filter, ".") {
		if token == "*" {
			stars++
		}
		tail = token == ">"
	}
	return stars, tail
}

// validateMembership is tolerant of members, as the oracle is: they are
// deduplicated and capped where they are used.
func validateMembership(maxMembers uint, members []string, mappings []MemberMapping) error {
	const field = "member_mappings"
	if len(mappings) == 0 {
		return nil
	}
	if len(members) != 0 {
		return badField("members", "give either members or member_mappings, not both")
	}
	if uint(len(mappings)) > maxMembers {
		return badField(field, "%d members for %d partitions; there can be at most one member for each partition", len(mappings), maxMembers)
	}
	names := make(map[string]bool, len(mappings))
	owner := make(map[int]string)
	for _, m := range mappings {
		if names[m.Member] {
			return badField(field, "member %q is mapped twice", m.Member)
		}
		names[m.Member] = true
		for _, p := range m.Partitions {
			if other, taken := owner[p]; taken {
				return badField(field, "partition %d is given to %q and to %q", p, other, m.Member)
			}
			owner[p] = m.Member
			if p < 0 || uint(p) >= maxMembers {
				return badField(field, "partition %d of member %q is out of range: 0 to %d", p, m.Member, maxMembers-1)
			}
		}
	}
	if uint(len(owner)) != maxMembers {
		return badField(field, "partition %d belongs to no member; all %d must be mapped", firstFree(owner), maxMembers)
	}
	return nil
}

func firstFree(owner map[int]string) int {
	for p := 0; ; p++ {
		if _, taken := owner[p]; !taken {
			return p
		}
	}
}

// The checks below go beyond the oracle's and are made only before a new group
// is written: what they refuse could be stored, but never consumed.

// maxPartitions is where the server's own modulus ends (semantics of Partition()
// in subject transforms: 2.15 refuses more, 2.11 truncates it silently).
const maxPartitions = math.MaxInt32

func validateNewMaxMembers(n uint) error {
	if n > maxPartitions {
		return badField("max_members", "%d is more than the server can partition by (%d)", n, maxPartitions)
	}
	return nil
}

// validateShare refuses more partitions for each member than it can have. The
// oracle does not, and runs out of memory.
func validateShare(maxMembers uint, members []string) error {
	n := min(uint(len(sortedSet(members))), maxMembers)
	if n == 0 || maxMembers/n <= maxShare {
		return nil
	}
	return badField("max_members", "%d for %d members are more than the %d partitions that one member can have", maxMembers, n, maxShare)
}

// validateSubject refuses filters that are not valid NATS subjects.
func validateSubject(field, filter string) error {
	if filter == "" {
		return badField(field, "a filter must not be empty")
	}
	if !utf8.ValidString(filter) {
		return badField(field, "%q is not UTF-8, and would be stored as something else", filter)
	}
	tokens := strings.Split(filter, ".")
	for i, token := range tokens {
		switch {
		case token == "":
			return badField(field, "%q has an empty token", filter)
		case strings.ContainsAny(token, " \t\r\n\f"):
			return badField(field, "%q contains a space", filter)
		case token == ">" && i != len(tokens)-1:
			return badField(field, "%q has > before its last token", filter)
		}
	}
	return nil
}

// ValidateNew tells whether a group of this name could be created on the stream
// with this configuration, so far as that can be told without asking the server:
// it is what [CreateStatic] checks first. The error is a [*ConfigError].
func (config *StaticConsumerGroupConfig) ValidateNew(streamName, consumerGroupName string) error {
	if err := checkNames(staticFlavour, streamName, consumerGroupName); err != nil {
		return err
	}
	return validateNewStatic(staticFlavour, consumerGroupName, config)
}

// ValidateNew tells whether a group of this name could be created on the stream
// with this configuration, so far as that can be told without asking the server:
// it is what [CreateElastic] checks first. The error is a [*ConfigError].
func (config *ElasticConsumerGroupConfig) ValidateNew(streamName, consumerGroupName string) error {
	if err := checkNames(elasticFlavour, streamName, consumerGroupName); err != nil {
		return err
	}
	return validateNewElastic(elasticFlavour, consumerGroupName, config)
}

func validateNewElastic(fl *flavour, group string, c *ElasticConsumerGroupConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := validateNewMaxMembers(c.MaxMembers); err != nil {
		return err
	}
	for i, f := range c.PartitioningFilters {
		if err := validateSubject("partitioning_filters", f.Filter); err != nil {
			return err
		}
		if err := validateTransformable(f.Filter); err != nil {
			return err
		}
		for _, other := range c.PartitioningFilters[:i] {
			if overlap(f.Filter, other.Filter) {
				return badField("partitioning_filters", "%q and %q overlap: a message could match both, which the server refuses", other.Filter, f.Filter)
			}
		}
	}
	if c.MaxBufferedMsgs < -1 {
		return badField("max_buffered_msg", "%d is not a number of messages; use -1 for no limit", c.MaxBufferedMsgs)
	}
	if c.MaxBufferedBytes < -1 {
		return badField("max_buffered_bytes", "%d is not a number of bytes; use -1 for no limit", c.MaxBufferedBytes)
	}
	if err := validateShare(c.MaxMembers, c.Members); err != nil {
		return err
	}
	return checkNewMembers(fl, group, c.Members, c.MemberMappings)
}

func validateNewStatic(fl *flavour, group string, c *StaticConsumerGroupConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := validateNewMaxMembers(c.MaxMembers); err != nil {
		return err
	}
	for i, f := range c.Filters {
		if err := validateSubject("filters", f); err != nil {
			return err
		}
		for _, other := range c.Filters[:i] {
			if overlap(f, other) {
				return badField("filters", "%q and %q overlap: a message could match both, which the server refuses", other, f)
			}
		}
	}
	if err := validateShare(c.MaxMembers, c.Members); err != nil {
		return err
	}
	return checkNewMembers(fl, group, c.Members, c.MemberMappings)
}

func checkNewMembers(fl *flavour, group string, members []string, mappings []MemberMapping) error {
	if err := checkMembers(fl, group, members); err != nil {
		return err
	}
	for _, m := range mappings {
		if err := checkMember(fl, group, m.Member); err != nil {
			return err
		}
	}
	return nil
}

// validateTransformable refuses tokens that the server's subject transforms take
// for their own: $1 and {{…}} would put the messages under other subjects.
func validateTransformable(filter string) error {
	for token := range strings.SplitSeq(filter, ".") {
		digits := strings.TrimPrefix(token, "$")
		if strings.Contains(token, "{{") || digits != token && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return badField("partitioning_filters", "%q contains %q, which the server's subject transforms take for a reference to a wildcard", filter, token)
		}
	}
	return nil
}

// overlap tells whether some subject matches both filters.
func overlap(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] == ">" || y[i] == ">" {
			return true
		}
		if x[i] != y[i] && x[i] != "*" && y[i] != "*" {
			return false
		}
	}
	return len(x) == len(y)
}
