package pcgroups_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain catches goroutines that outlive the tests: a watcher, a pull or a
// timer that a session forgot.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		// The live tests wait more than they compute, each for its own server.
		if err := f.Value.Set("8"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m,
		// The embedded server's own: when a stream goes while it is asking for its
		// source or what it mirrors, these wait for an answer for up to 30 s.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*stream).tryDeleteSourcingConsumer.func1"),
	)
}
