package pcgroups_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// serve runs a server for an example; programs connect to theirs.
func serve() (jetstream.JetStream, func()) {
	dir, err := os.MkdirTemp("", "pcgroups")
	check(err)
	srv, err := embedded.Run(embedded.Options{StoreDir: dir})
	check(err)
	nc, err := srv.Connect()
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	return js, func() {
		nc.Close()
		srv.Shutdown()
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An elastic group gives order for each customer while its members change.
func ExampleElasticConsume() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	// Four partitions, keyed by the customer in orders.<customer>.
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 4,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1)
	check(err)

	handled := make(chan string)
	member, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
		pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
			handled <- fmt.Sprintf("%s: %s", msg.Subject(), msg.Data())
			return nil
		}),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	check(err)

	// The member waits until it is one.
	fmt.Println("consuming:", member.Status().Consuming)
	_, err = pcgroups.AddMembers(ctx, js, "ORDERS", "billing", []string{"m1"})
	check(err)
	check(member.WaitForConsuming(ctx, true))

	for _, order := range []string{"a book", "a pen", "ink"} {
		_, err = js.Publish(ctx, "orders.alice", []byte(order))
		check(err)
	}
	for range 3 {
		fmt.Println(<-handled)
	}
	member.Stop()
	check(<-member.Done())
	// Output:
	// consuming: false
	// orders.alice: a book
	// orders.alice: a pen
	// orders.alice: ink
}

// A static group consumes from the stream itself, which puts the partition number
// into its subjects.
func ExampleStaticConsume() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "ORDERS", Subjects: []string{"orders.*"},
		SubjectTransform: &jetstream.SubjectTransformConfig{
			Source: "orders.*",
			Destination: pcgroups.PartitioningTransformDestination(
				pcgroups.PartitioningFilter{Filter: "orders.*", PartitioningWildcards: []int{1}}, 2),
		},
	})
	check(err)
	check(pcgroups.CheckStaticStream(ctx, js, "ORDERS", 2, []string{"orders.*"}))
	_, err = pcgroups.CreateStatic(ctx, js, "ORDERS", "audit", 2, []string{"orders.*"}, []string{"m1"}, nil)
	check(err)

	handled := make(chan string, 2)
	member, err := pcgroups.StaticConsume(ctx, js, "ORDERS", "audit", "m1", func(msg jetstream.Msg) {
		handled <- msg.Subject()
		_ = msg.Ack()
	}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	check(err)
	_, err = js.Publish(ctx, "orders.alice", nil)
	check(err)
	fmt.Println(<-handled)
	member.Stop()
	check(<-member.Done())
	// Output: orders.alice
}

// High availability: two instances of one member. The second is a hot standby and
// takes over when the first is stopped, or falls silent.
func ExampleElasticConsume_standby() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 2,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	check(err)

	handled := make(chan string, 10)
	instance := func(name string) pcgroups.Session {
		s, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
			pcgroups.AutoAck(func(context.Context, *pcgroups.Msg) error { handled <- name; return nil }),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
		check(err)
		return s
	}
	order := func() {
		_, err := js.Publish(ctx, "orders.alice", nil)
		check(err)
		fmt.Println("handled by", <-handled)
	}
	active := instance("the first")
	order()
	standby := instance("the second")
	order()
	active.Stop()
	check(active.Wait(ctx))
	order()
	standby.Stop()
	check(standby.Wait(ctx))
	// Output:
	// handled by the first
	// handled by the first
	// handled by the second
}

// A program that is asked to end: nothing new is started, the running handler
// finishes, and its message is acknowledged. What it had not started is there for
// the next instance.
func ExampleSession_graceful() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 2,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	check(err)

	running, finish := make(chan string), make(chan bool)
	join := func() pcgroups.Session {
		s, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
			pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
				running <- string(msg.Data())
				<-finish
				return nil
			}),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
		check(err)
		return s
	}
	member := join()
	for _, order := range []string{"a book", "a pen"} {
		_, err = js.Publish(ctx, "orders.alice", []byte(order))
		check(err)
	}
	fmt.Println("running:", <-running)

	// In a program: context.AfterFunc(ctx, member.Stop), with the ctx of
	// signal.NotifyContext. Stop returns at once; Wait, or Done, is the end.
	member.Stop()
	close(finish)
	fmt.Println("ended:", member.Wait(ctx))

	next := join()
	fmt.Println("running:", <-running)
	next.Stop()
	check(next.Wait(ctx))
	// Output:
	// running: a book
	// ended: <nil>
	// running: a pen
}

// A handler's error ends its session. The message stays unacknowledged.
func ExampleHandlerFunc() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 2,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	check(err)
	member, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", "m1",
		pcgroups.HandlerFunc(func(context.Context, *pcgroups.Msg) error { return fmt.Errorf("the database is gone") }),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	check(err)
	_, err = js.Publish(ctx, "orders.alice", nil)
	check(err)
	fmt.Println(member.Wait(ctx))
	// Output:
	// pcgroups: consume elastic group ORDERS/billing member "m1": message handler failed: the database is gone; the message stays unacknowledged; mend the handler and join again
}

// What a group and its members are doing.
func ExampleDescribeElastic() {
	js, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}})
	check(err)
	_, err = pcgroups.CreateElastic(ctx, js, "ORDERS", "billing", 6,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1", "m2"))
	check(err)
	d, err := pcgroups.DescribeElastic(ctx, js, "ORDERS", "billing")
	check(err)
	for _, m := range d.Members {
		fmt.Println(m.Name, m.Partitions, "running:", m.Exists)
	}
	fmt.Println("lag:", d.Lag)
	// Output:
	// m1 [0 1 2] running: false
	// m2 [3 4 5] running: false
	// lag: 0
}

// Who gets which partitions, without a server.
func ExampleAssignments() {
	a := pcgroups.Assignments(7, []string{"m1", "m2", "m3"}, nil)
	for _, m := range slices.Sorted(maps.Keys(a)) {
		fmt.Println(m, a[m])
	}
	// Output:
	// m1 [0 1 6]
	// m2 [2 3]
	// m3 [4 5]
}

// The partition that the server gives to a subject.
func ExamplePartitionFor() {
	p, err := pcgroups.PartitionFor("orders.alice", "orders.*", []int{1}, 10)
	fmt.Println(p, err)
	// Output: 9 <nil>
}
