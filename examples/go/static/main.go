// Command static is one instance of a member of a static consumer group: the
// stream numbers its messages itself, and the members never change.
//
//	static alice    # and, in other terminals, static bob, static carol
//
// Run the same member twice, and one of the two is a standby.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	stream     = "PAYMENTS"
	group      = "ledger"
	partitions = 6
)

// Payments of one account are handled one at a time and in order.
var (
	accounts = pcgroups.PartitioningFilter{Filter: "payments.*", PartitioningWildcards: []int{1}}
	members  = []string{"alice", "bob", "carol"}
)

func main() {
	server := flag.String("server", nats.DefaultURL, "URLs of the NATS servers, separated by commas")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: static [flags] MEMBER, which is one of %v\n", members)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *server, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server, member string) error {
	nc, err := nats.Connect(server, nats.Name("static/"+member))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w; -server names the server (nats://USER:PASSWORD@HOST if it wants that), without it one must run here (nats-server -js)", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := setUp(ctx, js); err != nil {
		return err
	}

	handle := pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
		fmt.Printf("partition %d: %s %s\n", msg.Partition(), msg.Subject(), msg.Data())
		return nil
	})
	session, err := pcgroups.StaticConsume(ctx, js, stream, group, member, handle,
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1},
		pcgroups.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, session.Stop) // the running handler finishes
	return session.Wait(context.Background())
}

// setUp makes the stream and the group unless they are there. All instances may
// do it at once. Where Terraform declares them, programs leave it out.
func setUp(ctx context.Context, js jetstream.JetStream) error {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name:     stream,
		Subjects: []string{accounts.Filter},
		SubjectTransform: &jetstream.SubjectTransformConfig{
			Source:      accounts.Filter,
			Destination: pcgroups.PartitioningTransformDestination(accounts, partitions),
		},
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("create the stream %s: %w; the server must have JetStream (nats-server -js), and allow it to the user", stream, err)
	}
	// A stream that is there may be another one, whose messages have no numbers: a
	// group on it would never get a message.
	filters := []string{accounts.Filter}
	if err := pcgroups.CheckStaticStream(ctx, js, stream, partitions, filters); err != nil {
		return err
	}
	_, err = pcgroups.CreateStatic(ctx, js, stream, group, partitions, filters, members, nil)
	return err
}
