package pcgroups

import (
	"errors"
	"fmt"
	"strings"
)

// The sentinels of this package. Every error of a function that talks to the
// server is an [*Error] that wraps one of them where one applies, with the
// server's or client's own error kept as a further cause, so that both
// errors.Is(err, ErrGroupNotFound) and errors.Is(err, jetstream.ErrKeyNotFound)
// hold where both are true. Pure functions return a bare [*ConfigError].
var (
	// ErrGroupNotFound is returned when the group has no entry in its
	// configuration bucket: it was never created, or was deleted. It is also
	// returned when the bucket itself does not exist yet, as no group can.
	ErrGroupNotFound = errors.New("consumer group not found")

	// ErrGroupExists is returned by CreateStatic and CreateElastic when the
	// group exists with another configuration, or exists at all and
	// FailIfExists was given. The existing group is left as it is.
	ErrGroupExists = errors.New("consumer group already exists")

	// ErrInvalidConfig is returned when a configuration, a name or an option
	// can not work. The chain then also holds a [*ConfigError] that names the
	// field. Nothing has been written.
	ErrInvalidConfig = errors.New("invalid consumer group configuration")

	// ErrMemberNotInGroup is returned by StaticConsume for a member that is not
	// in the group, and by step down for a member that has no consumer.
	ErrMemberNotInGroup = errors.New("member is not in the consumer group")

	// ErrGroupConfigChanged ends a session whose group was changed in a way that
	// a running member can not follow: anything for a static group, the
	// partition count, filters or buffer limits for an elastic one.
	ErrGroupConfigChanged = errors.New("consumer group configuration changed")

	// ErrConsumerDeleted ends a static session whose durable consumer was deleted,
	// or changed beyond use, while the group still exists. Creating it again could replay or
	// skip messages, so that is left to the user (see WithRejoin).
	ErrConsumerDeleted = errors.New("the member's consumer was deleted")

	// ErrConflict is returned when a write found the group changed since it was
	// read: by a replacing write, by IfRevision, or by a commutative write
	// (AddMembers, DeleteMembers) whose retries were ended by the context.
	ErrConflict = errors.New("consumer group was changed by someone else")

	// ErrLegacyConfig is returned for a stored configuration in a shape that
	// predates orbit.go v0.2 (the keys "filter" and "partitioning_wildcards" at
	// the top level) or in kebab-case. Reading it as a current one would lose
	// its filters, so it is never read as such and never rewritten.
	ErrLegacyConfig = errors.New("consumer group configuration is in a legacy format")

	// ErrNotGroupStream is returned when the stream <stream>-<group> exists but
	// is not the work-queue stream of this group. It is neither adopted nor
	// deleted.
	ErrNotGroupStream = errors.New("stream is not the consumer group's work-queue stream")

	// ErrStreamNotFound is returned when the stream the group is about does not
	// exist. The chain also holds jetstream.ErrStreamNotFound.
	ErrStreamNotFound = errors.New("stream not found")

	// ErrServerTooOld is returned when the JetStream API level of the account is
	// too low: pinned clients need nats-server 2.11 (level 1), partitioning over
	// the whole subject needs 2.12 (level 2). Nothing has been written.
	ErrServerTooOld = errors.New("the NATS server is too old")

	// ErrJetStreamDisabled is returned when the server or the account has no
	// JetStream. The chain also holds the client's own error.
	ErrJetStreamDisabled = errors.New("JetStream is not enabled")

	// ErrHandler ends a session whose handler panicked or returned an error.
	// The message stays unacknowledged. The chain holds the handler's error or a
	// [*PanicError].
	ErrHandler = errors.New("message handler failed")

	// ErrHandlerTimeout is returned by Err when Stop gave up waiting for a
	// handler that was still running at its message's ack deadline.
	ErrHandlerTimeout = errors.New("message handler did not return before its ack deadline")

	// ErrConnectionClosed ends a session whose NATS connection was closed. A
	// reconnect does not end it.
	ErrConnectionClosed = errors.New("the NATS connection was closed")

	// ErrBucketDeleted ends a session whose configuration bucket was deleted:
	// without it no membership change could ever be seen again.
	ErrBucketDeleted = errors.New("the consumer groups' configuration bucket was deleted")
)

// Error is the error type of every function that talks to the server, and of
// [Session.Err].
type Error struct {
	Op     string // what was being done, such as "create elastic group"
	Stream string // the stream the group is on
	Group  string // the group's name
	Member string // the member's name, where there is one
	Err    error  // a sentinel of this package joined with its cause
}

// Error tells what was done to which group, why it failed and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("pcgroups: ")
	b.WriteString(e.Op)
	if e.Stream != "" {
		b.WriteByte(' ')
		b.WriteString(e.Stream)
		if e.Group != "" {
			b.WriteByte('/')
			b.WriteString(e.Group)
		}
	}
	if e.Member != "" {
		fmt.Fprintf(&b, " member %q", e.Member)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the sentinel and its cause.
func (e *Error) Unwrap() error { return e.Err }

// ConfigError names the field of a configuration, or the argument, that can not
// work. errors.Is(err, ErrInvalidConfig) holds for it.
type ConfigError struct {
	Field  string // the JSON name of the field, or the argument's name
	Reason string // what is wrong with its value, and what would be right
}

// Error joins field and reason.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap makes errors.Is(err, ErrInvalidConfig) hold.
func (e *ConfigError) Unwrap() error { return ErrInvalidConfig }

// PanicError is what a handler's panic is turned into.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the handler's stack at that moment
}

// Error includes the value but not the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// fault is a sentinel with its cause and the advice that goes with it. Both
// sentinel and cause are found by errors.Is and errors.As.
type fault struct {
	is    error
	cause error
	next  string
}

func (f *fault) Error() string {
	s := f.is.Error()
	if f.cause != nil {
		s += ": " + f.cause.Error()
	}
	if f.next != "" {
		s += "; " + f.next
	}
	return s
}

func (f *fault) Unwrap() []error {
	if f.cause == nil {
		return []error{f.is}
	}
	return []error{f.is, f.cause}
}

func because(is, cause error, next string) error {
	return &fault{is: is, cause: cause, next: next}
}

// notAMember names those who are, as far as that helps.
func notAMember(members []string) error {
	const most = 10
	more := ""
	if len(members) > most {
		more = fmt.Sprintf(" and %d more", len(members)-most)
		members = members[:most]
	}
	next := fmt.Sprintf("it has the members %q%s; run as one of them, or create the group anew with this one", members, more)
	if len(members) == 0 {
		next = "it has no members; create the group anew with this one"
	}
	return because(ErrMemberNotInGroup, nil, next)
}

func badField(field, format string, args ...any) error {
	return &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
