package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/faultproxy"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// patience bounds every wait for something that takes milliseconds unless it
// fails. A machine that is out of breath is given time.
const patience = 30 * time.Second

// lab is a server of its own for one experiment.
type lab struct {
	server *embedded.Server
	dir    string
	conn   *nats.Conn
	admin  jetstream.JetStream // for what is not measured
	link   *faultproxy.Proxy   // between members and server; nil is none
}

func openLab() (*lab, error) {
	dir, err := os.MkdirTemp("", "pcgroups-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a work folder: %w", err)
	}
	l := &lab{dir: dir}
	if l.server, err = embedded.Run(embedded.Options{Name: "bench", StoreDir: dir}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if l.conn, l.admin, err = l.connect("admin"); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends the server and with it everything that is connected to it.
func (l *lab) close() {
	if l.conn != nil {
		l.conn.Close()
	}
	if l.link != nil {
		l.link.Close()
	}
	l.server.Shutdown()
	_ = os.RemoveAll(l.dir) // what is left is in the system's folder for such things
}

// connect makes a connection, which the caller closes.
func (l *lab) connect(name string) (*nats.Conn, jetstream.JetStream, error) {
	return dial(name, l.server.URL())
}

// connectMember is connect for a member, which may be far from its server.
func (l *lab) connectMember(name string) (*nats.Conn, jetstream.JetStream, error) {
	if l.link == nil {
		return l.connect(name)
	}
	return dial(name, l.link.URL())
}

func dial(name, url string) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := nats.Connect(url, append(embedded.DialOptions(embedded.Options{}), nats.Name(name))...)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting %s: %w", name, err)
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(maxUnconfirmed), jetstream.WithPublishAsyncTimeout(patience))
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("connecting %s: %w", name, err)
	}
	return nc, js, nil
}

// farAway puts members that connect from now on so far from the server that a
// round trip takes this much longer, and returns how long one really takes: the
// median of some.
func (l *lab) farAway(rtt time.Duration) (time.Duration, error) {
	if l.link == nil {
		var err error
		if l.link, err = faultproxy.Listen(l.server.Addr()); err != nil {
			return 0, err
		}
	}
	l.link.Delay(rtt / 2)
	nc, _, err := l.connectMember("round trips")
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	var trips []float64
	for range 25 {
		trip, err := nc.RTT()
		if err != nil {
			return 0, fmt.Errorf("measuring a round trip: %w", err)
		}
		trips = append(trips, float64(trip))
	}
	return time.Duration(median(trips)), nil
}

// createStream makes the stream that a group is for. Messages are published to
// <stream>.<key>; for a static group the stream puts the partition in front.
func (l *lab) createStream(ctx context.Context, g group) error {
	config := jetstream.StreamConfig{Name: g.stream, Subjects: []string{g.filter()}, Storage: jetstream.MemoryStorage}
	if g.flavour == static {
		config.SubjectTransform = &jetstream.SubjectTransformConfig{
			Source:      g.filter(),
			Destination: pcgroups.PartitioningTransformDestination(pcgroups.PartitioningFilter{Filter: g.filter(), PartitioningWildcards: []int{1}}, g.partitions),
		}
	}
	_, err := l.admin.CreateStream(ctx, config)
	return err
}

// keyFor finds a key of a partition.
func keyFor(g group, partition int) (string, error) {
	for i := range 10000 {
		key := fmt.Sprintf("key%d", i)
		switch p, err := pcgroups.PartitionFor(g.stream+"."+key, g.filter(), []int{1}, g.partitions); {
		case err != nil:
			return "", err
		case p == partition:
			return key, nil
		}
	}
	return "", fmt.Errorf("no key is in partition %d", partition)
}

// waitForMessages waits until the members' stream holds n messages, which an
// elastic group's does some time after it was created.
func (l *lab) waitForMessages(ctx context.Context, g group, n int) error {
	return await(ctx, patience, func() error {
		s, err := l.admin.Stream(ctx, g.consumerStream())
		if err != nil {
			return err
		}
		if has := s.CachedInfo().State.Msgs; has < uint64(n) {
			return fmt.Errorf("%s has %d of %d messages", g.consumerStream(), has, n)
		}
		return nil
	})
}

// waitForPulls waits until so many instances of a member wait for messages.
func (l *lab) waitForPulls(ctx context.Context, g group, member string, n int) error {
	return await(ctx, patience, func() error {
		c, err := l.admin.Consumer(ctx, g.consumerStream(), g.consumer(member))
		if err != nil {
			return err
		}
		if has := c.CachedInfo().NumWaiting; has < n {
			return fmt.Errorf("%d of %d pulls wait at consumer %s", has, n, g.consumer(member))
		}
		return nil
	})
}

// waitUntilIdle waits until a member has handled everything.
func (l *lab) waitUntilIdle(ctx context.Context, g group, member string) error {
	return await(ctx, patience, func() error {
		c, err := l.admin.Consumer(ctx, g.consumerStream(), g.consumer(member))
		if err != nil {
			return err
		}
		if i := c.CachedInfo(); i.NumPending > 0 || i.NumAckPending > 0 || i.NumWaiting == 0 {
			return fmt.Errorf("consumer %s has %d messages to deliver and %d delivered, and %d pulls wait", i.Name, i.NumPending, i.NumAckPending, i.NumWaiting)
		}
		return nil
	})
}

// await is poll.Until that ends with ctx, too.
func await(ctx context.Context, most time.Duration, cond func() error) error {
	err := poll.Until(most, func() error {
		if ctx.Err() == nil {
			return cond()
		}
		return nil
	})
	return errors.Join(ctx.Err(), err)
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
