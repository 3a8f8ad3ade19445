package pcgroups

import (
	"slices"
	"strconv"
	"strings"
)

// Assignments returns the partitions of every member of a group with
// maxMembers partitions, ascending for members and in the order given for
// mappings. It is what every member computes for itself
// (oracle: GeneratePartitionFilters):
//
//   - members are deduplicated, sorted bytewise and capped at maxMembers; each
//     gets a contiguous run of maxMembers/len(members) partitions and the
//     remainder is dealt one each from the first member on;
//   - without members, mappings are taken as they are;
//   - with neither the result is empty.
//
// Members beyond maxMembers are in the result with no partitions, so that they
// can be told apart from names that are not members. So are all members if there
// are more than 1,048,576 partitions for each: no server takes a consumer with so
// many filters.
func Assignments(maxMembers uint, members []string, mappings []MemberMapping) map[string][]int {
	out := make(map[string][]int)
	if len(members) == 0 {
		for _, m := range mappings {
			out[m.Member] = append(out[m.Member], m.Partitions...)
		}
		return out
	}
	sorted := sortedSet(members)
	for _, m := range sorted {
		out[m] = nil
	}
	for i, m := range capped(sorted, maxMembers) {
		out[m] = share(uint(i), uint(min(uint(len(sorted)), maxMembers)), maxMembers)
	}
	return out
}

// maxShare is how many partitions one member can have at most. Each is a filter in
// the request for its consumer, which the server takes up to max_payload, 1 MiB
// unless configured. Without a bound, one number in the bucket would have every
// member run out of memory.
const maxShare = 1 << 20

// share returns the partitions of the i-th of n members: its run and, where the
// division leaves a remainder, one partition of it.
func share(i, n, partitions uint) []int {
	per := partitions / n
	if per > maxShare {
		return nil
	}
	out := make([]int, 0, per+1)
	for p := i * per; p < (i+1)*per; p++ {
		out = append(out, int(p))
	}
	if rest := n*per + i; rest < partitions {
		out = append(out, int(rest))
	}
	return out
}

// partitionsOf is Assignments for one member, without computing the others.
func partitionsOf(maxMembers uint, members []string, mappings []MemberMapping, member string) []int {
	if len(members) == 0 {
		var out []int
		for _, m := range mappings {
			if m.Member == member {
				out = append(out, m.Partitions...)
			}
		}
		return out
	}
	active := capped(sortedSet(members), maxMembers)
	i, found := slices.BinarySearch(active, member)
	if !found {
		return nil
	}
	return share(uint(i), uint(len(active)), maxMembers)
}

// GeneratePartitionFilters returns the subject filters of one member for one
// subject filter: "<partition>.<filter>" for members, "<partition>.>" for
// mappings, where the filter is ignored (oracle: GeneratePartitionFilters). The
// result is empty for a name that is not a member, and for every name when the
// group has neither members nor mappings.
func GeneratePartitionFilters(members []string, maxMembers uint, memberMappings []MemberMapping, memberName string, filter string) []string {
	if len(members) == 0 {
		filter = ">"
	}
	return prefixed(partitionsOf(maxMembers, members, memberMappings, memberName), filter)
}

// StaticGetPartitionFilters returns the subject filters of a static member's
// consumer, filter-major and ascending by partition within a filter. They are
// deduplicated: a group with mappings and several filters would otherwise ask
// for each partition more than once, which the server refuses (error 10138).
func StaticGetPartitionFilters(config StaticConsumerGroupConfig, memberName string) []string {
	return memberFilters(config.Filters, config.Members, config.MaxMembers, config.MemberMappings, memberName)
}

// ElasticGetPartitionFilters returns the subject filters of an elastic member's
// consumer (oracle: ElasticGetPartitionFilters), deduplicated as in
// [StaticGetPartitionFilters].
func ElasticGetPartitionFilters(config ElasticConsumerGroupConfig, memberName string) []string {
	return memberFilters(filtersIn(config.PartitioningFilters), config.Members, config.MaxMembers, config.MemberMappings, memberName)
}

// AllPartitionFilters returns the filters of every member, as
// [StaticGetPartitionFilters] gives them for one, in one pass over all.
func (config *StaticConsumerGroupConfig) AllPartitionFilters() map[string][]string {
	return allFilters(config.Filters, config.Members, config.Assignments())
}

// AllPartitionFilters returns the filters of every member, as
// [ElasticGetPartitionFilters] gives them for one, in one pass over all.
func (config *ElasticConsumerGroupConfig) AllPartitionFilters() map[string][]string {
	return allFilters(filtersIn(config.PartitioningFilters), config.Members, config.Assignments())
}

func filtersIn(pfs []PartitioningFilter) []string {
	filters := make([]string, len(pfs))
	for i, f := range pfs {
		filters[i] = f.Filter
	}
	return filters
}

func allFilters(filters, members []string, assignments map[string][]int) map[string][]string {
	out := make(map[string][]string, len(assignments))
	for member, parts := range assignments {
		out[member] = filtersOfParts(filters, len(members) == 0, parts)
	}
	return out
}

func memberFilters(filters, members []string, maxMembers uint, mappings []MemberMapping, member string) []string {
	return filtersOfParts(filters, len(members) == 0, partitionsOf(maxMembers, members, mappings, member))
}

func filtersOfParts(filters []string, mapped bool, parts []int) []string {
	if len(filters) == 0 || mapped {
		// Mappings ignore the filters, so one pass gives what a pass for each
		// filter would repeat.
		filters = []string{">"}
	}
	var out []string
	for _, f := range filters {
		out = append(out, prefixed(parts, f)...)
	}
	return unique(out)
}

// prefixed puts each partition in front of a filter.
func prefixed(parts []int, filter string) []string {
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		out = append(out, strconv.Itoa(p)+"."+filter)
	}
	return out
}

// StripPartition removes the first token, the partition number, from a subject
// as the group's stream carries it. A subject of one token is returned as it is
// (oracle: ConsumerGroupMsg.Subject).
func StripPartition(subject string) string {
	if i := strings.IndexByte(subject, '.'); i >= 0 {
		return subject[i+1:]
	}
	return subject
}

// sortedSet is how members are stored and counted: sorted bytewise, once each.
func sortedSet(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

func capped(members []string, maxMembers uint) []string {
	if uint(len(members)) > maxMembers {
		return members[:maxMembers]
	}
	return members
}

// unique keeps the first of each string, in order.
func unique(in []string) []string {
	seen := make(map[string]struct{}, len(in))
	out := in[:0:len(in)]
	for _, s := range in {
		if _, dup := seen[s]; !dup {
			seen[s] = struct{}{}
			out = append(out, s)
		}
	}
	return out
}
