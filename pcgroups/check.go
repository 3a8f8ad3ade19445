package pcgroups

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// CheckStaticStream tells whether messages that arrive in a stream get the
// partition numbers that a static group with maxMembers partitions and these
// filters consumes by. It returns nil if a subject transform of the stream (or of
// one of its sources, or of its mirror) puts one of exactly maxMembers partitions
// in front of subjects that each filter can match.
//
// A stream that does not pass can be right all the same, if its publishers put
// the partition number into the subject themselves; and one that does may hold
// older messages without one. Nothing else tells: a static group on a stream
// without partition numbers is created, joined, and never gets a message.
//
// Errors: [ErrInvalidConfig] with a [*ConfigError] that says what is missing,
// [ErrStreamNotFound].
func CheckStaticStream(ctx context.Context, js jetstream.JetStream, streamName string, maxMembers uint, filters []string) error {
	ctx, cancel := call(ctx, js)
	defer cancel()
	sc, err := origin(ctx, js, streamName)
	if err == nil {
		err = checkTransforms(sc, maxMembers, filters)
	}
	return failed("check stream", streamName, "", "", withRefusal(js, err))
}

func checkTransforms(sc jetstream.StreamConfig, maxMembers uint, filters []string) error {
	const field = "subject_transform"
	var subjects []string
	for _, d := range destinations(sc) {
		n, rest, ok := partitionOf(d)
		if !ok {
			continue
		}
		if n != uint64(maxMembers) {
			return badField(field, "%s makes %d partitions, but the group has max_members %d; they must be the same", d, n, maxMembers)
		}
		subjects = append(subjects, rest)
	}
	if len(subjects) == 0 {
		source := exampleFilter(filters)
		destination := PartitioningTransformDestination(source, maxMembers)
		return badField(field, "stream %s puts no partition number in front of its subjects, so the members would never get a message; give it a subject transform such as %s for %s; by hand: nats stream edit %s --transform-source %s --transform-destination %s",
			sc.Name, destination, source.Filter, quoted(sc.Name), quoted(source.Filter), quoted(destination))
	}
	for _, f := range filters {
		if !overlapsAny(f, subjects) {
			return badField("filters", "no message that the stream partitions can match %q; what it partitions is %s", f, strings.Join(subjects, ", "))
		}
	}
	return nil
}

// exampleFilter is what an example of a transform is for: the group's first filter,
// keyed by its first wildcard if it has one.
func exampleFilter(filters []string) PartitioningFilter {
	f := PartitioningFilter{Filter: "orders.*"}
	if len(filters) > 0 {
		f.Filter = filters[0]
	}
	if slices.Contains(strings.Split(f.Filter, "."), "*") {
		f.PartitioningWildcards = []int{1}
	}
	return f
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool { return isKeyRune(r) && r != '=' }
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func overlapsAny(filter string, subjects []string) bool {
	for _, s := range subjects {
		if overlap(filter, s) {
			return true
		}
	}
	return false
}

// destinations are all the transforms by which subjects can get into a stream.
func destinations(sc jetstream.StreamConfig) []string {
	var out []string
	if sc.SubjectTransform != nil {
		out = append(out, sc.SubjectTransform.Destination)
	}
	sources := sc.Sources
	if sc.Mirror != nil {
		sources = append(sources[:len(sources):len(sources)], sc.Mirror)
	}
	for _, src := range sources {
		for _, t := range src.SubjectTransforms {
			out = append(out, t.Destination)
		}
	}
	return out
}

// partitionOf takes a destination of the form {{Partition(n,…)}}.rest apart, and
// returns rest as the filter that its subjects match.
func partitionOf(destination string) (n uint64, rest string, ok bool) {
	call, rest, ok := strings.Cut(foldFunctions(destination), "}}.")
	args, isPartition := strings.CutPrefix(call, "{{partition(")
	if !ok || !isPartition {
		return 0, "", false
	}
	count, _, _ := strings.Cut(strings.TrimSuffix(args, ")"), ",")
	n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
	if err != nil {
		return 0, "", false
	}
	tokens := strings.Split(rest, ".")
	for i, t := range tokens {
		if strings.HasPrefix(t, "{{") || strings.HasPrefix(t, "$") {
			tokens[i] = "*"
		}
	}
	return n, strings.Join(tokens, "."), true
}
