package pcgroups_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

var fleetSeed = flag.Uint64("fleet-seed", 1, "seed of TestAutoMemberFleet and TestClusterAutoMembership")

// fleetEvictAfter leaves room for a busy machine: the server deletes the last
// crashed consumer after up to two seconds, the floors of its timers being longer
// than the AckWait; it is missed within a quarter of this, and dropped after all
// of it.
const fleetEvictAfter = 5 * time.Second

// fleetLook is how long a look at the group may take: two seconds if sourcing is
// under suspicion, and nobody may answer at all.
const fleetLook = 5 * time.Second

// fleet is sessions that come and go.
type fleet struct {
	t                   *testing.T
	ctx                 func() context.Context
	js                  jetstream.JetStream // the test's own
	dial                func(...nats.Option) *nats.Conn
	handler             func(member string) func(jetstream.Msg)
	partitions          int
	ackWait, evictAfter time.Duration
	rnd                 *rand.Rand
	up                  map[string]*vessel
	told                evictions
}

// vessel is one session as a process would have it.
type vessel struct {
	session pcgroups.Session
	nc      *nats.Conn
}

func (fl *fleet) start(name string) {
	fl.t.Helper()
	nc := fl.dial()
	js, err := jetstream.New(nc)
	must(fl.t, err)
	s, err := pcgroups.ElasticConsume(fl.ctx(), js, "ORDERS", "workers", name, fl.handler(name), strict(fl.ackWait),
		pcgroups.WithAutoMembership(fl.evictAfter, func(string) bool { return true }), fl.told.events())
	must(fl.t, err)
	fl.up[name] = &vessel{s, nc}
}

// kill cuts the connection for good, as the end of the process would.
func (fl *fleet) kill(name string) {
	fl.up[name].nc.Close()
	<-fl.up[name].session.Closed()
	delete(fl.up, name)
}

func (fl *fleet) stop(name string) {
	fl.t.Helper()
	fl.up[name].session.Stop()
	must(fl.t, fl.up[name].session.Wait(fl.ctx()))
	fl.up[name].nc.Close()
	delete(fl.up, name)
}

// change starts, kills, stops or restarts one of the ten.
func (fl *fleet) change() string {
	name := fmt.Sprintf("m%d", fl.rnd.IntN(10))
	what := "start"
	if fl.up[name] == nil {
		fl.start(name)
	} else {
		switch fl.rnd.IntN(3) {
		case 0:
			what = "stop"
			fl.stop(name)
		case 1:
			what = "kill"
			fl.kill(name)
		default:
			what = "restart"
			fl.kill(name)
			fl.start(name)
		}
	}
	return what + " " + name
}

// crash kills one of those that have partitions, and leaves one at least.
func (fl *fleet) crash() (name string) {
	fl.t.Helper()
	if len(fl.up) < 2 {
		fl.start("m10")
		fl.start("m11")
	}
	name = slices.Sorted(maps.Keys(fl.up))[0]
	fl.kill(name)
	return name
}

// stopAll ends the sessions with the test.
func (fl *fleet) stopAll() {
	for _, v := range fl.up {
		v.session.Stop()
		<-v.session.Closed()
	}
}

// settled tells whether the members that have partitions are exactly those that
// run, as many as there can be, and every partition is with one of them that pulls
// from it. The others that run must be in the group. Of one past the cap that was
// killed nobody can tell.
func (fl *fleet) settled() error {
	consumed := 0
	for _, v := range fl.up { // asking these costs the servers nothing
		if st := v.session.Status(); st.Consuming {
			consumed += len(st.Partitions)
		}
	}
	if consumed != fl.partitions {
		return fmt.Errorf("%d of %d partitions are consumed", consumed, fl.partitions)
	}
	ctx, cancel := context.WithTimeout(fl.ctx(), fleetLook)
	defer cancel()
	d, err := pcgroups.DescribeElastic(ctx, fl.js, "ORDERS", "workers")
	if err != nil {
		return err
	}
	want := slices.Sorted(maps.Keys(fl.up))
	most := min(len(want), int(d.MaxMembers))
	var have []string
	owned := 0
	for _, m := range d.Members {
		if slices.Contains(d.Unassigned, m.Name) {
			continue
		}
		have = append(have, m.Name)
		if m.WaitingPulls == 0 && m.AckPending == 0 {
			return fmt.Errorf("%s does not consume, of %q", m.Name, want)
		}
		s := fl.up[m.Name]
		if s == nil || !slices.Equal(s.session.Status().Partitions, m.Partitions) {
			return fmt.Errorf("%s does not have %v, of %q", m.Name, m.Partitions, want)
		}
		owned += len(m.Partitions)
	}
	if !slices.Equal(have, want[:most]) || owned != int(d.MaxMembers) {
		return fmt.Errorf("members %q have %d partitions, want %q", have, owned, want[:most])
	}
	for _, name := range want[most:] {
		if !slices.Contains(d.Unassigned, name) {
			return fmt.Errorf("%s runs and does not wait for its turn, only %q do", name, d.Unassigned)
		}
	}
	return nil
}

// TestAutoMemberFleet starts, stops, kills and restarts ten sessions at random
// while messages flow.
//
// Prevents: members that stay behind or are lost, and partitions that nobody has,
// after whatever happened; messages lost, out of order or handled by two on the
// way.
func TestAutoMemberFleet(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	const partitions = 16
	f.elastic(partitions)
	fl := &fleet{
		t: t, ctx: f.ctx, js: f.js, dial: f.srv.Connect, partitions: partitions, ackWait: autoAckWait, evictAfter: fleetEvictAfter,
		handler: func(name string) func(jetstream.Msg) { return f.handler(name, 3*time.Millisecond) },
		rnd:     rand.New(rand.NewPCG(*fleetSeed, 0)), up: map[string]*vessel{},
	}
	t.Cleanup(fl.stopAll)
	quit, published := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(published)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for seq := uint64(1); ; seq++ {
			for k := range 8 {
				key := fmt.Sprintf("k%d", k)
				if _, err := f.js.Publish(context.Background(), "orders."+key, []byte(strconv.FormatUint(seq, 10))); err == nil {
					f.check.Published(key, seq)
				}
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	defer func() { <-published }()
	var story []string
	pause := time.NewTimer(0)
	for range 20 {
		<-pause.C
		story = append(story, fl.change())
		pause.Reset(time.Duration(fl.rnd.IntN(250)) * time.Millisecond)
	}
	fl.crash()
	begun := time.Now()
	err := poll.Until(2*fleetEvictAfter, fl.settled)
	took := time.Since(begun)
	close(quit)
	<-published
	if err != nil {
		t.Errorf("not settled %v after %q, seed %d: %v", took, story, *fleetSeed, err)
	}
	t.Logf("settled after %v with %d sessions; evicted %q", took, len(fl.up), fl.told.all())
	if err := poll.Until(patience, f.nothingLost); err != nil {
		t.Error(err)
	}
	if v := f.check.Verdict(); v.OutOfOrder > 0 || v.Overlapping > 0 {
		t.Errorf("%v %q", v, v.Examples)
	} else {
		t.Logf("%d messages, %v", v.Published, v)
	}
}
