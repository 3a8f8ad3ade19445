//go:build cluster

package pcgroups_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: messages that get lost, or handled by two or in the wrong order, and
// sessions that end or fall silent, when leaders change or servers go and come
// back while the membership changes.
func TestClusterConsumesThroughFaults(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newClusterFixture(t)
	f.origin("ORDERS", 3, jetstream.FileStorage, false)
	f.elastic("ORDERS", "m1", "m2")
	f.origin("EVENTS", 3, jetstream.FileStorage, true)
	_, err := pcgroups.CreateStatic(f.ctx(), f.js, "EVENTS", "workers", 4, []string{"EVENTS.*"}, []string{"m1"}, nil)
	must(t, err)

	elastic, static := f.startFlow("ORDERS", 4), f.startFlow("EVENTS", 4)
	for _, m := range []string{"m1", "m1", "m2"} { // m1 has a standby
		elastic.member(pcgroups.ElasticConsume, m)
	}
	static.member(pcgroups.StaticConsume, "m1")
	static.member(pcgroups.StaticConsume, "m1")
	change := func(members ...string) {
		t.Helper()
		_, err := pcgroups.SetMembers(f.ctx(), f.js, "ORDERS", "workers", members)
		must(t, err)
		elastic.more(5)
		static.more(5)
	}

	elastic.more(5)
	for i, leader := range []string{
		"STREAM.LEADER.STEPDOWN.ORDERS-workers", "STREAM.LEADER.STEPDOWN.ORDERS", "STREAM.LEADER.STEPDOWN.KV_" + pcgroups.ElasticBucket,
		"CONSUMER.LEADER.STEPDOWN.ORDERS-workers.m1", "CONSUMER.LEADER.STEPDOWN.EVENTS.workers-m1",
	} {
		f.stepDown(leader)
		elastic.more(5)
		static.more(5)
		change([][]string{{"m1"}, {"m1", "m2"}}[i%2]...)
	}
	// The server takes up to 20 s to go on sourcing from a stream whose leader went
	// down, which has nothing to do with us.
	down := f.cluster.StreamLeader("ORDERS-workers")
	for f.cluster.StreamLeader("ORDERS") == down {
		f.stepDown("STREAM.LEADER.STEPDOWN.ORDERS")
	}
	f.cluster.StopNode(down)
	change("m1", "m2") // with two of three
	f.cluster.RestartNode(down)
	change("m1")
	elastic.finish()
	static.finish()
}
