package pcgroups_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a session on a work queue whose messages are removed unacknowledged.
func TestElasticInsistsOnExplicitAcks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	for _, policy := range []jetstream.AckPolicy{jetstream.AckNonePolicy, jetstream.AckAllPolicy} {
		_, err := pcgroups.ElasticConsume(f.ctx(), f.js, "ORDERS", "workers", "m1", f.handler("m1", 0), jetstream.ConsumerConfig{AckPolicy: policy})
		var bad *pcgroups.ConfigError
		if !errors.As(err, &bad) || bad.Field != "ack_policy" {
			t.Errorf("%v: got %v", policy, err)
		}
	}
}

// Prevents: surprise at a member past max_members. It is in the group, waits, and
// takes over when there is room.
func TestMemberPastTheCapWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1", "m2", "m3")
	m3 := f.member("m3", 0, strict(2*time.Second))
	f.member("m1", 0, strict(2*time.Second))
	f.member("m2", 0, strict(2*time.Second))
	f.publish(8, 2)
	f.allHandled(16)
	if st := m3.Status(); st.Consuming || len(st.Partitions) != 0 {
		t.Errorf("it consumes: %+v", st)
	}
	d, err := pcgroups.DescribeElastic(f.ctx(), f.js, "ORDERS", "workers")
	if err != nil || len(d.Unassigned) != 1 || d.Unassigned[0] != "m3" {
		t.Errorf("unassigned %v, %v", d.Unassigned, err)
	}
	if _, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if err := m3.WaitForConsuming(f.ctx(), true); err != nil {
		t.Error(err)
	}
}

// Prevents: max_members taken for something that can grow. It is baked into the
// work-queue stream.
func TestMaxMembersIsFixed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2)
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 3,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1)
	if !errors.Is(err, pcgroups.ErrGroupExists) {
		t.Errorf("got %v", err)
	}
}

// Prevents: a full work-queue stream that loses what does not fit. The server
// pauses sourcing for about two seconds each time.
func TestFullBufferLosesNothing(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 2,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, 10, -1, pcgroups.WithMembers("m1"))
	if err != nil {
		t.Fatal(err)
	}
	f.publish(5, 5)
	f.member("m1", 0, strict(2*time.Second))
	f.allHandled(25)
}

// Prevents: the pin of an idle group moving between instances when AckWait is
// short, as with the oracle below 2 s: renewing it keeps it in place.
func TestShortAckWaitKeepsThePin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	f.member("m1", 0, strict(time.Second))
	f.publish(2, 1)
	f.allHandled(2)
	f.member("m1", 0, strict(time.Second))
	moves := natstest.Capture(t, f.srv.Connect(), "$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.ORDERS-workers.m1")
	natstest.Never(t, 4*time.Second, func() bool {
		return len(moves.Requests("$JS.EVENT.ADVISORY")) > 0
	}, "the pin was lost")
}
