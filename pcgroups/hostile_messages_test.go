package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// strays are subjects that no partitioning makes.
var strays = []string{"x", "orders.k1", "-1.orders.k1", "007.orders.k1", "1e3.orders.k1", "99999999999999999999.orders.k1", "0x1.orders.k1", "é.orders.k1", "2.orders.k1"}

// Prevents: a stream without its transform, or one that somebody publishes to past
// it, bringing down the members: what carries no partition of theirs is not theirs.
// CheckStaticStream tells of it.
func TestMessagesWithoutPartition(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for _, pending := range []int{1, 1000} {
		t.Run(fmt.Sprint("MaxAckPending ", pending), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, err := f.js.CreateStream(f.ctx(), jetstream.StreamConfig{Name: "ORDERS", Subjects: append(slices.Clone(strays), "0.orders.*", "1.orders.*")})
			must(t, err)
			_, err = pcgroups.CreateStatic(f.ctx(), f.js, "ORDERS", "workers", 2, nil, []string{"m1"}, nil)
			must(t, err)
			if err := pcgroups.CheckStaticStream(f.ctx(), f.js, "ORDERS", 2, nil); !errors.Is(err, pcgroups.ErrInvalidConfig) || !strings.Contains(err.Error(), "puts no partition number in front of its subjects") {
				t.Errorf("the check says: %v", err)
			}
			var got natstest.Recorder[string]
			s := f.join(pcgroups.StaticConsume, "m1", collect(&got), f.consumerWith(pending))
			for _, subject := range strays {
				must(t, f.js.Conn().Publish(subject, []byte(subject)))
			}
			must(t, f.js.Conn().Publish("1.orders.k1", []byte("1")))
			if all := got.WaitN(t, 1, patience); !slices.Equal(all, []string{"1.orders.k1"}) || s.Err() != nil {
				t.Errorf("got %q, %v", all, s.Err())
			}
		})
	}
}

// Prevents: a message whose subject does not begin with one of the member's
// partitions, which comes if somebody changes the filters of its consumer, ending
// the session by a panic, or holding up all that is behind it.
func TestStrayMessagesAreHandled(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for _, pending := range []int{1, 1000} {
		t.Run(fmt.Sprint("MaxAckPending ", pending), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, err := f.js.CreateStream(f.ctx(), jetstream.StreamConfig{Name: "ORDERS", Subjects: append(slices.Clone(strays), "0.orders.*", "1.orders.*")})
			must(t, err)
			_, err = pcgroups.CreateStatic(f.ctx(), f.js, "ORDERS", "workers", 2, nil, []string{"m1"}, nil)
			must(t, err)
			var got natstest.Recorder[string]
			s := f.join(pcgroups.StaticConsume, "m1", collect(&got), f.consumerWith(pending))
			f.waiting("ORDERS", "workers-m1", 1)
			c := f.consumer("ORDERS", "workers-m1").Config
			c.FilterSubjects, c.FilterSubject = slices.Concat([]string{"0.>", "1.>"}, strays), ""
			_, err = f.js.UpdateConsumer(f.ctx(), "ORDERS", c)
			must(t, err)
			for _, subject := range append(slices.Clone(strays), "0.orders.k1") {
				must(t, f.js.Conn().Publish(subject, []byte(subject)))
			}
			all := got.Wait(t, patience, func(have []string) bool { return slices.Contains(have, "0.orders.k1") })
			t.Logf("handled %q, session error %v", all, s.Err())
			if s.Err() != nil {
				t.Errorf("the session ended with %v", s.Err())
			}
			if len(all) != len(strays)+1 {
				got.WaitN(t, len(strays)+1, patience)
			}
		})
	}
}

// consumerWith is a consumer configuration with that many messages in flight.
func (f *fixture) consumerWith(pending int) jetstream.ConsumerConfig {
	c := strict(5 * time.Second)
	c.MaxAckPending = pending
	return c
}

// collect acknowledges and records the subjects of messages as they are stored.
func collect(got *natstest.Recorder[string]) func(jetstream.Msg) {
	return pcgroups.AutoAck(func(_ context.Context, m *pcgroups.Msg) error {
		if p := m.Partition(); p < -1 {
			return fmt.Errorf("partition %d", p)
		}
		_ = m.Subject()
		got.Add(m.PartitionedSubject())
		return nil
	})
}
