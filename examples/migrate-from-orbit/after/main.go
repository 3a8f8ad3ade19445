// A member of an elastic group that prints its messages and acknowledges them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: NATS_URL=… %s MEMBER\n", os.Args[0])
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(member string) error {
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w; NATS_URL names the server (nats://USER:PASSWORD@HOST if it wants that), without it one must run here (nats-server -js)", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	handle := func(msg jetstream.Msg) {
		fmt.Printf("%s %s\n", msg.Subject(), msg.Data())
		if err := msg.Ack(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	session, err := pcgroups.ElasticConsume(context.Background(), js, "ORDERS", "billing", member, handle,
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 1})
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case <-signals:
		session.Stop()
		return nil
	case err := <-session.Done():
		return err
	}
}
