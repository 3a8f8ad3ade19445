package natstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a kill that is a polite request, a killed server that comes back at
// another address or without what it had, and a cluster that is called whole before
// it is.
func TestReleaseClusterSurvivesAKill(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c := StartReleaseCluster(t, server.VERSION, 3)
	js := c.JetStream()
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(id string) {
		t.Helper()
		Eventually(t, electionTimeout, func() error {
			// Without a leader there is no answer.
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := js.Publish(ctx, "orders."+id, nil, jetstream.WithMsgID(id))
			return err
		})
	}
	publish("1")
	leads := -1
	if _, err := fmt.Sscanf(s.CachedInfo().Cluster.Leader, "node-%d", &leads); err != nil {
		t.Fatal(err)
	}
	url := c.nodes[leads].URL
	c.Kill(leads)
	if c.nodes[leads].Running() {
		t.Error("it runs")
	}
	publish("2")
	c.Restart(leads)
	if got := c.nodes[leads].URL; got != url {
		t.Errorf("it moved from %s to %s", url, got)
	}
	Eventually(t, electionTimeout, func() error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		info, err := s.Info(ctx)
		if err != nil {
			return err
		}
		if info.State.Msgs != 2 || len(info.Cluster.Replicas) != 2 {
			t.Fatalf("%+v", info.State)
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline {
				return errors.New(r.Name + " is not current")
			}
		}
		return nil
	})
}
