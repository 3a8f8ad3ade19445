// Command quickstart consumes an elastic consumer group as the member named on
// its command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		return errors.New("usage: quickstart MEMBER, such as worker-1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// snippet:
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w; NATS_URL names the server (nats://USER:PASSWORD@HOST if it wants that), without it one must run here (nats-server -js)", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}

	handle := pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
		fmt.Printf("partition %d: %s %s\n", msg.Partition(), msg.Subject(), msg.Data())
		return nil
	})
	member, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "orders-workers", os.Args[1], handle,
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1},
		pcgroups.WithLogger(slog.Default())) // tells which partitions it gets
	if err != nil {
		return err
	}
	if !member.Status().Consuming {
		fmt.Println(os.Args[1], "is not a member of the group, or has no partitions: waiting")
	}
	go func() {
		<-ctx.Done()
		member.Stop() // the running handler finishes; a standby takes over in milliseconds
	}()
	return member.Wait(context.Background())
	// end
}
