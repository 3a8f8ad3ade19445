package pcgroups_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain catches goroutines that outlive the tests: a watcher, a pull or a
// timer that a session forgot.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The embedded server's own: when a stream goes while it is asking for its
		// source, these wait for an answer for up to 30 s.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).tryDeleteSourcingConsumer.func1"),
	)
}
