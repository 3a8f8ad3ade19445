package pcgroups

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Prevents: a message that comes at its last delivery while a session stops
// handled before earlier ones of its partition, which were given back.
func TestStopKeepsTheOrderOfLastDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order sequence
		first := make(chan struct{})
		b := newBench(t, jetstream.ConsumerConfig{AckWait: time.Second, MaxAckPending: 100, MaxDeliver: 2}, 1, func(m jetstream.Msg) {
			if order.add(m) == 1 {
				<-first
			}
			_ = m.Ack()
		})
		b.open()
		b.deliver(0, 1, 1)
		b.deliver(0, 2, 1)
		b.deliver(1, 4, 1)
		synctest.Wait()
		b.r.shut(intakeGiveBack)
		stopped, over := make(chan struct{}), make(chan *delivery)
		go func() { over <- b.r.waitOver(stopped, true) }()
		b.r.withdrawn()
		b.deliver(0, 3, 2)
		close(first)
		synctest.Wait()
		if got, back := order.String(), b.log.of("nak", 0); got != "[1]" || len(back) > 0 {
			t.Fatalf("handled %s and given back %v before the pull has ended", got, back)
		}
		close(stopped)
		if late := <-over; late != nil {
			t.Fatal("a handler is late")
		}
		if got := order.String(); got != "[1 2 3]" {
			t.Errorf("handled %s", got)
		}
		if back := b.log.of("nak", 0); len(back) != 1 || back[0].seq != 4 {
			t.Errorf("given back: %v", back)
		}
		b.close()
	})
}

// Prevents: a message at its last delivery handled at Stop before an earlier one
// that comes again elsewhere; and a Stop that waits for that one for ever, or
// leaves a message that nobody else gets.
func TestStopWaitsForEarlierOnesElsewhere(t *testing.T) {
	const wait = 2 * time.Second
	for _, tt := range []struct {
		name    string
		settled bool // elsewhere, after half an ack wait
		most    time.Duration
	}{
		{"settled elsewhere", true, wait * 9 / 10},
		{"never settled", false, wait * 3 / 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order sequence
				b := newBench(t, jetstream.ConsumerConfig{AckWait: wait, MaxAckPending: 100, MaxDeliver: 2}, 1, func(m jetstream.Msg) {
					if order.add(m) == 1 {
						_ = m.Nak()
						return
					}
					_ = m.Ack()
				})
				b.open()
				b.server.set(func() { b.server.inFlight, b.server.delivered = 2, 2 })
				b.deliver(0, 1, 1)
				b.deliver(0, 2, 2)
				synctest.Wait()
				b.r.shut(intakeGiveBack)
				stopped := make(chan struct{})
				close(stopped)
				begin := time.Now()
				timer := time.AfterFunc(wait/2, func() {
					if got := order.String(); got != "[1]" {
						t.Errorf("handled %s while the first comes again elsewhere", got)
					}
					b.server.set(func() { b.server.missing[1] = tt.settled })
				})
				defer timer.Stop()
				if late := b.r.waitOver(stopped, true); late != nil {
					t.Fatal("a handler is late")
				}
				if got, d := order.String(), time.Since(begin); got != "[1 2]" || d < wait/2 || d > tt.most {
					t.Errorf("handled %s, over after %v", got, d)
				}
				b.close()
			})
		})
	}
}

// sequence is what was handled, in order.
type sequence struct {
	mu   sync.Mutex
	list []uint64
}

func (s *sequence) add(m jetstream.Msg) uint64 {
	_, seq := replyInfo(m.Reply())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, seq)
	return seq
}

func (s *sequence) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

func (s *sequence) ascending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.IsSorted(s.list)
}

func (s *sequence) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(slices.Clone(s.list))
}
