package pcgroups_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// theirs is a running member of the oracle's.
type theirs struct {
	a       *admin
	session oracle.ConsumerGroupConsumeContext
	handled natstest.Recorder[string]
}

type oracleConsume func(context.Context, jetstream.JetStream, string, string, string, func(jetstream.Msg), jetstream.ConsumerConfig) (oracle.ConsumerGroupConsumeContext, error)

// oracleMember joins the group ORDERS/workers with the oracle's library, and
// returns when the member waits for messages.
func (a *admin) oracleMember(consume oracleConsume, stream, consumer string) *theirs {
	a.t.Helper()
	m := &theirs{a: a}
	// Its watch lives as long as this context; a connection of its own ends what
	// it leaves behind.
	ctx, cancel := context.WithCancel(context.Background())
	a.t.Cleanup(cancel)
	session, err := consume(ctx, a.srv.JetStream(), "ORDERS", "workers", "m1", func(msg jetstream.Msg) {
		m.handled.Add(string(msg.Data()))
		_ = msg.Ack()
	}, strict(time.Second))
	must(a.t, err)
	m.session = session
	a.t.Cleanup(session.Stop)
	a.waiting(stream, consumer, 1)
	return m
}

// lives fails unless the member handles new messages.
func (m *theirs) lives() {
	m.a.t.Helper()
	var want []string
	for i := range 8 {
		data := fmt.Sprintf("%d of %d", i, m.handled.Len())
		want = append(want, data)
		_, err := m.a.js.Publish(m.a.ctx(), fmt.Sprintf("orders.k%d", i), []byte(data))
		must(m.a.t, err)
	}
	m.handled.Wait(m.a.t, patience, func(got []string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) })
	})
	select {
	case err := <-m.session.Done():
		m.a.t.Fatalf("the oracle's member ended: %v", err)
	default:
	}
}

// ends waits for the end that the member reports.
func (m *theirs) ends() {
	m.a.t.Helper()
	select {
	case err := <-m.session.Done():
		must(m.a.t, err)
	case <-time.After(patience):
		m.a.t.Fatal("the oracle's member did not end")
	}
}

// An administration that ends members by the way it writes, rather than by what
// it is asked, can not be used beside the other implementation: one AddMembers
// from another port, and every running member of the oracle is down.
func TestAdminOracleMemberSurvives(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	type step = func(ctx context.Context, js jetstream.JetStream) error
	plans := map[string][]step{
		"members": {
			func(ctx context.Context, js jetstream.JetStream) error {
				_, err := pcgroups.AddMembers(ctx, js, "ORDERS", "workers", []string{"m2", "m1"})
				return err
			},
			func(ctx context.Context, js jetstream.JetStream) error {
				_, err := pcgroups.DeleteMembers(ctx, js, "ORDERS", "workers", []string{"m2"})
				return err
			},
			func(ctx context.Context, js jetstream.JetStream) error {
				return pcgroups.ClearMembership(ctx, js, "ORDERS", "workers")
			},
			func(ctx context.Context, js jetstream.JetStream) error {
				_, err := pcgroups.SetMembers(ctx, js, "ORDERS", "workers", []string{"m1"})
				return err
			},
		},
		"mappings": {
			func(ctx context.Context, js jetstream.JetStream) error {
				return pcgroups.SetMemberMappings(ctx, js, "ORDERS", "workers", []pcgroups.MemberMapping{
					{Member: "m1", Partitions: []int{0, 1, 3}}, {Member: "m2", Partitions: []int{2}}, {Member: "m3"}})
			},
			func(ctx context.Context, js jetstream.JetStream) error {
				return pcgroups.DeleteMemberMappings(ctx, js, "ORDERS", "workers")
			},
			func(ctx context.Context, js jetstream.JetStream) error {
				_, err := pcgroups.AddMembers(ctx, js, "ORDERS", "workers", []string{"m1"})
				return err
			},
		},
	}
	for _, wildcards := range [][]int{nil, {}, {1}} {
		for name, plan := range plans {
			t.Run(fmt.Sprintf("%#v, %s", wildcards, name), func(t *testing.T) {
				t.Parallel()
				a := newAdmin(t)
				limit := map[string]int64{"members": -1, "mappings": 0}[name]
				_, err := oracle.CreateElastic(a.ctx(), a.js, "ORDERS", "workers", 4, []oracle.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: wildcards}}, limit, limit)
				must(t, err)
				_, err = oracle.AddMembers(a.ctx(), a.js, "ORDERS", "workers", []string{"m1"})
				must(t, err)
				m := a.oracleMember(oracle.ElasticConsume, "ORDERS-workers", "m1")
				_, err = pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "workers", 4, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: wildcards}}, limit, limit)
				must(t, err)
				active, err := pcgroups.ListElasticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
				must(t, err)
				sameStrings(t, "active members", active, "m1")
				for _, step := range plan {
					must(t, step(a.ctx(), a.js))
				}
				m.lives()
				// It may still be replacing its consumer, as it does at every change.
				natstest.Eventually(t, patience, func() error {
					return pcgroups.ElasticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", "m1")
				})
				m.lives()
				must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "workers"))
				m.ends()
			})
		}
	}
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		a := newBareAdmin(t)
		a.stream("ORDERS", 4)
		_, err := oracle.CreateStatic(a.ctx(), a.js, "ORDERS", "workers", 4, nil, []string{"m1"}, nil)
		must(t, err)
		m := a.oracleMember(oracle.StaticConsume, "ORDERS", "workers-m1")
		_, err = pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "workers", 4, []string{}, []string{"m1"}, []pcgroups.MemberMapping{})
		must(t, err)
		_, err = pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "workers", 4, nil, []string{"m2", "m1"}, nil)
		refused(t, err, pcgroups.ErrGroupExists)
		_, err = pcgroups.GetStaticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", "workers")
		must(t, err)
		active, err := pcgroups.ListStaticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
		must(t, err)
		sameStrings(t, "active members", active, "m1")
		for _, other := range []string{"work", "workers-m", "workers-m1"} {
			must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", other))
		}
		m.lives()
		must(t, pcgroups.StaticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", "m1"))
		m.lives()
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "workers"))
		m.ends()
	})
}

// The reverse: a program that still uses the oracle administers a group whose
// members use this package. Its writes are in random order, with empty lists
// where there were none, and without regard to who else writes.
func TestAdminSurvivesOracleAdmin(t *testing.T) {
	t.Parallel()
	t.Run("elastic", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		filters := []oracle.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "workers", 4, byKey, -1, -1, pcgroups.WithMembers("m1"))
		must(t, err)
		s := a.member("m1", 0, strict(time.Second))
		must(t, s.WaitForConsuming(a.ctx(), true))
		add := func(members ...string) func() error {
			return func() error {
				_, err := oracle.AddMembers(a.ctx(), a.js, "ORDERS", "workers", members)
				return err
			}
		}
		for _, step := range []func() error{
			func() error {
				_, err := oracle.CreateElastic(a.ctx(), a.js, "ORDERS", "workers", 4, filters, -1, -1)
				return err
			},
			add("m1", "m2", "m3"),
			func() error {
				_, err := oracle.DeleteMembers(a.ctx(), a.js, "ORDERS", "workers", []string{"m2", "m3"})
				return err
			},
			func() error {
				return oracle.SetMemberMappings(a.ctx(), a.js, "ORDERS", "workers", []oracle.MemberMapping{{Member: "m1", Partitions: []int{3, 1, 2, 0}}, {Member: "m2", Partitions: []int{}}})
			},
			func() error { return oracle.DeleteMemberMappings(a.ctx(), a.js, "ORDERS", "workers") },
			add("m1"),
			add("m1"),
		} {
			must(t, step())
			active, err := oracle.ListElasticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
			must(t, err)
			if slices.ContainsFunc(active, func(m string) bool { return m != "m1" }) {
				t.Errorf("active %q", active)
			}
		}
		a.publish(8, 2)
		a.allHandled(16)
		must(t, oracle.ElasticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", "m1"))
		a.publish(8, 2)
		a.allHandled(32)
		must(t, s.Err())
		must(t, oracle.DeleteElastic(a.ctx(), a.js, "ORDERS", "workers"))
		must(t, waitDone(t, s))
	})
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		a := newBareAdmin(t)
		a.static(4, "m1")
		s := a.join(pcgroups.StaticConsume, "m1", a.handler("m1", 0), strict(time.Second))
		_, err := oracle.CreateStatic(a.ctx(), a.js, "ORDERS", "workers", 4, []string{"orders.*"}, []string{"m1"}, nil)
		must(t, err)
		a.waiting("ORDERS", "workers-m1", 1)
		active, err := oracle.ListStaticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
		must(t, err)
		sameStrings(t, "active members", active, "m1")
		a.publish(8, 2)
		a.allHandled(16)
		must(t, oracle.StaticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", "m1"))
		a.publish(8, 2)
		a.allHandled(32)
		must(t, s.Err())
		must(t, oracle.DeleteStatic(a.ctx(), a.js, "ORDERS", "workers"))
		must(t, waitDone(t, s))
	})
}
