// Command elastic is a member of an elastic consumer group. It enters the group
// when it starts and leaves it when it ends, so the partitions are always shared
// out among those that run.
//
//	elastic m1      # and, in other terminals, elastic m2, elastic m3
//
// A member that dies without leaving keeps its partitions until it is back: run
// its name again, or take it out with pcgroups.DeleteMembers.
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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	stream     = "ORDERS"
	group      = "billing"
	partitions = 8 // and so at most 8 members that have work
)

// Orders of one customer are handled one at a time and in order.
var customers = pcgroups.PartitioningFilter{Filter: "orders.*", PartitioningWildcards: []int{1}}

func main() {
	server := flag.String("server", nats.DefaultURL, "URLs of the NATS servers, separated by commas")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: elastic [flags] MEMBER")
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
		fmt.Fprintln(os.Stderr, "elastic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server, member string) (err error) {
	nc, err := nats.Connect(server, nats.Name("elastic/"+member))
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
	session, err := pcgroups.ElasticConsume(ctx, js, stream, group, member, handle,
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1},
		pcgroups.WithLogger(slog.Default())) // tells which partitions it gets and loses
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, session.Stop) // the running handler finishes
	if _, err := pcgroups.AddMembers(ctx, js, stream, group, []string{member}); err != nil {
		session.Stop()
		return errors.Join(err, session.Wait(context.Background()))
	}
	if err := session.Wait(context.Background()); err != nil {
		return err
	}

	// Its partitions go to the others. ctx is over by now.
	leaving, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = pcgroups.DeleteMembers(leaving, js, stream, group, []string{member})
	if errors.Is(err, pcgroups.ErrGroupNotFound) {
		return nil // the group was deleted, which is what ended the session
	}
	return err
}

// setUp makes the stream and the group unless they are there. All instances may
// do it at once. Where Terraform declares them, programs leave it out.
func setUp(ctx context.Context, js jetstream.JetStream) error {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{customers.Filter}})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("create the stream %s: %w; the server must have JetStream (nats-server -js), and allow it to the user", stream, err)
	}
	// A stream that is there may be another one, that stores no orders: a group on
	// it would never get a message.
	found, err := js.StreamNameBySubject(ctx, customers.Filter)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	if found != stream {
		return fmt.Errorf("the stream %s is there, but does not store %s; give it that subject (nats stream edit %s --subjects '%s'), or delete it", stream, customers.Filter, stream, customers.Filter)
	}
	_, err = pcgroups.CreateElastic(ctx, js, stream, group, partitions, []pcgroups.PartitioningFilter{customers}, -1, -1)
	return err
}
