package conformance

import (
	"context"
	"errors"
	"slices"
)

// ErrUnsupported is returned for an operation or a feature that an
// implementation does not have.
var ErrUnsupported = errors.New("not supported by this implementation")

// ErrHarness marks what went wrong in the suite itself or with its servers and
// adapters, and so tells nothing about an implementation.
var ErrHarness = errors.New("harness")

// Implementation is something that speaks the wire contract of partitioned
// consumer groups, and can be run any number of times.
type Implementation struct {
	// Hello is what it says of itself. Name and version together are how the
	// list of divergences and the report call it.
	Hello Hello
	// Open runs one instance of it, as one application with a connection of its
	// own. Events are reported one at a time.
	Open func(ctx context.Context, url string, events func(Event)) (Peer, error)
}

// ID is the name and version in one word.
func (i Implementation) ID() string {
	if i.Hello.Version == "" {
		return i.Hello.Name
	}
	return i.Hello.Name + "@" + i.Hello.Version
}

// Has tells whether the implementation has all of the features.
func (i Implementation) Has(features ...string) bool {
	return len(i.missing(features)) == 0
}

func (i Implementation) missing(features []string) []string {
	var out []string
	for _, f := range features {
		if !slices.Contains(i.Hello.Features, f) {
			out = append(out, f)
		}
	}
	return out
}

// Peer is a running instance of an implementation.
type Peer interface {
	// Call carries out an operation. An error that wraps ErrUnsupported or
	// ErrHarness says so; any other is the implementation's refusal.
	Call(ctx context.Context, r Request) (Answer, error)
	// Close ends the instance at once, as a crash would, and returns when no
	// further event can come.
	Close() error
}
