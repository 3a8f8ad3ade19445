package pcgroups_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a member that never notices that it was added, goes on after it was
// dropped, or loses or repeats messages around either.
func TestElasticMemberFollowsMembership(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(4)
	m1 := f.member("m1", 0, strict(2*time.Second))
	if err := m1.WaitForConsuming(f.ctx(), false); err != nil {
		t.Fatal(err)
	}
	f.publish(8, 5)
	if _, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if err := m1.WaitForConsuming(f.ctx(), true); err != nil {
		t.Fatal(err)
	}
	f.allHandled(40)

	if _, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if err := m1.WaitForConsuming(f.ctx(), false); err != nil {
		t.Fatal(err)
	}
	f.publish(8, 5)
	if _, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m1", "m2"}); err != nil {
		t.Fatal(err)
	}
	f.member("m2", 0, strict(2*time.Second))
	f.allHandled(80)
}

// Prevents: a static member that loses the partition token, its order or
// messages, and one that lets in a name that is not a member.
func TestStaticMembersConsumeAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.static(4, "m1", "m2")
	f.publish(16, 3)
	for _, m := range []string{"m1", "m2"} {
		f.join(pcgroups.StaticConsume, m, f.handler(m, 0), strict(2*time.Second))
	}
	f.allHandled(48)

	_, err := pcgroups.StaticConsume(f.ctx(), f.js, "ORDERS", "workers", "m3", f.handler("m3", 0), strict(0))
	if !errors.Is(err, pcgroups.ErrMemberNotInGroup) {
		t.Fatalf("a stranger was let in: %v", err)
	}
}

// Prevents what the oracle does: the member that loses a partition goes on with
// the message it has while the new owner gets the same one (26 % handled twice).
func TestHandoverNeverOverlaps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(8, "m1")
	f.member("m1", 60*time.Millisecond, strict(2*time.Second))
	f.member("m2", 60*time.Millisecond, strict(2*time.Second))
	f.publish(16, 6)
	for range 8 {
		both, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"})
		if err != nil || len(both) != 2 {
			t.Fatal(both, err)
		}
		n := f.check.Verdict().Handled
		if err := f.check.WaitHandled(f.ctx(), min(n+4, 96)); err != nil {
			t.Fatal(err)
		}
		if _, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err != nil {
			t.Fatal(err)
		}
	}
	f.allHandled(96)
}

// Prevents: a fail-over that takes a whole AckWait although the instance left in
// an orderly way (the oracle: 5 s), or that repeats its last message.
func TestStopHandsThePinOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	const ackWait = 30 * time.Second // longer than the test waits
	a := f.member("m1", 0, strict(ackWait))
	f.publish(4, 5)
	f.allHandled(20)
	f.member("m1", 0, strict(ackWait))
	a.Stop()
	if err := waitDone(t, a); err != nil {
		t.Fatal(err)
	}
	f.publish(4, 5)
	f.allHandled(40)
}

// Prevents the silent death of the oracle's members: the consumer is deleted
// under a session that never notices.
func TestDeletedConsumer(t *testing.T) {
	t.Parallel()
	t.Run("an elastic member makes a new one", func(t *testing.T) {
		f := newFixture(t)
		f.elastic(2, "m1")
		s := f.member("m1", 0, strict(30*time.Second))
		f.waiting("ORDERS-workers", "m1", 1)
		if err := f.js.DeleteConsumer(f.ctx(), "ORDERS-workers", "m1"); err != nil {
			t.Fatal(err)
		}
		f.publish(4, 5)
		f.allHandled(20)
		if st := s.Status(); st.Recovered == 0 || st.LastRecovered == nil {
			t.Errorf("the fault was not counted: %+v", st)
		}
	})
	t.Run("a static session ends and says why", func(t *testing.T) {
		f := newFixture(t)
		f.static(2, "m1")
		s := f.join(pcgroups.StaticConsume, "m1", f.handler("m1", 0), strict(30*time.Second))
		f.waiting("ORDERS", "workers-m1", 1)
		if err := f.js.DeleteConsumer(f.ctx(), "ORDERS", "workers-m1"); err != nil {
			t.Fatal(err)
		}
		if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrConsumerDeleted) {
			t.Fatalf("got %v", err)
		}
	})
}

// Prevents: a session that outlives its group, or takes its deletion for an
// error, whether the key or the consumer is gone first; and purge taken for
// broken JSON, as the oracle does.
func TestGroupDeleted(t *testing.T) {
	t.Parallel()
	remove := map[string]func(f *fixture) error{
		"delete": func(f *fixture) error { return pcgroups.DeleteElastic(f.ctx(), f.js, "ORDERS", "workers") },
		"purge": func(f *fixture) error {
			kv, err := f.js.KeyValue(f.ctx(), pcgroups.ElasticBucket)
			if err != nil {
				return err
			}
			return kv.Purge(f.ctx(), "ORDERS.workers")
		},
	}
	for name, remove := range remove {
		t.Run("elastic "+name, func(t *testing.T) {
			f := newFixture(t)
			f.elastic(2, "m1")
			s := f.member("m1", 0, strict(0))
			if err := remove(f); err != nil {
				t.Fatal(err)
			}
			if err := waitDone(t, s); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("static", func(t *testing.T) {
		f := newFixture(t)
		f.static(2, "m1", "m2")
		s := f.join(pcgroups.StaticConsume, "m1", f.handler("m1", 0), strict(0))
		if err := pcgroups.DeleteStatic(f.ctx(), f.js, "ORDERS", "workers"); err != nil {
			t.Fatal(err)
		}
		if err := waitDone(t, s); err != nil {
			t.Fatal(err)
		}
		if _, err := f.js.Consumer(f.ctx(), "ORDERS", "workers-m1"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("the durable was left behind: %v", err)
		}
	})
}

// Prevents: a member that goes on consuming by a configuration that is no longer
// the group's.
func TestGroupChangedForGood(t *testing.T) {
	t.Parallel()
	change := func(f *fixture, bucket, value string) {
		kv, err := f.js.KeyValue(f.ctx(), bucket)
		if err == nil {
			_, err = kv.Put(f.ctx(), "ORDERS.workers", []byte(value))
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
	t.Run("elastic", func(t *testing.T) {
		f := newFixture(t)
		f.elastic(2, "m1")
		s := f.member("m1", 0, strict(0))
		change(f, pcgroups.ElasticBucket, `{"max_members":3,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"members":["m1"]}`)
		if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrGroupConfigChanged) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("static", func(t *testing.T) {
		f := newFixture(t)
		f.static(2, "m1")
		s := f.join(pcgroups.StaticConsume, "m1", f.handler("m1", 0), strict(0))
		change(f, pcgroups.StaticBucket, `{"max_members":2,"filters":["orders.*"],"members":["m1","m2"]}`)
		if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrGroupConfigChanged) {
			t.Fatalf("got %v", err)
		}
		if _, err := f.js.Consumer(f.ctx(), "ORDERS", "workers-m1"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("the durable was left behind: %v", err)
		}
	})
	t.Run("nothing of substance", func(t *testing.T) {
		f := newFixture(t)
		f.elastic(2, "m1")
		s := f.member("m1", 0, strict(0))
		before, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
		if err != nil {
			t.Fatal(err)
		}
		change(f, pcgroups.ElasticBucket, `{"members":["m1","m1"],"max_members":2,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"max_buffered_msg":-1,"max_buffered_bytes":-1,"note":"x"}`)
		f.publish(4, 5)
		f.allHandled(20)
		after, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
		if err != nil {
			t.Fatal(err)
		}
		if !after.CachedInfo().Created.Equal(before.CachedInfo().Created) {
			t.Error("the consumer was replaced although the member's partitions are the same")
		}
		if s.Err() != nil {
			t.Error(s.Err())
		}
	})
}
