package pcgroups_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	autoAckWait = 500 * time.Millisecond
	evictAfter  = 2 * time.Second
)

// anyone may be evicted, but for members whose names begin with an x.
func anyone(name string) bool { return !strings.HasPrefix(name, "x") }

// evictions collects what sessions tell.
type evictions struct {
	mu   sync.Mutex
	told []string
}

func (e *evictions) events() pcgroups.ConsumeOption {
	return pcgroups.WithEvents(pcgroups.Events{MemberEvicted: func(name string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.told = append(e.told, name)
	}})
}

func (e *evictions) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.told))
}

// auto joins with automatic membership over a connection of its own, whose
// closing is a crash.
func (f *fixture) auto(name string, c jetstream.ConsumerConfig, after time.Duration, opts ...pcgroups.ConsumeOption) (pcgroups.Session, *nats.Conn) {
	f.t.Helper()
	return f.autoVia(f.srv.Connect(), name, c, after, opts...)
}

func (f *fixture) autoVia(nc *nats.Conn, name string, c jetstream.ConsumerConfig, after time.Duration, opts ...pcgroups.ConsumeOption) (pcgroups.Session, *nats.Conn) {
	f.t.Helper()
	js, err := jetstream.New(nc)
	must(f.t, err)
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", name, f.handler(name, 0), c, append(opts, pcgroups.WithAutoMembership(after, anyone))...)
	must(f.t, err)
	f.t.Cleanup(func() { s.Stop(); nc.Close(); <-s.Closed() })
	return s, nc
}

func (f *fixture) group() *pcgroups.ElasticConsumerGroupConfig {
	f.t.Helper()
	c, err := pcgroups.GetElasticConsumerGroupConfig(f.ctx(), f.js, "ORDERS", "workers")
	must(f.t, err)
	return c
}

func (f *fixture) members() string { f.t.Helper(); return strings.Join(f.group().Members, " ") }

func (f *fixture) membersBecome(want string) {
	f.t.Helper()
	natstest.Eventually(f.t, patience, func() error {
		if got := f.members(); got != want {
			return fmt.Errorf("the members are %q, want %q", got, want)
		}
		return nil
	})
}

// Prevents: a member that does not add itself, does not leave, or leaves its
// partitions behind until a time-out.
func TestAutoMemberJoinsAndLeaves(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(4)
	const ackWait = 30 * time.Second // longer than the test waits
	m1, _ := f.auto("m1", strict(ackWait), 3*ackWait)
	if !m1.Status().Consuming {
		t.Error("it joined but does not consume")
	}
	f.publish(8, 3)
	f.allHandled(24)
	m2, _ := f.auto("m2", strict(ackWait), 3*ackWait)
	f.publish(8, 3)
	f.allHandled(48)
	if got := f.members(); got != "m1 m2" {
		t.Error(got)
	}
	begun := time.Now()
	m2.Stop()
	must(t, waitDone(t, m2))
	if got := f.members(); got != "m1" {
		t.Error(got)
	}
	if _, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m2"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the consumer was left behind: %v", err)
	}
	f.publish(8, 3)
	f.allHandled(72)
	quick(t, "leaving", begun)
	m1.Stop()
	must(t, waitDone(t, m1))
	if got := f.members(); got != "" {
		t.Error(got)
	}
	if n := m1.Status().Recovered; n != 0 {
		t.Errorf("%d faults: %v", n, m1.Status().LastRecovered)
	}
}

// Prevents: a rolling restart that takes the member out of the group because one
// of its instances stops.
func TestAutoMemberLeavesToItsOtherInstance(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(2)
	const ackWait = 30 * time.Second
	a, _ := f.auto("m1", strict(ackWait), 3*ackWait)
	f.publish(4, 3)
	f.allHandled(12)
	b, _ := f.auto("m1", strict(ackWait), 3*ackWait)
	revision := f.group().Revision()
	a.Stop()
	must(t, waitDone(t, a))
	f.publish(4, 3)
	f.allHandled(24)
	if f.group().Revision() != revision {
		t.Error("the group was changed")
	}
	b.Stop()
	must(t, waitDone(t, b))
	if got := f.members(); got != "" {
		t.Error(got)
	}
}

// Prevents: a crashed member that keeps its partitions for ever, an eviction that
// is too early, that two sessions write one after the other, or that is not told;
// and a member that was only cut off and does not come back.
func TestAutoMemberEvictsAndComesBack(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(6)
	var told evictions
	for _, m := range []string{"m1", "m2", "m3"} {
		f.auto(m, strict(autoAckWait), evictAfter, told.events())
	}
	proxy := natstest.StartProxy(t, f.srv.URL())
	cut, _ := f.autoVia(f.srv.ConnectVia(proxy), "m4", strict(autoAckWait), evictAfter, told.events())
	f.publish(12, 2)
	f.allHandled(24)
	revision := f.group().Revision()
	begun := time.Now()
	proxy.Cut()
	f.publish(12, 2)
	f.membersBecome("m1 m2 m3")
	if took := time.Since(begun); took < evictAfter {
		t.Errorf("evicted after %v", took)
	} else {
		t.Logf("evicted after %v", took)
	}
	f.allHandled(48)
	if now := f.group().Revision(); now != revision+1 {
		t.Errorf("%d writes", now-revision)
	}
	natstest.Eventually(t, patience, func() error {
		if got := told.all(); !slices.Equal(got, []string{"m4"}) {
			return fmt.Errorf("told %q", got)
		}
		return nil
	})
	proxy.Heal()
	f.membersBecome("m1 m2 m3 m4")
	if err := cut.WaitForConsuming(f.ctx(), true); err != nil {
		t.Fatal(err)
	}
	f.publish(12, 2)
	f.allHandled(72)
}

// Prevents: members past the cap that are lost, evicted because they have nothing
// to consume, or never get their turn; and a group at rest that changes.
func TestAutoMemberPastTheCap(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(2)
	m1, _ := f.auto("m1", strict(autoAckWait), evictAfter)
	f.auto("m2", strict(autoAckWait), evictAfter)
	m3, _ := f.auto("m3", strict(autoAckWait), evictAfter)
	if m3.Status().Consuming || f.members() != "m1 m2 m3" {
		t.Fatalf("%+v, members %q", m3.Status(), f.members())
	}
	revision := f.group().Revision()
	natstest.Never(t, 3*evictAfter, func() bool { return f.group().Revision() != revision }, "the group changed although nobody came or went")
	m1.Stop()
	if err := m3.WaitForConsuming(f.ctx(), true); err != nil {
		t.Fatal(err)
	}
	f.membersBecome("m2 m3")
	f.publish(8, 2)
	f.allHandled(16)
}

// Prevents: a group whose partitions all belong to members that never come back
// (a deployment that crashed and has other names now), while those that run wait
// for their turn.
func TestAutoMembersAllNew(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(2, "gone-1", "gone-2")
	f.publish(8, 2)
	f.auto("new-1", strict(autoAckWait), evictAfter)
	f.auto("new-2", strict(autoAckWait), evictAfter)
	f.membersBecome("new-1 new-2")
	f.allHandled(16)
}

// Prevents: an eviction while the group changes, when a member may be without its
// consumer for good reasons.
func TestAutoMemberWaitsForRest(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(4)
	f.auto("m1", strict(autoAckWait), evictAfter)
	_, crash := f.auto("m2", strict(autoAckWait), evictAfter)
	crash.Close()
	for i := range 8 { // twice the time
		change := pcgroups.AddMembers
		if i%2 == 1 {
			change = pcgroups.DeleteMembers
		}
		_, err := change(f.ctx(), f.js, "ORDERS", "workers", []string{"m9"})
		must(t, err)
		natstest.Never(t, evictAfter/4, func() bool { return !slices.Contains(f.group().Members, "m2") }, "evicted while the group changes")
	}
	f.membersBecome("m1")
}

// Prevents: members of other programs that disturb, or whose longer AckWait is not
// waited for. (With a shorter one the oracle itself loses its consumer for good when
// the machine is busy.)
func TestAutoMemberBesideOracle(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(6)
	f.auto("m1", strict(autoAckWait), evictAfter)
	_, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"xo"})
	must(t, err)
	nc := f.srv.Connect()
	js, err := jetstream.New(nc)
	must(t, err)
	const oracleAckWait = 2 * time.Second
	o, err := oracle.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "xo", f.handler("xo", 0), strict(oracleAckWait))
	must(t, err)
	f.waiting("ORDERS-workers", "xo", 1)
	_, crash := f.auto("m2", strict(autoAckWait), evictAfter)
	f.publish(12, 2)
	natstest.Eventually(t, patience, func() error { return f.nothingLost() })
	begun := time.Now()
	crash.Close()
	f.membersBecome("m1 xo")
	if took := time.Since(begun); took < 3*oracleAckWait {
		t.Errorf("evicted after %v", took)
	}
	f.publish(12, 2)
	natstest.Eventually(t, patience, func() error { return f.nothingLost() })
	o.Stop()
	must(t, <-o.Done())
}

func (f *fixture) nothingLost() error {
	if v := f.check.Verdict(); v.Lost > 0 {
		return errors.New(v.String())
	}
	return nil
}

// Prevents: a member that stays out because someone dropped it while it runs, and
// a war with whoever does so again.
func TestAutoMemberDroppedByAnother(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(4)
	m1, _ := f.auto("m1", strict(autoAckWait), evictAfter)
	drop := func() time.Time {
		_, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m1"})
		must(t, err)
		return time.Now()
	}
	begun := drop()
	f.membersBecome("m1")
	quick(t, "coming back", begun)
	natstest.Eventually(t, patience, func() error {
		if err := m1.Status().LastRecovered; err == nil || !strings.Contains(err.Error(), "stop its sessions") {
			return errors.New("it was not told: " + fmt.Sprint(err))
		}
		return nil
	})
	begun = drop()
	f.membersBecome("m1")
	if took := time.Since(begun); took < evictAfter {
		t.Errorf("it came back after %v the second time", took)
	}
	f.publish(4, 2)
	f.allHandled(8)
	drop()
	m1.Stop()
	must(t, waitDone(t, m1))
	natstest.Never(t, evictAfter/2, func() bool { return f.members() != "" }, "a session that was stopped came back")
}

// Prevents: an option that is taken although it can not work, and a refusal that
// leaves the member in the group.
func TestAutoMemberRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.elastic(2)
	back := strict(time.Second)
	back.BackOff = []time.Duration{4 * time.Second, 5 * time.Second}
	back.MaxDeliver = 3
	try := func(name string, c jetstream.ConsumerConfig, after time.Duration, may func(string) bool, field string) {
		t.Helper()
		_, err := pcgroups.ElasticConsume(f.ctx(), f.js, "ORDERS", "workers", "m1", f.handler("m1", 0), c, pcgroups.WithAutoMembership(after, may))
		var bad *pcgroups.ConfigError
		if !errors.As(err, &bad) || bad.Field != field || !errors.Is(err, pcgroups.ErrInvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	try("no predicate", strict(time.Second), time.Minute, nil, "may_evict")
	try("too soon", strict(time.Second), 3*time.Second-1, anyone, "evict_after")
	try("too soon for the default", strict(0), 14*time.Second, anyone, "evict_after")
	try("too soon for the back-off", back, 11*time.Second, anyone, "evict_after")
	if got := f.members(); got != "" {
		t.Errorf("a refused session is a member: %q", got)
	}
	must(t, pcgroups.SetMemberMappings(f.ctx(), f.js, "ORDERS", "workers", []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0, 1}}}))
	try("mappings", strict(time.Second), time.Minute, anyone, "auto_membership")

	_, err := pcgroups.CreateStatic(f.ctx(), f.js, "ORDERS", "fixed", 2, []string{"orders.*"}, []string{"m1"}, nil)
	must(t, err)
	_, err = pcgroups.StaticConsume(f.ctx(), f.js, "ORDERS", "fixed", "m1", f.handler("m1", 0), strict(time.Second), pcgroups.WithAutoMembership(time.Minute, anyone))
	var bad *pcgroups.ConfigError
	if !errors.As(err, &bad) || bad.Field != "auto_membership" {
		t.Errorf("static: %v", err)
	}
}

// Prevents: a session that waits for its group (WithRejoin) and is not a member of
// it when it comes.
func TestAutoMemberWaitsForItsGroup(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.stream("ORDERS", 0)
	m1, _ := f.auto("m1", strict(autoAckWait), evictAfter, pcgroups.WithRejoin())
	create := func() {
		t.Helper()
		_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 2, byKeyOf("orders"), -1, -1)
		must(t, err)
		f.membersBecome("m1")
		must(t, m1.WaitForConsuming(f.ctx(), true))
	}
	create()
	f.publish(4, 1)
	f.allHandled(4)
	must(t, pcgroups.DeleteElastic(f.ctx(), f.js, "ORDERS", "workers"))
	must(t, m1.WaitForConsuming(f.ctx(), false))
	create()
}
