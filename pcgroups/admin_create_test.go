package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// creation is one way to ask for the group ORDERS/cg.
type creation func(a *admin, opts ...pcgroups.CreateOption) (revision uint64, err error)

func static(n uint, filters, members []string, mappings []pcgroups.MemberMapping) creation {
	return func(a *admin, opts ...pcgroups.CreateOption) (uint64, error) {
		c, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "cg", n, filters, members, mappings, opts...)
		if err != nil {
			return 0, err
		}
		return c.Revision(), nil
	}
}

func elastic(n uint, filters []pcgroups.PartitioningFilter, msgs, bytes int64) creation {
	return func(a *admin, opts ...pcgroups.CreateOption) (uint64, error) {
		c, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", n, filters, msgs, bytes, opts...)
		if err != nil {
			return 0, err
		}
		return c.Revision(), nil
	}
}

// A program that creates its group at every start fails at the second one, if
// an empty list and none are taken for different (the oracle compares with
// reflect.DeepEqual: of two programs that write the same group differently, one
// never starts). And if creating again writes, it wakes every member of the group
// for nothing.
func TestAdminCreateAgain(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	whole := func(wildcards []int) []pcgroups.PartitioningFilter {
		return []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: wildcards}}
	}
	nothing := func(partitions []int) []pcgroups.MemberMapping {
		return []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0, 1}}, {Member: "m2", Partitions: partitions}}
	}
	pairs := map[string][2]creation{
		"static, the same":          {static(2, []string{"orders.*"}, []string{"m1", "m2"}, nil), static(2, []string{"orders.*"}, []string{"m1", "m2"}, nil)},
		"static, filters":           {static(2, nil, []string{"m1"}, nil), static(2, []string{}, []string{"m1"}, nil)},
		"static, members":           {static(2, nil, nil, nothing(nil)[:1]), static(2, nil, []string{}, nothing(nil)[:1])},
		"static, mappings":          {static(2, nil, []string{"m1"}, nil), static(2, nil, []string{"m1"}, []pcgroups.MemberMapping{})},
		"static, mapped to nothing": {static(2, nil, nil, nothing(nil)), static(2, nil, nil, nothing([]int{}))},
		"static, nobody":            {static(2, nil, nil, nil), static(2, []string{}, []string{}, []pcgroups.MemberMapping{})},
		"elastic, the same":         {elastic(2, byKey, 100, 1<<20), elastic(2, byKey, 100, 1<<20)},
		"elastic, filters":          {elastic(2, nil, -1, -1), elastic(2, []pcgroups.PartitioningFilter{}, -1, -1)},
		"elastic, wildcards":        {elastic(2, whole(nil), 0, -1), elastic(2, whole([]int{}), 0, -1)},
	}
	for name, pair := range pairs {
		for order, p := range [][2]creation{pair, {pair[1], pair[0]}} {
			t.Run(fmt.Sprint(name, ", ", order), func(t *testing.T) {
				t.Parallel()
				a := newAdmin(t)
				first, err := p[0](a)
				must(t, err)
				a.nothingWritten(func() {
					if again, err := p[1](a); err != nil || again != first || first == 0 {
						t.Errorf("created again: revision %d after %d, %v", again, first, err)
					}
				})
				a.nothingWritten(func() {
					_, err := p[1](a, pcgroups.FailIfExists())
					refused(t, err, pcgroups.ErrGroupExists)
				})
			})
		}
	}
}

// A group that the other implementation has created can not be joined by a
// program that creates it first, if its spelling of "none" is not understood.
func TestAdminCreateAgainAfterOracle(t *testing.T) {
	t.Parallel()
	for _, wildcards := range [][]int{nil, {}} {
		for _, limit := range []int64{-1, 0} {
			t.Run(fmt.Sprintf("%#v, %d", wildcards, limit), func(t *testing.T) {
				t.Parallel()
				a := newAdmin(t)
				_, err := oracle.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", 2, []oracle.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: wildcards}}, limit, limit)
				must(t, err)
				_, err = oracle.AddMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"m1"})
				must(t, err)
				_, err = oracle.CreateStatic(a.ctx(), a.js, "ORDERS", "cg", 2, nil, []string{"m1"}, nil)
				must(t, err)
				a.nothingWritten(func() {
					for _, w := range [][]int{nil, {}} {
						c, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", 2, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: w}}, limit, limit, pcgroups.WithMembers("m2"))
						must(t, err)
						// The membership is nobody's to reset at a start.
						sameStrings(t, "members", c.Members, "m1")
					}
					for _, filters := range [][]string{nil, {}} {
						_, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "cg", 2, filters, []string{"m1"}, []pcgroups.MemberMapping{})
						must(t, err)
					}
				})
			})
		}
	}
}

// If a group that differs were taken for the one asked for, the program would
// consume by other partitions or filters than it believes; if it were
// overwritten, the running members would end.
func TestAdminCreateDifferent(t *testing.T) {
	t.Parallel()
	mapped := []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0}}, {Member: "m2", Partitions: []int{1}}}
	swapped := []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{1}}, {Member: "m2", Partitions: []int{0}}}
	other := []pcgroups.PartitioningFilter{{Filter: "orders.>"}}
	a := newAdmin(t)
	for name, pair := range map[string][2]creation{
		"static partitions":   {static(2, nil, []string{"m1"}, nil), static(3, nil, []string{"m1"}, nil)},
		"static filter":       {static(2, nil, []string{"m1"}, nil), static(2, []string{"orders.*"}, []string{"m1"}, nil)},
		"static members":      {static(2, nil, []string{"m1"}, nil), static(2, nil, []string{"m1", "m2"}, nil)},
		"static mappings":     {static(2, nil, nil, mapped), static(2, nil, nil, swapped)},
		"static way":          {static(2, nil, []string{"m1", "m2"}, nil), static(2, nil, nil, mapped)},
		"elastic partitions":  {elastic(2, byKey, -1, -1), elastic(3, byKey, -1, -1)},
		"elastic filters":     {elastic(2, byKey, -1, -1), elastic(2, other, -1, -1)},
		"elastic no filters":  {elastic(2, byKey, -1, -1), elastic(2, nil, -1, -1)},
		"elastic wildcards":   {elastic(2, byKey, -1, -1), elastic(2, []pcgroups.PartitioningFilter{{Filter: "orders.*"}}, -1, -1)},
		"elastic most msgs":   {elastic(2, byKey, -1, -1), elastic(2, byKey, 10, -1)},
		"elastic most bytes":  {elastic(2, byKey, -1, -1), elastic(2, byKey, -1, 1<<20)},
		"elastic no limit, 0": {elastic(2, byKey, -1, -1), elastic(2, byKey, 0, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			a := &admin{&fixture{t: t, srv: a.srv, js: a.js}}
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
			must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
			_, err := pair[0](a)
			must(t, err)
			a.nothingWritten(func() {
				_, err := pair[1](a)
				refused(t, err, pcgroups.ErrGroupExists)
				if !strings.Contains(err.Error(), "delete it first") {
					t.Errorf("no advice: %v", err)
				}
			})
		})
	}
}

// Ten programs that start in a fresh account all find no bucket and all create
// it; whoever is second must find it, not fail (the oracle may). And of those who
// create the same group none may fail or count twice.
func TestAdminFirstCreatesAtOnce(t *testing.T) {
	t.Parallel()
	firstCreatesAtOnce(t, newAdmin(t))
}

func firstCreatesAtOnce(t *testing.T, a *admin) {
	ctx := a.ctx()
	errs := atOnce(40, func(i int) (err error) {
		group := fmt.Sprintf("g%d", i/4)
		switch i % 4 {
		case 0:
			_, err = pcgroups.CreateStatic(ctx, a.js, "ORDERS", group, 2, nil, []string{"m1"}, nil)
		case 1:
			_, err = pcgroups.CreateElastic(ctx, a.js, "ORDERS", group, 2, byKey, -1, -1)
		case 2:
			_, err = pcgroups.CreateStatic(ctx, a.js, "ORDERS", "same", 2, nil, []string{"m1"}, nil)
		case 3:
			_, err = pcgroups.CreateElastic(ctx, a.js, "ORDERS", "same", 2, byKey, -1, -1)
		}
		return err
	})
	must(t, errors.Join(errs...))
	want := []string{"g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "same"}
	for _, list := range []func(context.Context, jetstream.JetStream, string) ([]string, error){pcgroups.ListStaticConsumerGroups, pcgroups.ListElasticConsumerGroups} {
		natstest.Eventually(t, patience, func() error { // any server of a cluster answers, and may be behind
			got, err := list(ctx, a.js, "ORDERS")
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("got %q", got)
			}
			return err
		})
	}
	for _, group := range want {
		if !a.hasStream("ORDERS-" + group) {
			t.Errorf("%s has no stream", group)
		}
	}
}

// A bucket in memory would forget every group at a restart, and a work queue of
// one replica beside an origin of three is where messages get lost.
func TestAdminStorage(t *testing.T) {
	t.Parallel()
	for _, storage := range []jetstream.StorageType{jetstream.FileStorage, jetstream.MemoryStorage} {
		t.Run(storage.String(), func(t *testing.T) {
			t.Parallel()
			a := newBareAdmin(t)
			a.addStream(jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}, Storage: storage})
			a.elasticGroup("cg")
			a.staticGroup("cg", "m1")
			a.checkStorage(storage, 1)
		})
	}
}

func (a *admin) checkStorage(storage jetstream.StorageType, replicas int) {
	a.t.Helper()
	for stream, want := range map[string]jetstream.StorageType{
		"KV_" + pcgroups.StaticBucket:  jetstream.FileStorage,
		"KV_" + pcgroups.ElasticBucket: jetstream.FileStorage,
		"ORDERS-cg":                    storage,
	} {
		if c := a.streamConfig(stream); c.Storage != want || c.Replicas != replicas {
			a.t.Errorf("%s: %v storage, %d replicas; want %v, %d", stream, c.Storage, c.Replicas, want, replicas)
		}
	}
}

// On a replicated bucket a write that lost a race is refused with another error
// code than on a single server, questions about a stream that is being created
// are not answered, and most servers are behind: what works there need not work
// here.
func TestAdminCluster(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	a := &admin{&fixture{t: t, srv: c.Node(0), js: c.JetStream()}}
	a.addStream(jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}, Storage: jetstream.MemoryStorage, Replicas: 3})
	firstCreatesAtOnce(t, a)
	a.elasticGroup("cg")
	a.staticGroup("cg", "m1")
	a.checkStorage(jetstream.MemoryStorage, 3)

	tenAtOnce(t, a)
	a.readsItsWrites(c)
	replacedConfig := a.revision(pcgroups.ElasticBucket, "cg")
	_, err := pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"late"})
	must(t, err)
	_, err = pcgroups.SetMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"m1"}, pcgroups.IfRevision(replacedConfig))
	refused(t, err, pcgroups.ErrConflict)
	refused(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg", pcgroups.IfRevision(replacedConfig)), pcgroups.ErrConflict)
	must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
	must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
	for _, bucket := range []string{pcgroups.StaticBucket, pcgroups.ElasticBucket} {
		a.nothingThere(c, bucket)
	}
	a.settle()
	c.WaitReady() // a node that is stopped while it makes a stream leaves a goroutine
}

// readsItsWrites changes the group at each node and looks at each. Reading what
// was before, 7 times of 100 where the client's own Get is used, makes a writer
// that is alone fail with ErrConflict, or drops its change for one of nothing.
func (a *admin) readsItsWrites(c *natstest.Cluster) {
	a.t.Helper()
	var nodes []jetstream.JetStream
	for i := range 3 {
		nodes = append(nodes, c.Node(i).JetStream(nats.IgnoreDiscoveredServers()))
	}
	for i := range 270 {
		members := []string{fmt.Sprintf("m%d", i/9)}
		_, err := pcgroups.SetMembers(a.ctx(), nodes[i%3], "ORDERS", "cg", members)
		must(a.t, err)
		got, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), nodes[i/3%3], "ORDERS", "cg")
		must(a.t, err)
		sameStrings(a.t, fmt.Sprintf("written at node %d and read at %d", i%3, i/3%3), got.Members, members...)
		_, err = pcgroups.SetMembers(a.ctx(), nodes[i%3], "ORDERS", "cg", nil, pcgroups.IfRevision(got.Revision()))
		must(a.t, err)
	}
}

// nothingThere looks for the deleted group at each node.
func (a *admin) nothingThere(c *natstest.Cluster, bucket string) {
	a.t.Helper()
	for i := range 3 {
		js := c.Node(i).JetStream(nats.IgnoreDiscoveredServers())
		var err error
		if bucket == pcgroups.StaticBucket {
			_, err = pcgroups.GetStaticConsumerGroupConfig(a.ctx(), js, "ORDERS", "cg")
		} else {
			_, err = pcgroups.GetElasticConsumerGroupConfig(a.ctx(), js, "ORDERS", "cg")
		}
		refused(a.t, err, pcgroups.ErrGroupNotFound)
	}
}
