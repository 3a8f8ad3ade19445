package pcgroups_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Many messages in flight, several partitions at once, and yet each customer's
// orders one after the other, also where one has to be handled again.
func ExampleWithConcurrency() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 4,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	check(err)
	for _, text := range []string{"1", "2", "3"} {
		_, err = js.Publish(ctx, "orders.alice", []byte(text))
		check(err)
		_, err = js.Publish(ctx, "orders.bob", []byte(text))
		check(err)
	}

	var mu sync.Mutex // handlers of different partitions run at the same time
	handled, left := map[string][]string{}, 6
	done := make(chan struct{})
	member, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
		pcgroups.HandlerFunc(func(_ context.Context, msg *pcgroups.Msg) error {
			mu.Lock()
			defer mu.Unlock()
			customer := strings.TrimPrefix(msg.Subject(), "orders.")
			if meta, err := msg.Metadata(); err == nil && string(msg.Data()) == "1" && meta.NumDelivered == 1 {
				return msg.Nak() // 2 and 3 wait until it has come again
			}
			handled[customer] = append(handled[customer], string(msg.Data()))
			if left--; left == 0 {
				close(done)
			}
			return msg.Ack()
		}),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1000},
		pcgroups.WithConcurrency(4))
	check(err)
	<-done
	member.Stop()
	check(member.Wait(ctx))
	fmt.Println("alice", handled["alice"])
	fmt.Println("bob", handled["bob"])
	// Output:
	// alice [1 2 3]
	// bob [1 2 3]
}
