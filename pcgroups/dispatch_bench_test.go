package pcgroups

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lightMsg is a message that costs nothing.
type lightMsg struct {
	jetstream.Msg
	subject string
	acked   func()
}

func (m *lightMsg) Subject() string { return m.subject }
func (m *lightMsg) Data() []byte    { return nil }
func (m *lightMsg) Ack() error      { m.acked(); return nil }

// What a message costs between the client and the handler, with many in flight and
// a handler that only acknowledges: bursts of 250 over 16 partitions.
func BenchmarkDispatch(b *testing.B) {
	for _, concurrency := range []int{1, 8} {
		b.Run(fmt.Sprint("concurrency=", concurrency), func(b *testing.B) { benchmarkDispatch(b, concurrency) })
	}
}

func benchmarkDispatch(b *testing.B, concurrency int) {
	const burst, partitions = 250, 16
	r := newRunner(func(m jetstream.Msg) { _ = m.Ack() }, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxAckPending: 1000,
	}, &memory{}, concurrency)
	defer r.close()
	var left atomic.Int64
	done := make(chan struct{}, 1) // a quick handler is run by who delivers
	acked := func() {
		if left.Add(-1) == 0 {
			done <- struct{}{}
		}
	}
	var messages [burst]lightMsg
	for i := range messages {
		messages[i] = lightMsg{acked: acked, subject: fmt.Sprintf("%d.ORDERS.key%d", i%partitions, i)}
	}
	r.par.log.fenced = false // as if the server had been asked
	b.ReportAllocs()
	seq := uint64(0)
	for n := b.N; n > 0; n -= burst {
		left.Store(burst)
		for i := range messages {
			seq++
			r.par.deliver(&messages[i], counts{1, seq, seq}, time.Time{})
		}
		<-done
	}
}
