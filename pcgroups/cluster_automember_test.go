//go:build cluster

package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	clusterAutoAckWait = time.Second
	// clusterEvictAfter leaves room for the 3.5 AckWaits, and up to a second more for
	// each of three timers, that the server takes for a crashed member's consumer.
	clusterEvictAfter = 12 * time.Second
)

// waves is how many evictions, one after the other, it takes until only those that
// run have partitions: who is dead past the cap is found out only when its turn
// comes. One in which all owners are dead counts twice, as it takes twice the time.
func (fl *fleet) waves(members []string, partitions int) int {
	n := 0
	for {
		members = slices.Sorted(slices.Values(members))
		owners := slices.Clone(members[:min(len(members), partitions)])
		dead := slices.DeleteFunc(slices.Clone(owners), func(m string) bool { return fl.up[m] != nil })
		switch len(dead) {
		case 0:
			return n
		case len(owners):
			n++
		}
		n++
		members = slices.DeleteFunc(members, func(m string) bool { return slices.Contains(dead, m) })
	}
}

// Ten sessions are started, stopped, killed and restarted at random while the leaders
// of the bucket and of consumers hand over.
//
// Prevents: members that stay behind, are lost or are evicted although they run, as
// a write or a look met an election; partitions that nobody has then; messages lost,
// out of order or handled by two on the way.
func TestClusterAutoMembership(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	// Not beside other clusters: it is about time, too.
	f := newClusterFixture(t)
	const partitions = 6
	f.origin("ORDERS", 3, jetstream.FileStorage, false)
	f.elasticOf(partitions, "ORDERS")
	w := f.newFlow("ORDERS")
	w.work, w.every = 3*time.Millisecond, 40*time.Millisecond
	fl := &fleet{
		t: t, ctx: f.ctx, js: f.js, dial: f.cluster.Connect, handler: w.handler,
		partitions: partitions, ackWait: clusterAutoAckWait, evictAfter: clusterEvictAfter,
		rnd: rand.New(rand.NewPCG(*fleetSeed, 1)), up: map[string]*vessel{},
	}
	t.Cleanup(fl.stopAll)
	w.start(8)

	var story []string
	// Of a consumer only if it is there: its member may have been killed, or hand over.
	consumer := func() string {
		up := slices.Sorted(maps.Keys(fl.up))
		if len(up) == 0 {
			return "nobody"
		}
		name := up[fl.rnd.IntN(len(up))]
		if _, err := f.js.Conn().Request("$JS.API.CONSUMER.LEADER.STEPDOWN.ORDERS-workers."+name, nil, time.Second); err != nil {
			return fmt.Sprintf("step down %s: %v", name, err)
		}
		return "step down " + name
	}
	bucket := func() string {
		f.stepDown("STREAM.LEADER.STEPDOWN.KV_" + pcgroups.ElasticBucket)
		return "step down the bucket"
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for i := range 40 {
		<-pause.C
		switch {
		case i%8 == 3:
			story = append(story, bucket())
		case i%4 == 1:
			story = append(story, consumer())
		default:
			story = append(story, fl.change())
		}
		pause.Reset(time.Duration(fl.rnd.IntN(400)) * time.Millisecond)
	}
	// The last change is a crash that everybody sees through new leaders.
	story = append(story, consumer(), bucket())
	dead := fl.crash()

	begun := time.Now()
	c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), f.js, "ORDERS", "workers")
	must(t, err)
	waves := max(1, fl.waves(c.Members, partitions))
	limit := clusterEvictAfter * time.Duration(3*waves+1) / 2 // twice for the first, which the server must tell of
	err = poll.Until(limit, func() error {
		ctx, cancel := context.WithTimeout(f.ctx(), time.Second) // nobody may answer
		defer cancel()
		_, err := f.js.Consumer(ctx, "ORDERS-workers", dead)
		switch {
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			return nil
		case err == nil:
			err = errors.New("it is still there")
		}
		return fmt.Errorf("the consumer of %s: %w", dead, err)
	})
	gone := time.Since(begun)
	if err == nil {
		err = poll.Until(limit-gone, fl.settled)
	}
	took := time.Since(begun)
	if err != nil || took > limit+fleetLook {
		t.Errorf("not settled %v after %q, seed %d: %v", took, story, *fleetSeed, err)
	}
	t.Logf("figure settled_after_ms %d (at most %d; the consumer of %s was gone after %d; %d sessions run; evicted %q)", took.Milliseconds(), limit.Milliseconds(), dead, gone.Milliseconds(), len(fl.up), fl.told.all())
	w.finish()
}
