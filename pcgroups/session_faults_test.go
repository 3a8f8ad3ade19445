package pcgroups_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents the worst of the oracle's zombies: the consumer expires or is deleted
// while the client is cut off, after which the client hears nothing but missing
// heartbeats.
func TestConsumerDeletedWhileCutOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	proxy := natstest.StartProxy(t, f.srv.URL())
	nc := f.srv.ConnectVia(proxy, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Stop(); <-s.Closed() }()
	proxy.Cut()
	if err := f.js.DeleteConsumer(f.ctx(), "ORDERS-workers", "m1"); err != nil {
		t.Fatal(err)
	}
	f.publish(4, 5)
	proxy.Heal()
	f.allHandled(20)
}

// Prevents: a session that does not survive a restart of its server, which takes
// longer than its ack wait.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	s := f.member("m1", 0, strict(time.Second))
	f.publish(4, 5)
	f.allHandled(20)
	f.srv.Shutdown()
	natstest.Eventually(t, patience, func() error {
		if f.js.Conn().IsConnected() {
			return errors.New("still connected")
		}
		return nil
	})
	natstest.Never(t, 1500*time.Millisecond, func() bool { return s.Err() != nil }, "the session ended")
	f.srv.Restart()
	natstest.Eventually(t, patience, func() error { return f.js.Conn().LastError() })
	f.publish(4, 5)
	f.allHandled(40)
}

// Prevents: a member that stays dead after its group's stream was lost and made
// again, with and without the group being deleted in between.
func TestWorkQueueStreamLostAndBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	f.member("m1", 0, strict(2*time.Second))
	f.publish(4, 5)
	f.allHandled(20)
	if err := f.js.DeleteStream(f.ctx(), "ORDERS-workers"); err != nil {
		t.Fatal(err)
	}
	// What was acknowledged would be sourced again: the origin keeps everything.
	s, err := f.js.Stream(f.ctx(), "ORDERS")
	if err == nil {
		err = s.Purge(f.ctx())
	}
	if err == nil {
		_, err = pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 2,
			[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.publish(4, 5)
	f.allHandled(40)
}

// Prevents: a session that goes on for ever by a configuration that nobody can
// change any more, as the oracle's does.
func TestBucketDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "m1")
	s := f.member("m1", 0, strict(time.Second))
	if err := f.js.DeleteKeyValue(f.ctx(), pcgroups.ElasticBucket); err != nil {
		t.Fatal(err)
	}
	if err := waitDone(t, s); !errors.Is(err, pcgroups.ErrBucketDeleted) {
		t.Fatalf("got %v", err)
	}
}

// Prevents: a replacement by Terraform, which deletes and creates the group, that
// needs every worker to be restarted.
func TestRejoin(t *testing.T) {
	t.Parallel()
	t.Run("elastic", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.stream("ORDERS", 0)
		create := func(partitions uint) {
			_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", partitions,
				[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
			if err != nil {
				t.Fatal(err)
			}
		}
		s := f.member("m1", 0, strict(2*time.Second), pcgroups.WithRejoin()) // before there is a group
		create(2)
		f.publish(4, 5)
		f.allHandled(20)
		if err := pcgroups.DeleteElastic(f.ctx(), f.js, "ORDERS", "workers"); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitForConsuming(f.ctx(), false); err != nil {
			t.Fatal(err)
		}
		origin, err := f.js.Stream(f.ctx(), "ORDERS")
		if err == nil {
			err = origin.Purge(f.ctx())
		}
		if err != nil {
			t.Fatal(err)
		}
		create(3)
		f.publish(4, 5)
		f.allHandled(40)
	})
	t.Run("static durable", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.static(2, "m1")
		c := strict(2 * time.Second)
		c.DeliverPolicy = jetstream.DeliverNewPolicy
		s := f.join(pcgroups.StaticConsume, "m1", f.handler("m1", 0), c, pcgroups.WithRejoin())
		f.waiting("ORDERS", "workers-m1", 1)
		first := f.consumer("ORDERS", "workers-m1").Created
		if err := f.js.DeleteConsumer(f.ctx(), "ORDERS", "workers-m1"); err != nil {
			t.Fatal(err)
		}
		natstest.Eventually(t, patience, func() error {
			c, err := f.js.Consumer(f.ctx(), "ORDERS", "workers-m1")
			if err == nil && c.CachedInfo().Created.Equal(first) {
				err = errors.New("it is still the old one")
			}
			return err
		})
		if st := s.Status(); st.Recovered == 0 {
			t.Error("the fault was not counted")
		}
		f.publish(4, 5)
		f.allHandled(20)
	})
}

// Prevents: two instances of a member with another AckWait each deleting the
// other's consumer for ever, or one of them left behind dead.
func TestRollingAckWait(t *testing.T) {
	t.Parallel()
	t.Run("ours and ours", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.elastic(2, "m1")
		consumers := natstest.Capture(t, f.srv.Connect(), "$JS.EVENT.ADVISORY.CONSUMER.*.ORDERS-workers.>")
		a := f.member("m1", 0, strict(20*time.Second))
		f.publish(4, 5)
		f.allHandled(20)
		f.member("m1", 0, strict(2*time.Second))
		a.Stop()
		if err := waitDone(t, a); err != nil {
			t.Fatal(err)
		}
		f.publish(4, 5)
		f.allHandled(40)
		natstest.Eventually(t, patience, func() error {
			if c := f.consumer("ORDERS-workers", "m1").Config; c.AckWait != 2*time.Second || c.PinnedTTL != 2*time.Second {
				return errors.New("the consumer still has the old settings")
			}
			return nil
		})
		f.publish(4, 5)
		f.allHandled(60)
		if n := len(consumers.Requests("$JS.EVENT.ADVISORY.CONSUMER.DELETED.ORDERS-workers")); n != 0 {
			t.Errorf("the consumer was deleted %d times", n)
		}
	})
	t.Run("ours and the oracle's", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.elastic(2, "m1")
		consumers := natstest.Capture(t, f.srv.Connect(), "$JS.EVENT.ADVISORY.CONSUMER.*.ORDERS-workers.>")
		f.member("m1", 0, strict(20*time.Second))
		cc, err := oracle.ElasticConsume(f.ctx(), f.js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		f.publish(4, 5)
		f.allHandled(20)
		cc.Stop()
		if err := <-cc.Done(); err != nil {
			t.Errorf("the oracle's ended with %v", err)
		}
		f.publish(4, 5)
		f.allHandled(40)
		// The oracle replaces what it finds, once.
		if n := len(consumers.Requests("$JS.EVENT.ADVISORY.CONSUMER.DELETED.ORDERS-workers")); n > 1 {
			t.Errorf("the consumer was deleted %d times", n)
		}
	})
}

// Prevents: a hung handler that keeps its partitions for ever, as keeping the pin
// alive would let it.
func TestHungHandlerFailsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	release := make(chan struct{})
	var hung atomic.Int32
	var unpinned atomic.Int32
	hang := pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		hung.Add(1)
		<-ctx.Done() // at the ack deadline
		<-release
		return nil
	})
	a := f.join(pcgroups.ElasticConsume, "m1", hang, strict(time.Second), pcgroups.WithEvents(pcgroups.Events{
		Recovered: func(err error) {
			if errors.Is(err, pcgroups.ErrHandlerTimeout) {
				unpinned.Add(1)
			}
		}}))
	f.publish(1, 5)
	natstest.Eventually(t, patience, func() error {
		if hung.Load() == 0 {
			return errors.New("not started")
		}
		return nil
	})
	f.member("m1", 0, strict(time.Second))
	f.allHandled(5)
	if unpinned.Load() != 1 || a.Err() != nil {
		t.Errorf("stepped down %d times, error %v", unpinned.Load(), a.Err())
	}
	close(release)
	if err := a.WaitForConsuming(f.ctx(), true); err != nil {
		t.Error(err)
	}
}

// Prevents: a long handler that loses its pin although it says that it is in
// progress, so that with the next message of its key a second handler starts.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.member("m1", 3*time.Second, strict(time.Second), pcgroups.WithKeepAlive(time.Minute))
	f.publish(1, 2)
	f.member("m1", 0, strict(time.Second), pcgroups.WithKeepAlive(time.Minute))
	f.allHandled(2)
}

// Prevents: a Stop that hangs as long as the server is away, in whichever state
// the session is then.
func TestStopWhileCutOff(t *testing.T) {
	t.Parallel()
	for name, members := range map[string][]string{"consuming": {"m1"}, "waiting": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.elastic(2, members...)
			proxy := natstest.StartProxy(t, f.srv.URL())
			nc := f.srv.ConnectVia(proxy, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			proxy.Cut()
			natstest.Never(t, 2500*time.Millisecond, func() bool { return s.Err() != nil }, "the session ended") // a look is under way
			s.Stop()
			begun := time.Now()
			if err := waitDone(t, s); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > 8*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
