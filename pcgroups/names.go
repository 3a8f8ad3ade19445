package pcgroups

import (
	"strings"
	"unicode"
)

// The names of the wire contract. They may never change: every implementation
// of the protocol, in any language, finds a group by them.
const (
	// StaticBucket is the key-value bucket that holds the configurations of
	// static groups (oracle: kvStaticBucketName).
	StaticBucket = "static-consumer-groups"

	// ElasticBucket is the key-value bucket that holds the configurations of
	// elastic groups (oracle: kvElasticBucketName).
	ElasticBucket = "elastic-consumer-groups"

	// PriorityGroup is the name of the one priority group of every member's
	// consumer (oracle: priorityGroupName; ADR-42 allows 16 characters).
	PriorityGroup = "PCG"
)

// maxNameLen is the server's limit for stream and consumer names (JSMaxNameLen).
const maxNameLen = 255

// ComposeKey returns the key of a group's configuration in its bucket,
// <stream>.<group> (oracle: composeKey).
func ComposeKey(stream, group string) string { return stream + "." + group }

// ComposeStaticConsumerName returns the name of the durable consumer that a
// static member uses on the group's stream, <group>-<member>
// (oracle: composeStaticConsumerName).
func ComposeStaticConsumerName(group, member string) string { return group + "-" + member }

// ComposeGroupStreamName returns the name of an elastic group's work-queue
// stream, <stream>-<group> (oracle: composeCGSName).
func ComposeGroupStreamName(stream, group string) string { return stream + "-" + group }

// checkNames refuses names that no server would ever accept in the places where
// the protocol puts them, so that the reason is told before anything is written.
func checkNames(fl *flavour, stream, group string) error {
	if err := checkKeyToken("stream", stream); err != nil {
		return err
	}
	if err := checkKeyToken("group", group); err != nil {
		return err
	}
	return checkLength("group", "stream and group name joined by a dash", fl.groupStream(stream, group))
}

// checkMember refuses member names that can not be part of a consumer's name.
func checkMember(fl *flavour, group, member string) error {
	if member == "" {
		return badField("member", "must not be empty")
	}
	for _, r := range member {
		if why := badConsumerRune(r); why != "" {
			return badField("member", "%q contains %s, which a consumer name can not hold; use letters, digits, '-' and '_'", member, why)
		}
	}
	return checkLength("member", "consumer name", fl.consumerName(group, member))
}

func checkMembers(fl *flavour, group string, members []string) error {
	for _, m := range members {
		if err := checkMember(fl, group, m); err != nil {
			return err
		}
	}
	return nil
}

// checkKeyToken allows what one token of a KV key may hold: the key's alphabet
// without the dot, which separates stream and group, and without the slash,
// which no stream name may hold.
func checkKeyToken(field, name string) error {
	if name == "" {
		return badField(field, "must not be empty")
	}
	for _, r := range name {
		if isKeyRune(r) {
			continue
		}
		what := badConsumerRune(r)
		if what == "" {
			what = "the character " + strings.TrimSpace(string(r))
		}
		return badField(field, "%q contains %s; only letters, digits, '-', '_' and '=' can be used", name, what)
	}
	return nil
}

func isKeyRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r == '-' || r == '_' || r == '='
}

func badConsumerRune(r rune) string {
	switch {
	case r == '.':
		return "a dot"
	case r == '*' || r == '>':
		return "a wildcard"
	case r == '/' || r == '\\':
		return "a path separator"
	case unicode.IsSpace(r):
		return "a space"
	case r == unicode.ReplacementChar || !unicode.IsPrint(r):
		return "an unprintable character"
	}
	return ""
}

func checkLength(field, what, composed string) error {
	if len(composed) > maxNameLen {
		return badField(field, "the %s is %d bytes long, the server allows %d", what, len(composed), maxNameLen)
	}
	return nil
}
