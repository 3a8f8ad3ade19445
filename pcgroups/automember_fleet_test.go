package pcgroups_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

var fleetSeed = flag.Uint64("fleet-seed", 1, "seed of TestAutoMemberFleet")

// fleetEvictAfter leaves room for a busy machine: the server deletes the last
// crashed consumer after up to two seconds, the floors of its timers being longer
// than the AckWait; it is missed within a quarter of this, and dropped after all
// of it.
const fleetEvictAfter = 5 * time.Second

// fleet is sessions that come and go, and what they handle.
type fleet struct {
	f     *fixture
	check *checker.Checker
	rnd   *rand.Rand
	up    map[string]*vessel
	told  evictions
}

// vessel is one session as a process would have it.
type vessel struct {
	session pcgroups.Session
	nc      *nats.Conn
}

func (fl *fleet) start(name string) {
	fl.f.t.Helper()
	nc := fl.f.srv.Connect()
	js, err := jetstream.New(nc)
	must(fl.f.t, err)
	s, err := pcgroups.ElasticConsume(fl.f.ctx(), js, "ORDERS", "workers", name, fl.handler(name), strict(autoAckWait),
		pcgroups.WithAutoMembership(fleetEvictAfter, func(string) bool { return true }), fl.told.events())
	must(fl.f.t, err)
	fl.up[name] = &vessel{s, nc}
}

// handler works for a few milliseconds. A killed session's handler ends at once.
func (fl *fleet) handler(name string) func(jetstream.Msg) {
	return pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			return err
		}
		end := fl.check.Begin(name, strings.TrimPrefix(m.Subject(), "orders."), seq)
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
		}
		end(false)
		end(ctx.Err() == nil && m.Ack() == nil)
		return nil
	})
}

// kill cuts the connection for good, as the end of the process would.
func (fl *fleet) kill(name string) {
	fl.up[name].nc.Close()
	<-fl.up[name].session.Closed()
	delete(fl.up, name)
}

func (fl *fleet) stop(name string) {
	fl.f.t.Helper()
	fl.up[name].session.Stop()
	must(fl.f.t, fl.up[name].session.Wait(fl.f.ctx()))
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

// settled tells whether the members are exactly those that run, and every
// partition is with one of them that pulls from it.
func (fl *fleet) settled() error {
	want := slices.Sorted(maps.Keys(fl.up))
	d, err := pcgroups.DescribeElastic(fl.f.ctx(), fl.f.js, "ORDERS", "workers")
	if err != nil {
		return err
	}
	var have []string
	owned := 0
	for _, m := range d.Members {
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
	if !slices.Equal(have, want) || owned != int(d.MaxMembers) {
		return fmt.Errorf("members %q have %d partitions, want %q", have, owned, want)
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
	f.elastic(16)
	fl := &fleet{f: f, check: f.check, rnd: rand.New(rand.NewPCG(*fleetSeed, 0)), up: map[string]*vessel{}}
	t.Cleanup(func() {
		for _, v := range fl.up {
			v.session.Stop()
			<-v.session.Closed()
		}
	})
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
	// The last change is a crash.
	if len(fl.up) < 2 {
		fl.start("m10")
		fl.start("m11")
	}
	last := slices.Sorted(maps.Keys(fl.up))[0]
	fl.kill(last)
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
