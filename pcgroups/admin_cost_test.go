package pcgroups_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: safety that is paid for with many requests. Each call may take five
// more than the oracle's: what is checked before anything is written. The number
// is that of a static group with ten members and of an elastic one.
func TestAdminCost(t *testing.T) {
	t.Parallel()
	members := []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"}
	ours := []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}
	theirs := []oracle.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}
	type call = func(context.Context, jetstream.JetStream) error
	ourCalls := []call{
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.CreateStatic(ctx, js, "ORDERS", "s", 10, nil, members, nil)
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, "ORDERS", "s")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.ListStaticConsumerGroups(ctx, js, "ORDERS")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.ListStaticActiveMembers(ctx, js, "ORDERS", "s")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return pcgroups.DeleteStatic(ctx, js, "ORDERS", "s")
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.CreateElastic(ctx, js, "ORDERS", "e", 4, ours, -1, -1)
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.AddMembers(ctx, js, "ORDERS", "e", []string{"m1", "m2"})
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.DeleteMembers(ctx, js, "ORDERS", "e", []string{"m1"})
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return pcgroups.SetMemberMappings(ctx, js, "ORDERS", "e", []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0, 1, 2, 3}}})
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return pcgroups.DeleteMemberMappings(ctx, js, "ORDERS", "e")
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, _, err := pcgroups.ElasticIsInMembershipAndActive(ctx, js, "ORDERS", "e", "m1")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return pcgroups.DeleteElastic(ctx, js, "ORDERS", "e")
		},
	}
	oracleCalls := []call{
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.CreateStatic(ctx, js, "ORDERS", "s", 10, nil, members, nil)
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.GetStaticConsumerGroupConfig(ctx, js, "ORDERS", "s")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.ListStaticConsumerGroups(ctx, js, "ORDERS")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.ListStaticActiveMembers(ctx, js, "ORDERS", "s")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return oracle.DeleteStatic(ctx, js, "ORDERS", "s")
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.CreateElastic(ctx, js, "ORDERS", "e", 4, theirs, -1, -1)
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.AddMembers(ctx, js, "ORDERS", "e", []string{"m1", "m2"})
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, err := oracle.DeleteMembers(ctx, js, "ORDERS", "e", []string{"m1"})
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return oracle.SetMemberMappings(ctx, js, "ORDERS", "e", []oracle.MemberMapping{{Member: "m1", Partitions: []int{0, 1, 2, 3}}})
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return oracle.DeleteMemberMappings(ctx, js, "ORDERS", "e")
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			_, _, err := oracle.ElasticIsInMembershipAndActive(ctx, js, "ORDERS", "e", "m1")
			return err
		},
		func(ctx context.Context, js jetstream.JetStream) error {
			return oracle.DeleteElastic(ctx, js, "ORDERS", "e")
		},
	}
	a, b := requestsOf(t, ourCalls), requestsOf(t, oracleCalls)
	for i := range a {
		t.Logf("call %d: %d requests, the oracle's %d", i, a[i], b[i])
		if a[i] > b[i]+5 {
			t.Errorf("call %d takes %d requests, the oracle's %d", i, a[i], b[i])
		}
	}
}

// requestsOf counts what each call asks and publishes. The server's own requests,
// for sourcing, are left out.
func requestsOf(t *testing.T, calls []func(context.Context, jetstream.JetStream) error) []int {
	f := newFixture(t)
	f.stream("ORDERS", 0)
	var out []int
	for i, call := range calls {
		all := natstest.Capture(t, f.srv.Connect())
		if err := call(f.ctx(), f.js); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		all.Sync(f.js.Conn())
		n := 0
		for _, r := range all.Requests("$") {
			if !strings.Contains(r.Subject+string(r.Data), "JS_SRC_") {
				n++
			}
		}
		out = append(out, n)
		if i == 0 { // the consumers that the deletion has to find
			for _, m := range []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"} {
				_, err := f.js.CreateConsumer(f.ctx(), "ORDERS", jetstream.ConsumerConfig{
					Durable: "s-" + m, AckPolicy: jetstream.AckExplicitPolicy,
					PriorityGroups: []string{pcgroups.PriorityGroup}, PriorityPolicy: jetstream.PriorityPolicyPinned,
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return out
}
