package pcgroups_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a member that stands still and nobody knows why. One message that is
// given back for long holds its partition; the others go on until what waits behind
// it fills MaxAckPending, and then the server delivers nothing more.
func TestPoisonedPartitionIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(4, "m1")
	var poisoned atomic.Int64
	poisoned.Store(-1)
	told := make(chan []int, 10)
	c := many(time.Second, -1)
	c.MaxAckPending = 10
	s := f.member1(pcgroups.HandlerFunc(func(_ context.Context, m *pcgroups.Msg) error {
		if string(m.Data()) == "poison" {
			poisoned.Store(int64(m.Partition()))
			return m.NakWithDelay(time.Hour)
		}
		return m.Ack()
	}), c, pcgroups.WithConcurrency(4), pcgroups.WithEvents(pcgroups.Events{
		PartitionStalled: func(partitions []int) { told <- slices.Clone(partitions) },
	}))
	send := func(subject, text string) {
		t.Helper()
		if _, err := f.js.Publish(f.ctx(), subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send("orders.k0", "poison")
	for range 20 {
		send("orders.k0", "behind it")
	}
	select {
	case partitions := <-told:
		if len(partitions) != 1 || partitions[0] != int(poisoned.Load()) {
			t.Errorf("told %v, poisoned is %d", partitions, poisoned.Load())
		}
	case <-time.After(patience):
		t.Fatalf("nothing was told: %+v", s.Status())
	}
	natstest.Eventually(t, patience, func() error {
		if st := s.Status(); st.Held != 9 || len(st.Stalled) != 1 {
			return errors.New("the status does not tell")
		}
		return nil
	})
}

// Prevents: a message that the server has given up holding its partition for ever,
// or being dropped without a word.
func TestGivenUpIsToldAndPassed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	type given struct {
		sequence, deliveries uint64
	}
	told := make(chan given, 10)
	got := make(chan string, 10)
	f.member1(func(m jetstream.Msg) {
		switch text := string(m.Data()); text {
		case "naked":
			_ = m.Nak()
		case "forgotten":
		default:
			got <- text
			_ = m.Ack()
		}
	}, many(time.Second, 2), pcgroups.WithEvents(pcgroups.Events{
		MessageGivenUp: func(_ int, sequence, deliveries uint64) { told <- given{sequence, deliveries} },
	}))
	for _, text := range []string{"naked", "forgotten", "good"} {
		if _, err := f.js.Publish(f.ctx(), "orders.k0", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for want := uint64(1); want <= 2; want++ {
		select {
		case g := <-told:
			if g.sequence != want || g.deliveries != 2 {
				t.Errorf("given up: %+v, not message %d after 2 deliveries", g, want)
			}
		case <-time.After(patience):
			t.Fatal("a message given up was not told")
		}
	}
	select {
	case text := <-got:
		if text != "good" {
			t.Error(text)
		}
	case <-time.After(patience):
		t.Fatal("what came after was not handled")
	}
}

// Prevents: several handlers at once where the order can not be kept, found out
// only by what it does to the data.
func TestConcurrencyRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.static(2, "m1")
	h := func(jetstream.Msg) {}
	for _, tt := range []struct {
		policy jetstream.AckPolicy
		n      int
	}{{jetstream.AckExplicitPolicy, 0}, {jetstream.AckExplicitPolicy, -1}, {jetstream.AckAllPolicy, 2}, {jetstream.AckNonePolicy, 2}} {
		_, err := pcgroups.StaticConsume(f.ctx(), f.js, "ORDERS", "workers", "m1", h, jetstream.ConsumerConfig{AckPolicy: tt.policy}, pcgroups.WithConcurrency(tt.n))
		var field *pcgroups.ConfigError
		if !errors.As(err, &field) || field.Field != "concurrency" {
			t.Errorf("%v with %d: %v", tt.policy, tt.n, err)
		}
	}
}
