package natstest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/release"
)

// Release is a server of a released version that belongs to a test.
type Release struct {
	*release.Server
	t testing.TB
}

// StartRelease runs a released nats-server ("2.11.17") with JetStream, which is
// built if need be, and stops it when the test ends. A version that can not be
// had fails the test. What follows goes to its command line.
func StartRelease(t testing.TB, version string, args ...string) *Release {
	t.Helper()
	bin, err := release.Build(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := release.Run(t.Context(), bin, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	return &Release{Server: srv, t: t}
}

// JetStream is a JetStream context on a connection of its own, closed when the
// test ends.
func (r *Release) JetStream(opts ...nats.Option) jetstream.JetStream {
	r.t.Helper()
	return newJetStream(r.t, connect(r.t, func(opts ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(r.URL, opts...)
	}, opts))
}
