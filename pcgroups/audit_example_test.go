package pcgroups_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// An audit after a server was killed: did every order reach the group? The handler
// keeps where its messages come from, so that those it has consumed can be told
// from those that never came.
func ExampleAuditElastic() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 4,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	check(err)
	arrivals := make(chan pcgroups.Arrival, 10)
	member, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
		pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
			if a, ok := pcgroups.ArrivalOf(msg); ok {
				arrivals <- a
			}
			return nil
		}),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	check(err)
	var kept []pcgroups.Arrival
	for _, customer := range []string{"alice", "bob", "carol"} {
		_, err = js.Publish(ctx, "orders."+customer, nil)
		check(err)
		kept = append(kept, <-arrivals)
	}
	member.Stop()
	check(member.Wait(ctx))

	audit, err := pcgroups.AuditElastic(ctx, js, "ORDERS", "billing", 0, 0, pcgroups.WithArrivals(slices.Values(kept)))
	check(err)
	fmt.Println("audited:", audit.Range.First, "to", audit.Range.Last)
	fmt.Println("missing:", audit.Missing)
	fmt.Println("complete:", audit.Complete())
	// Next time, only what came since.
	audit, err = pcgroups.AuditElastic(ctx, js, "ORDERS", "billing", audit.Checkpoint.Origin+1, 0,
		pcgroups.WithArrivals(slices.Values([]pcgroups.Arrival{audit.Checkpoint})))
	check(err)
	fmt.Println("since then:", audit.Range.Len(), "messages, complete:", audit.Complete())
	// Output:
	// audited: 1 to 3
	// missing: []
	// complete: true
	// since then: 0 messages, complete: true
}
