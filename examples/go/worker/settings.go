package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// settings is what may differ between two places where the worker runs.
type settings struct {
	server, creds, inbox  string
	stream, group, member string
	listen                string
	ackWait               time.Duration // how soon a dead instance is replaced
	patience              time.Duration // the longest a handler may take
	grace                 time.Duration // the longest the end may take
}

// parse tells what is wrong, and how to use the program, on standard error.
func parse(args []string, env func(string) string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	// Its default is not shown with the others: NATS_URL may hold a password.
	flags.StringVar(&s.server, "server", "", "URLs of the NATS servers, separated by commas (NATS_URL, else "+nats.DefaultURL+")")
	flags.StringVar(&s.creds, "creds", env("NATS_CREDS"), "credentials file (NATS_CREDS)")
	flags.StringVar(&s.inbox, "inbox-prefix", "", "prefix of the subjects for answers, for a user who may not subscribe to _INBOX.>")
	flags.StringVar(&s.stream, "stream", "ORDERS", "the stream that the group consumes")
	flags.StringVar(&s.group, "group", "orders-workers", "the consumer group")
	flags.StringVar(&s.member, "member", env("MEMBER"), "the member to run as, needed (MEMBER); instances of one member are active and standby")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "where /healthz, /readyz and /metrics are served; in a container :8080")
	flags.DurationVar(&s.ackWait, "ack-wait", 10*time.Second, "how long a silent instance keeps its partitions, at least 2s")
	flags.DurationVar(&s.patience, "patience", 2*time.Minute, "the longest a handler may take")
	flags.DurationVar(&s.grace, "grace", 25*time.Second, "the longest the end may take; less than what the platform grants (Kubernetes: 30s)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.server = cmp.Or(s.server, env("NATS_URL"), nats.DefaultURL)
	var err error
	switch {
	case flags.NArg() != 0:
		err = fmt.Errorf("%q is not a flag; the member is given as -member NAME", flags.Arg(0))
	case s.member == "":
		err = errors.New("-member is missing")
	case s.ackWait < 2*time.Second:
		err = fmt.Errorf("-ack-wait is %v, must be at least 2s", s.ackWait)
	}
	if err != nil {
		fmt.Fprintln(flags.Output(), err)
		flags.Usage()
	}
	return s, err
}
