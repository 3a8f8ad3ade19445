package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// ackWait is long enough that no order is taken for abandoned on a machine that
// is out of breath, and short enough to wait for at the end: a stopped member's
// consumer is kept for as long.
const ackWait = 3 * time.Second

// stopPatience bounds the wait for a member to stop. Its handlers take
// milliseconds.
const stopPatience = 5 * time.Second

// member is one member of the group, with a connection of its own as if it were
// a program of its own.
type member struct {
	name    string
	conn    *nats.Conn
	session pcgroups.Session
	check   *checker.Checker
	owners  *owners
	handled atomic.Int64
}

// join makes a member consume, or wait until it may.
func (d *demo) join(ctx context.Context, name string) (*member, error) {
	nc, js, err := d.connect("member " + name)
	if err != nil {
		return nil, err
	}
	m := &member{name: name, conn: nc, check: d.check, owners: d.owners}
	m.session, err = pcgroups.ElasticConsume(ctx, js, stream, d.group, name, pcgroups.HandlerFunc(m.handle), jetstream.ConsumerConfig{
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxAckPending: 1, // strict order: the next one is delivered when this one is done
	})
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("member %s can not join: %w", name, err)
	}
	go func() {
		<-m.session.Closed()
		if err := m.session.Err(); err != nil {
			d.fail(fmt.Errorf("member %s ended: %w", name, err))
		}
	}()
	return m, nil
}

// handle works on one order. All it reports is what happens to itself, so that
// the verdict is about what members did, not about what they should have done.
func (m *member) handle(ctx context.Context, msg *pcgroups.Msg) error {
	var o order
	if err := json.Unmarshal(msg.Data(), &o); err != nil {
		return fmt.Errorf("an order that can not be read on %s: %w", msg.Subject(), err)
	}
	end := m.check.Begin(m.name, o.Customer, o.Number)
	m.owners.note(msg.Partition(), m.name)
	err := pause(ctx, work)
	// The acknowledgement lets the next order go to another member at once, so
	// the work has to be reported as ended before it.
	end(false)
	if err != nil {
		return err
	}
	if err := msg.Ack(); err != nil {
		return err
	}
	end(true)
	m.handled.Add(1)
	return nil
}

func (m *member) waitForConsuming(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := m.session.WaitForConsuming(ctx, true); err != nil {
		return fmt.Errorf("member %s does not begin to consume: %w", m.name, err)
	}
	return nil
}

// close waits for a member that was asked to stop, and disconnects it. It may be
// called twice. The error is about the stopping only: what else may have ended
// the session is told by the goroutine that join starts.
func (m *member) close() error {
	defer m.conn.Close()
	late := time.NewTimer(stopPatience)
	defer late.Stop()
	select {
	case <-m.session.Closed():
		return nil
	case <-late.C:
		return fmt.Errorf("member %s did not stop within %s", m.name, stopPatience)
	}
}

// counts are the numbers of orders that the members have handled.
func (d *demo) counts() []int {
	counts := make([]int, len(d.members))
	for i, m := range d.members {
		counts[i] = int(m.handled.Load())
	}
	return counts
}

// handled is the sum of the counts.
func (d *demo) handled() int {
	sum := 0
	for _, n := range d.counts() {
		sum += n
	}
	return sum
}
