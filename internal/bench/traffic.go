package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	payloadSize = 128
	// keys is the number of keys of a backlog, many for each partition.
	keys = 256
	// maxUnconfirmed bounds the messages on their way to the server.
	maxUnconfirmed = 4096
)

// fill publishes a backlog of n messages. Each begins with its number, counted
// from 1 for each key; see numbered.
func (l *lab) fill(ctx context.Context, g group, n int) error {
	nc, js, err := l.connect("publisher")
	if err != nil {
		return err
	}
	defer nc.Close()
	for i := range n {
		payload := make([]byte, payloadSize)
		binary.BigEndian.PutUint64(payload, uint64(i/keys)+1)
		if _, err := js.PublishAsync(fmt.Sprintf("%s.key%d", g.stream, i%keys), payload, jetstream.WithStallWait(patience)); err != nil {
			return fmt.Errorf("publishing a backlog: %w", err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	s, err := l.admin.Stream(ctx, g.stream)
	if err != nil {
		return err
	}
	if has := s.CachedInfo().State.Msgs; has != uint64(n) {
		return fmt.Errorf("of %d messages published %d arrived", n, has)
	}
	return nil
}

// numbered is the number of a message of a backlog.
func numbered(msg jetstream.Msg) uint64 { return binary.BigEndian.Uint64(msg.Data()) }

// traffic publishes steadily. What it publishes is not confirmed: it is there to
// be consumed, not to be counted.
type traffic struct {
	conn  *nats.Conn
	sent  atomic.Int64
	began time.Time
	quit  context.CancelFunc
	done  chan error
}

// startTraffic publishes so many messages a second to the subjects in turn.
func (l *lab) startTraffic(ctx context.Context, rate int, subjects ...string) (*traffic, error) {
	nc, _, err := l.connect("publisher")
	if err != nil {
		return nil, err
	}
	ctx, quit := context.WithCancel(ctx)
	t := &traffic{conn: nc, began: time.Now(), quit: quit, done: make(chan error, 1)}
	go func() { t.done <- t.run(ctx, rate, subjects) }()
	return t, nil
}

func (t *traffic) run(ctx context.Context, rate int, subjects []string) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	payload := make([]byte, payloadSize)
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for due := int(time.Since(t.began).Seconds() * float64(rate)); i < due; i++ {
			if err := t.conn.Publish(subjects[i%len(subjects)], payload); err != nil {
				return fmt.Errorf("publishing: %w", err)
			}
		}
		t.sent.Store(int64(i))
	}
}

// stop ends the traffic and tells how many messages a second there were.
func (t *traffic) stop() (rate float64, err error) {
	t.quit()
	err = <-t.done
	rate = float64(t.sent.Load()) / time.Since(t.began).Seconds()
	t.conn.Close()
	return rate, err
}

// alarm tells when the next message arrives after it was set.
type alarm struct {
	set  atomic.Bool
	rang chan time.Time
}

func newAlarm() *alarm { return &alarm{rang: make(chan time.Time, 1)} }

// arm sets the alarm. Nobody may be waiting for it.
func (a *alarm) arm() {
	select {
	case <-a.rang: // a message after the last wait was given up
	default:
	}
	a.set.Store(true)
}

// message is to be called for every message.
func (a *alarm) message() {
	if a.set.Load() && a.set.CompareAndSwap(true, false) {
		a.rang <- time.Now()
	}
}

var errSilent = errors.New("no message arrives")

// wait returns the time of the message.
func (a *alarm) wait(ctx context.Context, most time.Duration) (time.Time, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case at := <-a.rang:
		return at, nil
	case <-late.C:
		return time.Time{}, errSilent
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// handler tells of a message and acknowledges it: the shortest work there is. An
// acknowledgement that fails is that of a session which is being taken down.
func handler(tell func(jetstream.Msg)) func(jetstream.Msg) {
	return func(msg jetstream.Msg) {
		tell(msg)
		_ = msg.Ack()
	}
}

// milliseconds is how times are reported.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
