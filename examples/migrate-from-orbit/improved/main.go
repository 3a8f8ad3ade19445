// A member of an elastic group that prints its messages, whose handler may fail,
// which tells what happens to it, and ends when its work is done.
package main

import (
	"context"
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
	// 1. Interrupted or not, there is one way out.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w; NATS_URL names the server (nats://USER:PASSWORD@HOST if it wants that), without it one must run here (nats-server -js)", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	// 2. The handler returns an error instead of swallowing it: the session ends
	// with it, the message stays, and the next instance gets it. The partition is
	// at hand, and need not be parsed.
	handle := pcgroups.AutoAck(func(_ context.Context, msg *pcgroups.Msg) error {
		_, err := fmt.Printf("%s %s\n", msg.Subject(), msg.Data())
		return err
	})
	session, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "billing", member, handle,
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 1},
		// 3. Partitions, pins and faults that were got over are logged.
		pcgroups.WithLogger(slog.Default()),
		// 4. A slow handler is kept alive, for up to a minute.
		pcgroups.WithKeepAlive(time.Minute),
		// 5. The group may be replaced, or not be there yet.
		pcgroups.WithRejoin())
	if err != nil {
		return err
	}
	// 6. Stop lets the running handler finish; Wait returns when it has. A standby
	// goes on within milliseconds, instead of after AckWait.
	context.AfterFunc(ctx, session.Stop)
	return session.Wait(context.Background())
}
