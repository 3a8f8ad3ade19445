package pcgroups_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a rolling change to a shorter AckWait that stops a member with many
// messages in flight for good. There is always something ack-pending under a
// backlog (what was nak'd counts, too), so the change is never possible, and each
// attempt gave all messages back before one was handled.
func TestShorterAckWaitUnderBacklog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(4, "m1")
	c := func(ackWait time.Duration) jetstream.ConsumerConfig {
		return jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 100}
	}
	a := f.member("m1", time.Millisecond, c(5*time.Second), pcgroups.WithConcurrency(4))
	f.publish(16, 100)
	f.member("m1", time.Millisecond, c(4*time.Second), pcgroups.WithConcurrency(4))
	a.Stop()
	if err := waitDone(t, a); err != nil {
		t.Fatal(err)
	}
	f.allHandled(1600)
}
