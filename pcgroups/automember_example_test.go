package pcgroups_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Workers that need nobody to look after the group's members: each adds itself,
// leaves when it is stopped, and is evicted by the others if it crashes.
func ExampleWithAutoMembership() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 4,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1)
	check(err)

	worker := func(name string) pcgroups.Session {
		s, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", name,
			pcgroups.AutoAck(func(context.Context, *pcgroups.Msg) error { return nil }),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: 5 * time.Second},
			pcgroups.WithAutoMembership(15*time.Second, func(member string) bool {
				return strings.HasPrefix(member, "worker-") // ours, which come back by themselves
			}))
		check(err)
		return s
	}
	members := func() {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, "ORDERS", "billing")
		check(err)
		fmt.Println(c.Members)
	}
	a := worker("worker-a")
	b := worker("worker-b")
	members()
	a.Stop() // finishes what it is doing, and leaves
	check(a.Wait(ctx))
	members()
	b.Stop()
	check(b.Wait(ctx))
	members()
	// Output:
	// [worker-a worker-b]
	// [worker-b]
	// []
}
