package natstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
)

// electionTimeout bounds the wait for a leader: the server's own election
// timeout is at most nine seconds, and a vote can be split once.
const electionTimeout = 20 * time.Second

// Cluster is a JetStream cluster that belongs to a test.
type Cluster struct {
	t     testing.TB
	core  *embedded.Cluster
	nodes []*Server
}

// StartCluster runs a JetStream cluster of n nodes, in practice 3, and stops it
// when the test ends. It returns when the cluster has a meta leader and every
// node is current, so a replicated stream can be created at once.
func StartCluster(t testing.TB, n int, opts ...Option) *Cluster {
	t.Helper()
	o := newOptions(t, opts)
	core, err := embedded.RunCluster(n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(core.Shutdown)
	c := &Cluster{t: t, core: core}
	for i := range core.Len() {
		c.nodes = append(c.nodes, &Server{Server: core.Node(i), t: t, opts: o})
	}
	return c
}

// URLs are the client URLs of all nodes, stopped ones included.
func (c *Cluster) URLs() []string { return c.core.URLs() }

// Node is the i-th node, counted from 0.
func (c *Cluster) Node(i int) *Server { return c.nodes[i] }

// Connect dials any node, fails over to the others and closes the connection
// when the test ends. To stay with one node use Node(i).ConnectVia or
// Node(i).Connect with nats.IgnoreDiscoveredServers.
func (c *Cluster) Connect(opts ...nats.Option) *nats.Conn {
	c.t.Helper()
	return connect(c.t, c.core.Connect, opts)
}

// JetStream is a JetStream context on a connection of its own.
func (c *Cluster) JetStream(opts ...nats.Option) jetstream.JetStream {
	c.t.Helper()
	return newJetStream(c.t, c.Connect(opts...))
}

// StopNode stops node i gracefully and returns when it is gone. What it led is
// led by nobody for a moment; [Cluster.WaitReady] waits for that.
func (c *Cluster) StopNode(i int) { c.core.StopNode(i) }

// RestartNode starts node i on its old ports and store, stopping it first if it
// runs, and returns when the cluster is whole again, all streams included. If
// a majority is still down it returns when the node accepts connections.
func (c *Cluster) RestartNode(i int) {
	c.t.Helper()
	if err := c.core.RestartNode(i); err != nil {
		c.t.Fatal(err)
	}
}

// WaitReady waits until the running nodes have a meta leader and are all
// current and healthy.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	if err := c.core.WaitReady(embedded.ReadyTimeout); err != nil {
		c.t.Fatal(err)
	}
}

// StreamLeader is the index of the node that leads the stream; it waits for an
// election under way.
func (c *Cluster) StreamLeader(stream string) int {
	c.t.Helper()
	return c.leader("stream "+stream, func() (int, bool) { return c.core.StreamLeader(stream) })
}

// ConsumerLeader is the index of the node that leads the consumer; it waits for
// an election under way.
func (c *Cluster) ConsumerLeader(stream, consumer string) int {
	c.t.Helper()
	return c.leader("consumer "+stream+" > "+consumer, func() (int, bool) {
		return c.core.ConsumerLeader(stream, consumer)
	})
}

func (c *Cluster) leader(what string, find func() (int, bool)) int {
	c.t.Helper()
	var node int
	Eventually(c.t, electionTimeout, func() error {
		var ok bool
		if node, ok = find(); !ok {
			return fmt.Errorf("%s has no leader", what)
		}
		return nil
	})
	return node
}
