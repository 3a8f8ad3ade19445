package pcgroups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PartitioningTransformDestination returns the subject transform destination
// that puts the partition number in front of a filter's subjects, such as
// "{{Partition(10,1)}}.orders.{{Wildcard(1)}}" for orders.* keyed by its first
// wildcard (oracle: getPartitioningTransformDest). Without wildcards the key is
// the whole subject.
//
// An elastic group gets it by itself; for a static group it is what the origin
// stream's subject transform must hold.
func PartitioningTransformDestination(filter PartitioningFilter, maxMembers uint) string {
	args := strconv.FormatUint(uint64(maxMembers), 10)
	for _, w := range filter.PartitioningWildcards {
		args += "," + strconv.Itoa(w)
	}
	tokens := strings.Split(filter.Filter, ".")
	n := 0
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("{{Wildcard(%d)}}", n)
		}
	}
	return "{{Partition(" + args + ")}}." + strings.Join(tokens, ".")
}

// FNV-1a, 32 bits: what the server's Partition() uses.
const (
	fnvOffset32 = 2166136261
	fnvPrime32  = 16777619
)

// PartitionFor returns the partition, from 0 to maxMembers-1, that the server
// gives to a subject matched by filter: FNV-1a over the chosen wildcards' tokens,
// concatenated in the order given with nothing between them, or over the whole
// subject when there are no wildcards, modulo maxMembers (nats-server
// subject_transform.go, getHashPartition). An empty filter means ">".
//
// It fails with [ErrInvalidConfig] for a filter or count that could not be
// created, and for a subject that does not match the filter.
func PartitionFor(subject string, filter string, wildcards []int, maxMembers uint) (int, error) {
	if filter == "" {
		filter = ">"
	}
	pf := PartitioningFilter{Filter: filter, PartitioningWildcards: wildcards}
	for _, err := range []error{validateMaxMembers(maxMembers), validateNewMaxMembers(maxMembers), validateSubject("filter", filter), pf.validate()} {
		if err != nil {
			return 0, err
		}
	}
	tokens, ok := match(subject, filter)
	if !ok {
		return 0, badField("subject", "%q does not match the filter %q", subject, filter)
	}
	h := uint32(fnvOffset32)
	if len(wildcards) == 0 {
		h = fnv1a(h, subject)
	}
	for _, w := range wildcards {
		h = fnv1a(h, tokens[w-1])
	}
	return int(h % uint32(maxMembers)), nil
}

func fnv1a(h uint32, s string) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * fnvPrime32
	}
	return h
}

// match returns the tokens that stand at the filter's * wildcards.
func match(subject, filter string) (stars []string, ok bool) {
	s, f := strings.Split(subject, "."), strings.Split(filter, ".")
	if slices.ContainsFunc(s, func(t string) bool { return t == "" || t == "*" || t == ">" }) {
		return nil, false // no message has such a subject
	}
	for i, token := range f {
		switch {
		case token == ">":
			return stars, len(s) > i
		case i >= len(s):
			return nil, false
		case token == "*":
			stars = append(stars, s[i])
		case token != s[i]:
			return nil, false
		}
	}
	return stars, len(s) == len(f)
}
