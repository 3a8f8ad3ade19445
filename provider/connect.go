package provider

import (
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retryPause is the time between two tries to connect; see max_retries.
const retryPause = time.Second

// connect makes the connection. It gives up when stop is closed.
func (s settings) connect(stop <-chan struct{}) (*nats.Conn, jetstream.JetStream, error) {
	failed := func(err error) error {
		return &connectError{servers: s.shownServers(), from: s.from, reason: s.redact(err.Error()), err: err}
	}
	opts, err := s.options()
	if err != nil {
		return nil, nil, &settingError{reason: s.redact(err.Error()), err: err}
	}
	for retry := 0; ; retry++ {
		nc, err := nats.Connect(strings.Join(s.servers, ","), opts...)
		if err == nil {
			js, err := s.jetStream(nc)
			if err != nil {
				nc.Close()
				return nil, nil, failed(err)
			}
			return nc, js, nil
		}
		if retry == s.maxRetries || !unreachable(err) {
			return nil, nil, failed(err)
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-stop:
			pause.Stop()
			return nil, nil, errProviderClosed
		case <-pause.C:
		}
	}
}

// unreachable tells whether another try may help.
func unreachable(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout)
}

func (s settings) jetStream(nc *nats.Conn) (jetstream.JetStream, error) {
	timeout := jetstream.WithDefaultTimeout(s.requestTimeout)
	switch {
	case s.domain != "":
		return jetstream.NewWithDomain(nc, s.domain, timeout)
	case s.apiPrefix != "":
		return jetstream.NewWithAPIPrefix(nc, strings.TrimSuffix(s.apiPrefix, "."), timeout)
	}
	return jetstream.New(nc, timeout)
}

func (s settings) options() ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name(s.name),
		nats.Timeout(s.connectTimeout),
		// Without a handler of ours the client prints to standard error.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if s.inboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(strings.TrimSuffix(s.inboxPrefix, ".")))
	}
	secure, err := s.tls.options(s.from)
	if err != nil {
		return nil, err
	}
	login, err := s.credentials.option(s.from.credentials)
	if err != nil {
		return nil, err
	}
	opts = append(opts, secure...)
	if login != nil {
		opts = append(opts, login)
	}
	return opts, nil
}
