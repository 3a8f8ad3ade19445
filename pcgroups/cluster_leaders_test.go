//go:build cluster

package pcgroups_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Leaders of consumers and of their streams hand over while several partitions are
// handled at once and there is a backlog that is older than the AckWait, which a
// consumer's new leader takes for overdue.
//
// Prevents: with many messages in flight, a message that is lost with the leader that
// had it acknowledged, a later one of its partition that starts before it, or two
// handlers of a partition at once.
func TestClusterLeaderChangesWithManyInFlight(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	// Not beside other clusters: its traffic would slow their elections.
	f := newClusterFixture(t)
	f.origin("ORDERS", 3, jetstream.FileStorage, false)
	f.elastic("ORDERS", "m1", "m2")
	f.origin("EVENTS", 3, jetstream.FileStorage, true)
	_, err := pcgroups.CreateStatic(f.ctx(), f.js, "EVENTS", "workers", 4, []string{"EVENTS.*"}, []string{"m1"}, nil)
	must(t, err)

	const ackWait = 2 * time.Second
	flows := []*flow{f.newFlow("ORDERS"), f.newFlow("EVENTS")}
	for _, w := range flows {
		w.config = many(ackWait, 0)
		w.config.MaxAckPending = 100
		w.work, w.every = 10*time.Millisecond, 40*time.Millisecond
		w.start(8)
	}
	<-time.After(ackWait) // what is published now is as old as this timer when it fires
	elastic, static := flows[0], flows[1]
	for _, m := range []string{"m1", "m1", "m2"} { // m1 has a standby
		elastic.member(pcgroups.ElasticConsume, m, pcgroups.WithConcurrency(4))
	}
	for range 2 {
		static.member(pcgroups.StaticConsume, "m1", pcgroups.WithConcurrency(4))
	}

	for range 3 {
		for _, c := range []struct{ stream, consumer string }{
			{"ORDERS-workers", "m1"}, {"EVENTS", "workers-m1"},
		} {
			f.moveLeader(c.stream, c.consumer)
			elastic.more(50)
			static.more(50)
			f.moveLeader(c.stream, "")
			elastic.more(50)
			static.more(50)
			// Both at once.
			f.stepDown("STREAM.LEADER.STEPDOWN." + c.stream)
			f.moveLeader(c.stream, c.consumer)
			elastic.more(50)
			static.more(50)
		}
	}
	elastic.finish()
	static.finish()
}

// moveLeader has the leader of a consumer, or of a stream, hand over, and waits for
// another one.
func (f *clusterFixture) moveLeader(stream, consumer string) {
	f.t.Helper()
	leader := func() int { return f.cluster.ConsumerLeader(stream, consumer) }
	what := "CONSUMER.LEADER.STEPDOWN." + stream + "." + consumer
	if consumer == "" {
		leader = func() int { return f.cluster.StreamLeader(stream) }
		what = "STREAM.LEADER.STEPDOWN." + stream
	}
	was := leader()
	natstest.Eventually(f.t, clusterPatience, func() error {
		if leader() != was {
			return nil
		}
		f.stepDown(what)
		return errors.New(what + " changed nothing")
	})
}
