//go:build cluster

package pcgroups_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a message that another instance begins while its handler runs, as a
// consumer's new leader takes it for overdue. It does so with what was in the
// stream for longer than AckWait before it was delivered.
func TestClusterRedeliveryAfterALeaderChange(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newClusterFixture(t)
	const wait = 3 * time.Second
	for name, config := range map[string]jetstream.ConsumerConfig{
		"one in flight":  {AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: wait},
		"many in flight": {AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10, AckWait: wait},
	} {
		t.Run(name, func(t *testing.T) {
			f := &clusterFixture{t, f.cluster, f.js}
			stream := "ONE"
			if config.MaxAckPending > 1 {
				stream = "MANY"
			}
			f.origin(stream, 3, jetstream.FileStorage, true)
			_, err := pcgroups.CreateStatic(f.ctx(), f.js, stream, "workers", 4, []string{stream + ".*"}, []string{"m"}, nil)
			must(t, err)
			for n := range 3 {
				_, err := f.js.Publish(f.ctx(), stream+".k", fmt.Appendf(nil, "%d", n))
				must(t, err)
			}
			// What is published now is as old as this timer when it fires.
			<-time.After(wait)
			type run struct {
				text, by string
				again    uint64
				done     chan struct{}
			}
			runs := make(chan run, 100)
			member := func(by string) {
				s, err := pcgroups.StaticConsume(f.ctx(), f.cluster.JetStream(), stream, "workers", "m", pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
					meta, err := m.Metadata()
					if err != nil {
						return err
					}
					r := run{string(m.Data()), by, meta.NumDelivered, make(chan struct{})}
					runs <- r
					select {
					case <-r.done:
					case <-ctx.Done():
					}
					return m.Ack()
				}), config)
				must(t, err)
				t.Cleanup(func() { s.Stop(); <-s.Closed() })
			}
			member("a")
			first := <-runs
			member("b")
			begun := time.Now()
			f.stepDown("CONSUMER.LEADER.STEPDOWN." + stream + ".workers-m")
			timer := time.NewTimer(wait * 2 / 3)
			defer timer.Stop()
			select {
			case r := <-runs:
				t.Errorf("%s began again at %s, delivery %d, %s after the leader was asked to step down, while %s ran it", r.text, r.by, r.again, time.Since(begun), first.by)
				close(r.done)
			case <-timer.C:
			}
			close(first.done)
			for handled := 1; handled < 3; {
				var r run
				select {
				case r = <-runs:
				case <-time.After(30 * time.Second):
					t.Fatal("nothing more is handled")
				}
				t.Logf("%s at %s, delivery %d, after %s", r.text, r.by, r.again, time.Since(begun))
				close(r.done)
				if r.text != first.text {
					handled++
				}
			}
		})
	}
}
