package natstest

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// The life of a cluster in one test, since each start costs half a second:
// a replicated stream can be made at once, survives the loss of its leader,
// which moves, and is whole again after the node's return.
func TestClusterSurvivesTheLossOfALeader(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c := StartCluster(t, 3)
	if got := len(c.URLs()); got != 3 {
		t.Fatalf("%d URLs", got)
	}
	js := c.JetStream()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "ORDERS", Subjects: []string{"orders.>"}, Replicas: 3,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{Durable: "worker"}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "orders.1", nil); err != nil {
		t.Fatal(err)
	}

	old := c.StreamLeader("ORDERS")
	c.StopNode(old)
	c.WaitReady()
	if leader := c.StreamLeader("ORDERS"); leader == old {
		t.Errorf("node %d is down and leads", old)
	}
	if leader := c.ConsumerLeader("ORDERS", "worker"); leader == old {
		t.Errorf("node %d is down and leads the consumer", old)
	}
	Eventually(t, electionTimeout, func() error {
		_, err := js.Publish(ctx, "orders.2", nil, jetstream.WithMsgID("2"))
		return err
	})

	c.RestartNode(old)
	// Asked of the returned node itself, which must have caught up.
	if _, err := c.Node(old).JetStream().Stream(ctx, "ORDERS"); err != nil {
		t.Errorf("through the returned node: %v", err)
	}
	stream, err := js.Stream(ctx, "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.State.Msgs != 2 {
		t.Errorf("%d messages, want 2", info.State.Msgs)
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline {
			t.Errorf("replica %s: current %t, offline %t", r.Name, r.Current, r.Offline)
		}
	}
}

// With a majority down RestartNode must not wait for a leader that cannot be.
func TestClusterWithoutMajority(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, WithUser("ann", "secret"))
	for i := range 3 {
		c.StopNode(i)
	}
	c.RestartNode(0)
	c.Node(0).Connect()
	c.RestartNode(1)
	if _, err := c.JetStream().AccountInfo(testContext(t)); err != nil {
		t.Errorf("with two of three nodes: %v", err)
	}
}

// A leader that does not come must fail the test with the stream's name.
func TestMissingLeaderIsReported(t *testing.T) {
	c := StartCluster(t, 3)
	if i, ok := c.core.StreamLeader("NOPE"); ok {
		t.Errorf("node %d leads a stream that does not exist", i)
	}
	if i, ok := c.core.ConsumerLeader("NOPE", "NOPE"); ok {
		t.Errorf("node %d leads a consumer that does not exist", i)
	}
	c.core.Shutdown()
	if err := c.core.WaitReady(0); err == nil || !strings.Contains(err.Error(), "no meta leader") {
		t.Errorf("ready without nodes: %v", err)
	}
}
