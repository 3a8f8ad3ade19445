package pcgroups_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// Administration on a cluster that nothing happens to.
func TestCluster(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newClusterFixture(t)

	// Prevents: a group whose configuration is gone with one server although its
	// stream has three, or whose memory-stored work queue would outlive nothing.
	t.Run("a group is stored as safely as its origin", func(t *testing.T) {
		f := &clusterFixture{t, f.cluster, f.js}
		f.origin("MEM", 3, jetstream.MemoryStorage, false)
		f.elastic("MEM", "m1")
		f.origin("ONE", 1, jetstream.FileStorage, true)
		_, err := pcgroups.CreateStatic(f.ctx(), f.js, "ONE", "workers", 4, []string{"ONE.*"}, []string{"m1"}, nil)
		must(t, err)
		for stream, want := range map[string]struct {
			replicas int
			storage  jetstream.StorageType
		}{
			"KV_" + pcgroups.ElasticBucket: {3, jetstream.FileStorage},
			"MEM-workers":                  {3, jetstream.MemoryStorage},
			"KV_" + pcgroups.StaticBucket:  {1, jetstream.FileStorage},
		} {
			if c := f.config(stream); c.Replicas != want.replicas || c.Storage != want.storage {
				t.Errorf("%s: %d replicas in %s, want %d in %s", stream, c.Replicas, c.Storage, want.replicas, want.storage)
			}
		}
		// A second group's stream follows its own origin, whatever the bucket is.
		f.origin("TWO", 1, jetstream.FileStorage, false)
		f.elastic("TWO")
		if c := f.config("TWO-workers"); c.Replicas != 1 || c.Storage != jetstream.FileStorage {
			t.Errorf("TWO-workers: %d replicas in %s", c.Replicas, c.Storage)
		}
	})

	// Prevents: a writer that is told of success, or of something that nobody can
	// interpret, when another one was faster. A replicated stream refuses what
	// collides with a write that is still being replicated by another code.
	t.Run("of many writers one wins", func(t *testing.T) {
		f := &clusterFixture{t, f.cluster, f.js}
		f.origin("WRITES", 3, jetstream.FileStorage, false)
		f.elastic("WRITES", "m0")
		for round := range 5 {
			c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), f.js, "WRITES", "workers")
			must(t, err)
			errs := atOnce(9, func(i int) error {
				js := f.cluster.Node(i % 3).JetStream()
				_, err := pcgroups.SetMembers(f.ctx(), js, "WRITES", "workers", []string{fmt.Sprintf("m%d-%d", round, i)}, pcgroups.IfRevision(c.Revision()))
				return err
			})
			won := 0
			for _, err := range errs {
				switch {
				case err == nil:
					won++
				case !errors.Is(err, pcgroups.ErrConflict):
					t.Errorf("round %d: %v, want a conflict", round, err)
				}
			}
			if won != 1 {
				t.Fatalf("round %d: %d writers were told that they won", round, won)
			}
		}
	})

	// Prevents: additions that are lost, or refused, because they were made at the
	// same moment, and creates that overwrite each other.
	t.Run("what commutes is not lost", func(t *testing.T) {
		f := &clusterFixture{t, f.cluster, f.js}
		f.origin("ADDS", 3, jetstream.FileStorage, false)
		for i, err := range atOnce(6, func(i int) error {
			_, err := pcgroups.CreateElastic(f.ctx(), f.cluster.Node(i%3).JetStream(), "ADDS", "workers", 4, byKeyOf("ADDS"), -1, -1)
			return err
		}) {
			if err != nil {
				t.Errorf("creator %d: %v", i, err)
			}
		}
		for i, err := range atOnce(9, func(i int) error {
			_, err := pcgroups.AddMembers(f.ctx(), f.cluster.Node(i%3).JetStream(), "ADDS", "workers", []string{fmt.Sprintf("m%d", i)})
			return err
		}) {
			if err != nil {
				t.Errorf("adder %d: %v", i, err)
			}
		}
		c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), f.js, "ADDS", "workers")
		must(t, err)
		if len(c.Members) != 9 {
			t.Errorf("members %v", c.Members)
		}
	})

	// Prevents: reading, through another server, a configuration from before a
	// write that has returned. A plan would show a change that was made already,
	// and a change that undoes it would be taken for none.
	t.Run("a write is seen everywhere at once", func(t *testing.T) {
		f := &clusterFixture{t, f.cluster, f.js}
		f.origin("READS", 3, jetstream.FileStorage, false)
		f.elastic("READS")
		var via []jetstream.JetStream
		for i := range 3 {
			via = append(via, f.cluster.Node(i).JetStream())
		}
		for n := range 15 {
			member := fmt.Sprintf("m%d", n)
			_, err := pcgroups.SetMembers(f.ctx(), via[n%3], "READS", "workers", []string{member})
			must(t, err)
			for i, js := range via {
				c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), js, "READS", "workers")
				must(t, err)
				if len(c.Members) != 1 || c.Members[0] != member {
					t.Fatalf("through node %d after write %d: %v", i, n, c.Members)
				}
			}
		}
	})
}
