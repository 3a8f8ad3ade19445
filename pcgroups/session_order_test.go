package pcgroups_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// many is the configuration of members with many messages in flight.
func many(ackWait time.Duration, maxDeliver int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1000, AckWait: ackWait, MaxDeliver: maxDeliver}
}

// moody is a handler that gives some messages back, at once or for later, and
// forgets some, but never on the last delivery of a message.
type moody struct {
	check              *checker.Checker
	work               time.Duration
	nak, delayed, none int // of a hundred
	maxDeliver         uint64
	n                  atomic.Int64
}

func (h *moody) handler(member string) func(jetstream.Msg) {
	return pcgroups.HandlerFunc(func(ctx context.Context, m *pcgroups.Msg) error {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		end := h.check.Begin(member, m.Subject()[len("orders."):], seq)
		if h.work > 0 {
			select {
			case <-time.After(h.work):
			case <-ctx.Done():
			}
		}
		end(false)
		mood := int(h.n.Add(1) * 37 % 100)
		switch {
		case h.maxDeliver > 0 && meta.NumDelivered >= h.maxDeliver:
		case mood < h.nak:
			return m.Nak()
		case mood < h.nak+h.delayed:
			return m.NakWithDelay(50 * time.Millisecond)
		case mood < h.nak+h.delayed+h.none:
			return nil
		}
		end(m.Ack() == nil)
		return nil
	})
}

// Prevents: the order of a partition lost, or a message of it handled by two,
// with many messages in flight: after a Nak, a Nak with delay and a message left
// unacknowledged the server delivers the later ones first; with 4 keys in 16
// partitions handled in parallel that is 964 violations in 4,000 messages if they
// are not held back. And MaxDeliver must not be used up by giving back.
func TestOrderWithManyInFlight(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	tests := []struct {
		name        string
		h           *moody
		concurrency int
		rtt         time.Duration
	}{
		{name: "fast", h: &moody{}, concurrency: 16, rtt: 10 * time.Millisecond},
		{name: "2 ms", h: &moody{work: 2 * time.Millisecond}, concurrency: 16, rtt: 10 * time.Millisecond},
		{name: "20 ms", h: &moody{work: 20 * time.Millisecond}, concurrency: 16, rtt: 10 * time.Millisecond},
		{name: "one at a time", h: &moody{nak: 10}, concurrency: 1},
		{name: "moody", h: &moody{nak: 10, delayed: 2, none: 1}, concurrency: 16, rtt: 10 * time.Millisecond},
		{name: "moody, slow", h: &moody{work: 2 * time.Millisecond, nak: 10, delayed: 2, none: 1}, concurrency: 4},
		{name: "at most 1 delivery", h: &moody{maxDeliver: 1, nak: 10, none: 1}, concurrency: 16},
		{name: "at most 2 deliveries", h: &moody{maxDeliver: 2, nak: 10, delayed: 2, none: 1}, concurrency: 16},
		{name: "at most 3 deliveries", h: &moody{maxDeliver: 3, nak: 10, delayed: 2, none: 1}, concurrency: 16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.elastic(16, "m1")
			f.burst(32, 40)
			tt.h.check = f.check
			f.far(tt.rtt, "m1", tt.h.handler("m1"), many(time.Second, int(tt.h.maxDeliver)), pcgroups.WithConcurrency(tt.concurrency))
			f.allHandled(32 * 40)
		})
	}
}

// burst publishes n messages for each of the keys, many at a time.
func (f *fixture) burst(keys, n int) {
	f.t.Helper()
	for range n {
		for k := range keys {
			key := "k" + strconv.Itoa(k)
			f.seq[key]++
			f.check.Published(key, f.seq[key])
			if _, err := f.js.PublishAsync("orders."+key, []byte(strconv.FormatUint(f.seq[key], 10))); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	select {
	case <-f.js.PublishAsyncComplete():
	case <-f.ctx().Done():
		f.t.Fatal("the messages were not published")
	}
}

// far joins as an instance of a member that is as far from its server as that.
func (f *fixture) far(rtt time.Duration, member string, h func(jetstream.Msg), c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) (pcgroups.Session, *natstest.Proxy) {
	f.t.Helper()
	proxy := natstest.StartProxy(f.t, f.srv.URL())
	nc := f.srv.ConnectVia(proxy, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	js, err := jetstream.New(nc)
	if err != nil {
		f.t.Fatal(err)
	}
	proxy.Delay(rtt / 2)
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", member, h, c, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Stop(); nc.Close(); <-s.Closed() })
	return s, proxy
}

// Prevents: two instances of a member handling messages of one partition at once
// when the pin moves. The server recalls nothing: the old holder has messages in
// flight, and the new one gets later ones at once.
func TestOrderWhenThePinMoves(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	tests := []struct {
		name      string
		bursts    int
		deliver   int
		ackWait   time.Duration
		period    time.Duration
		disturb   func(f *fixture, links []*natstest.Proxy)
		mayRepeat bool // an acknowledgement may be lost with its connection
	}{
		{name: "step-down", bursts: 40, ackWait: 2 * time.Second, period: 400 * time.Millisecond, disturb: func(f *fixture, _ []*natstest.Proxy) {
			_ = pcgroups.ElasticMemberStepDown(f.ctx(), f.js, "ORDERS", "workers", "m1")
		}},
		{name: "step-down, 2 deliveries", bursts: 40, deliver: 2, ackWait: 2 * time.Second, period: 400 * time.Millisecond, disturb: func(f *fixture, _ []*natstest.Proxy) {
			_ = pcgroups.ElasticMemberStepDown(f.ctx(), f.js, "ORDERS", "workers", "m1")
		}},
		{name: "connection lost", bursts: 40, ackWait: 500 * time.Millisecond, period: 1500 * time.Millisecond, mayRepeat: true, disturb: func(_ *fixture, links []*natstest.Proxy) {
			for _, l := range links {
				l.Cut()
				l.Heal()
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.elastic(8, "m1")
			h := &moody{check: f.check, work: 5 * time.Millisecond, nak: 5, maxDeliver: uint64(tt.deliver)}
			var links []*natstest.Proxy
			for range 3 {
				_, p := f.far(0, "m1", h.handler("m1"), many(tt.ackWait, tt.deliver), pcgroups.WithConcurrency(8))
				links = append(links, p)
			}
			stop := f.every(tt.period, func() { tt.disturb(f, links) })
			for range tt.bursts {
				f.burst(16, 5)
				f.reach(f.published() - 500)
			}
			stop()
			f.settled(tt.mayRepeat)
		})
	}
}

// Prevents: a partition handled by its old and new owner at once, or out of
// order, when the membership changes with many messages in flight.
func TestOrderWhenMembersChange(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(8, "m1")
	h := &moody{check: f.check, work: 5 * time.Millisecond, nak: 5}
	c := many(2*time.Second, -1)
	c.MaxAckPending = 100
	for _, m := range []string{"m1", "m2"} {
		f.far(0, m, h.handler(m), c, pcgroups.WithConcurrency(4))
	}
	in := false
	stop := f.every(300*time.Millisecond, func() {
		change := pcgroups.AddMembers
		if in {
			change = pcgroups.DeleteMembers
		}
		if _, err := change(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"}); err == nil {
			in = !in
		}
	})
	for range 40 {
		f.burst(16, 5)
		f.reach(f.published() - 500)
	}
	stop()
	f.settled(false)
}

// Prevents: a session that stops, again and again, and with each of its messages
// given back uses up their deliveries, so that they are never handled.
func TestStopUsesUpNoDeliveries(t *testing.T) {
	t.Parallel()
	for _, deliver := range []int{1, 2, 3} {
		t.Run(strconv.Itoa(deliver), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.elastic(8, "m1")
			f.burst(16, 20)
			h := &moody{check: f.check, work: time.Millisecond, nak: 5, maxDeliver: uint64(deliver)}
			for n := 40; n < 320; n += 40 {
				s := f.member1(h.handler("m1"), many(5*time.Second, deliver), pcgroups.WithConcurrency(4))
				f.reach(n)
				s.Stop()
				if err := waitDone(t, s); err != nil {
					t.Fatal(err)
				}
			}
			f.member1(h.handler("m1"), many(5*time.Second, deliver), pcgroups.WithConcurrency(4))
			f.settled(false)
		})
	}
}

func (f *fixture) member1(h func(jetstream.Msg), c jetstream.ConsumerConfig, opts ...pcgroups.ConsumeOption) pcgroups.Session {
	f.t.Helper()
	return f.join(pcgroups.ElasticConsume, "m1", h, c, opts...)
}

// every does something again and again until stopped.
func (f *fixture) every(period time.Duration, do func()) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(period)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				do()
			case <-quit:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

func (f *fixture) published() int {
	n := 0
	for _, s := range f.seq {
		n += int(s)
	}
	return n
}

// reach waits until so many messages were handled.
func (f *fixture) reach(n int) {
	f.t.Helper()
	if err := f.check.WaitHandled(f.ctx(), n); err != nil {
		f.t.Fatal(err, f.check.Verdict())
	}
}

// settled waits until everything is handled, and fails unless it was in order and
// never two at a time; where an acknowledgement may be lost it may be repeated.
func (f *fixture) settled(mayRepeat bool) {
	f.t.Helper()
	f.reach(f.published())
	v := f.check.Verdict()
	if mayRepeat {
		v.Duplicated = 0
	}
	if !v.OK() {
		f.t.Fatal(v, v.Examples)
	}
}
