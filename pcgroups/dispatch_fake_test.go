package pcgroups

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// told is what a dispatcher under test has said to its server, with the time since
// the test's begin.
type told struct {
	mu    sync.Mutex
	begin time.Time
	list  []saying
}

type saying struct {
	what string // ack, nak, progress, flight, next or gone
	seq  uint64
	at   time.Duration
}

func (s saying) String() string { return fmt.Sprintf("%s %d at %v", s.what, s.seq, s.at) }

func (l *told) note(what string, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, saying{what, seq, time.Since(l.begin)})
}

// of are the sayings of a kind, of one message or with 0 of any.
func (l *told) of(what string, seq uint64) []saying {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.list), func(s saying) bool { return s.what != what || seq != 0 && s.seq != seq })
}

// fakeMsg is a delivery whose acknowledgements are noted.
type fakeMsg struct {
	jetstream.Msg
	log        *told
	partition  int
	seq        uint64
	deliveries uint64
	pin        string
	stored     time.Time // zero: long ago
	order      uint64    // among the deliveries; 0: not told
	size       int
}

func (m *fakeMsg) Reply() string {
	stored := int64(0)
	if !m.stored.IsZero() {
		stored = m.stored.UnixNano()
	}
	return fmt.Sprintf("$JS.ACK.S.C.%d.%d.%d.%d.0", m.deliveries, m.seq, m.order, stored)
}
func (m *fakeMsg) Subject() string      { return fmt.Sprintf("%d.orders", m.partition) }
func (m *fakeMsg) Headers() nats.Header { return nats.Header{pinHeader: {m.pin}} }
func (m *fakeMsg) Data() []byte         { return make([]byte, m.size) }
func (m *fakeMsg) Ack() error           { m.log.note("ack", m.seq); return nil }
func (m *fakeMsg) Nak() error           { m.log.note("nak", m.seq); return nil }
func (m *fakeMsg) InProgress() error    { m.log.note("progress", m.seq); return nil }

// fakeLookout answers a dispatcher as a test has it.
type fakeLookout struct {
	log *told

	mu               sync.Mutex
	inFlight         int
	delivered, floor uint64
	heads            map[int]uint64 // by partition, the first message of it
	missing          map[uint64]bool
	hangs            bool // it does not answer
	far              time.Duration
	asked            func(n int) // called when it is asked for its reign
	asks             int
	led              time.Time // when its leader came; zero: it has none other
}

func (f *fakeLookout) flight(ctx context.Context) (int, uint64, uint64, error) {
	f.log.note("flight", 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hangs {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return 0, 0, 0, ctx.Err()
	}
	return f.inFlight, f.delivered, f.floor, nil
}

func (f *fakeLookout) reign(context.Context) (reign, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asks++; f.asked != nil {
		f.asked(f.asks)
	}
	r := reign{age: eternal, now: time.Now(), floor: f.floor}
	if !f.led.IsZero() {
		r.age = time.Since(f.led)
	}
	return r, nil
}

func (f *fakeLookout) gone(_ context.Context, seq uint64) (bool, error) {
	f.log.note("gone", seq)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missing[seq], nil
}

func (f *fakeLookout) next(_ context.Context, candidates []candidate) ([]bool, error) {
	<-time.After(f.far)
	f.mu.Lock()
	defer f.mu.Unlock()
	next := make([]bool, len(candidates))
	for i, p := range candidates {
		f.log.note("next", p.seq)
		next[i] = f.heads[p.partition] >= p.seq
	}
	return next, nil
}

func (f *fakeLookout) progress(_ context.Context, replies []string) error {
	for _, r := range replies {
		_, seq := replyInfo(r)
		f.log.note("progress", seq)
	}
	return nil
}

func (f *fakeLookout) cuts() (<-chan nats.Status, func()) { return nil, func() {} }

func (f *fakeLookout) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// bench is a dispatcher in a bubble of its own time, with a fake server.
type bench struct {
	t      *testing.T
	r      *runner
	log    *told
	server *fakeLookout
	events chan event
	ended  chan struct{} // tend has returned
}

// newBench starts what a session starts for a pull with many messages in flight.
// It must be called in a synctest bubble.
func newBench(t *testing.T, c jetstream.ConsumerConfig, concurrency int, handle func(jetstream.Msg)) *bench {
	t.Helper()
	c.AckPolicy = jetstream.AckExplicitPolicy
	b := &bench{t: t, log: &told{begin: time.Now()}, events: make(chan event, 1000), ended: make(chan struct{})}
	b.server = &fakeLookout{log: b.log, heads: make(map[int]uint64), missing: make(map[uint64]bool)}
	b.r = newRunner(handle, c, new(memory), concurrency)
	b.r.report = func(ev event) { b.events <- ev }
	go func() {
		defer close(b.ended)
		b.r.par.tend(b.server)
	}()
	return b
}

// open delivers nothing, but makes the pin known and the fence lifted.
func (b *bench) open() {
	b.r.notePin("p1")
	b.until(func() bool { return !b.r.par.fencedNow() })
}

func (x *dispatcher) fencedNow() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.fenced
}

func (b *bench) deliver(partition int, seq, deliveries uint64) {
	b.r.deliver(&fakeMsg{log: b.log, partition: partition, seq: seq, deliveries: deliveries, pin: "p1"})
}

// until lets the bubble's time pass until something is so, an hour at most.
func (b *bench) until(is func() bool) {
	b.t.Helper()
	for range 3_600_000 {
		if is() {
			return
		}
		<-time.After(time.Millisecond) // of the bubble's time
	}
	b.t.Fatal("it never is")
}

// close ends all, and waits for it.
func (b *bench) close() {
	b.r.close()
	<-b.ended
}

// pullOf is a pull that has ended when the channel is closed.
type pullOf <-chan struct{}

func (pullOf) stop(bool)                 {}
func (p pullOf) closed() <-chan struct{} { return p }
