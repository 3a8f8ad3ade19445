package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// traffic publishes to all groups. Every key counts its messages. The next one
// is published when the server has accepted the one before, however often that
// had to be sent; each carries a message id, so that it is stored once. So what
// is published is known exactly, and a publish that failed is no loss.
type traffic struct {
	conn *nats.Conn
	quit context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	last map[*group]map[string]uint64
}

func startTraffic(ctx context.Context, c *cluster, groups []*group) (*traffic, error) {
	nc, err := c.connect("publisher")
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	t := &traffic{conn: nc, last: map[*group]map[string]uint64{}}
	quitting, quit := context.WithCancel(ctx)
	t.quit = quit
	for _, g := range groups {
		t.last[g] = map[string]uint64{}
		for k := range g.keys {
			t.wg.Go(func() { t.run(ctx, quitting, js, g, fmt.Sprintf("k%d", k)) })
		}
	}
	return t, nil
}

// stop ends publishing and returns when the last message is stored.
func (t *traffic) stop() {
	t.quit()
	t.wg.Wait()
}

func (t *traffic) close() {
	t.stop()
	t.conn.Close()
}

func (t *traffic) run(ctx, quitting context.Context, js jetstream.JetStream, g *group, key string) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / g.rate))
	defer tick.Stop()
	for {
		select {
		case <-quitting.Done():
			return
		case <-tick.C:
			t.publish(ctx, js, g, key)
		}
	}
}

// publish sends the next message of a key until the server has it.
func (t *traffic) publish(ctx context.Context, js jetstream.JetStream, g *group, key string) {
	t.mu.Lock()
	t.last[g][key]++
	seq := t.last[g][key]
	t.mu.Unlock()
	id := fmt.Sprintf("%s-%s-%d", g.stream, key, seq)
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := js.Publish(once, g.subject(key), fmt.Appendf(nil, "%s %d", key, seq), jetstream.WithMsgID(id))
		cancel()
		if err == nil {
			g.judge.accepted(key, seq)
			return
		}
		_ = pause(ctx, 50*time.Millisecond)
	}
}

// onceMore publishes one message of one key, behind everything else.
func (t *traffic) onceMore(ctx context.Context, js jetstream.JetStream, g *group) {
	t.publish(ctx, js, g, "k0")
}
