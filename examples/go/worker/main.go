// Command worker is a member of an elastic consumer group as one runs it in
// production: settings by flags or environment, structured logs, health and
// metrics over HTTP, and an end that loses nothing. What is to be done with a
// message is in handle.go; the rest can stay as it is.
//
// The group and its membership are declared elsewhere (Terraform, or
// pcgroups.CreateElastic). Run each member twice: the second is its standby.
//
//	worker -stream ORDERS -group billing -member m1
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func main() {
	s, err := parse(os.Args[1:], os.Getenv)
	if err != nil {
		os.Exit(2) // the flags have told why
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("member", s.member)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, s, log); err != nil {
		log.Error("the worker failed", "error", err)
		os.Exit(1)
	}
	log.Info("the worker has ended")
}

// joinPatience is how long joining may take. A missing group is waited for after
// that, in the session.
const joinPatience = 30 * time.Second

// run works until ctx ends (then it lets the running handler finish and returns
// nil) or until something ends the session.
func run(ctx context.Context, s settings, log *slog.Logger) error {
	nc, err := s.connect(log)
	if err != nil {
		// Without the address, which may hold a password.
		return fmt.Errorf("connect to NATS: %w; -server or NATS_URL names the server, without them one must run here (nats-server -js); credentials come from -creds, NATS_CREDS or the URL", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}

	// A port in use is found out before any message is taken.
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("%w (choose another with -listen)", err)
	}
	m := newMetrics()
	// What the user may not ask is never answered, so joining has an end.
	joining, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	session, err := pcgroups.ElasticConsume(joining, js, s.stream, s.group, s.member, m.measured(handler(log)),
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.ackWait, MaxAckPending: 1},
		pcgroups.WithLogger(log),
		pcgroups.WithEvents(m.events()),
		pcgroups.WithKeepAlive(s.patience), // slow is not dead
		pcgroups.WithRejoin(),              // Terraform replaces a group by deleting and creating it
	)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	web := serve(listener, nc, session, m, log)
	defer web.Close()
	log.Info("the worker has started", "http", listener.Addr().String(), "stream", s.stream, "group", s.group)
	if !session.Status().Consuming {
		// Not an error: the group, or the membership, may come later. Or never, so
		// it is said.
		log.Warn("waiting: the group does not exist, or the member is not in it or has no partitions; check -stream, -group and -member, or declare them")
	}

	select {
	case <-ctx.Done():
		log.Info("ending: the running handler may finish", "within", s.grace.String())
		session.Stop()
	case <-session.Closed(): // by itself
	}
	last, cancelLast := context.WithTimeout(context.Background(), s.grace)
	defer cancelLast()
	err = session.Wait(last)
	if err != nil && last.Err() != nil {
		return fmt.Errorf("a handler still runs after %v, its message will be handled again: %w", s.grace, err)
	}
	return err
}

// connect keeps the connection for good once there is one. If there is none at
// the start the program ends, and whatever runs it tries again.
func (s settings) connect(log *slog.Logger) (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("worker/" + s.member),
		nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // else it is our own end
				log.Warn("disconnected", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected again", "server", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("connection", "error", err) }),
	}
	if s.creds != "" {
		opts = append(opts, nats.UserCredentials(s.creds))
	}
	if s.inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(s.inbox))
	}
	return nats.Connect(s.server, opts...)
}
