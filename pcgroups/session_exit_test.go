package pcgroups_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a Stop that never ends, and a member that handles nothing any more without
// a word, as a handler has ended the client's goroutine (runtime.Goexit, or FailNow in
// a test). The client never says that its subscription is over then.
func TestHandlerEndsTheClientsGoroutine(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for name, c := range map[string]jetstream.ConsumerConfig{"one in flight": strict(time.Second), "many in flight": many(time.Second, -1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.elastic(4, "m1")
			s, err := pcgroups.ElasticConsume(f.ctx(), f.js, "ORDERS", "workers", "m1", func(jetstream.Msg) { runtime.Goexit() }, c)
			must(t, err)
			f.publish(4, 1)
			refused(t, s.Wait(f.ctx()), pcgroups.ErrHandler)
			s.Stop()
		})
	}
}
