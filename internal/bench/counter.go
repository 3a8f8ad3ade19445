package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// sample is what was counted.
type sample struct {
	messages int
	took     time.Duration
	cpu      time.Duration // of the whole process
}

func (s sample) plus(o sample) sample {
	return sample{s.messages + o.messages, s.took + o.took, s.cpu + o.cpu}
}

// rate is in messages a second.
func (s sample) rate() float64 { return float64(s.messages) / s.took.Seconds() }

// cost is the processor time of a message in microseconds. Other processes on the
// machine disturb it less than the rate.
func (s sample) cost() float64 { return float64(s.cpu.Microseconds()) / float64(s.messages) }

// each computes a value of every sample.
func each(samples []sample, value func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = value(s)
	}
	return out
}

// counter counts messages.
type counter struct {
	n, failed   atomic.Int64
	all         int64
	first, last chan struct{} // closed at the first and at the last message
	ended       time.Time     // of the last, valid when that is closed
}

func newCounter(all int) *counter {
	return &counter{all: int64(all), first: make(chan struct{}), last: make(chan struct{})}
}

// handle is the shortest work there is.
func (c *counter) handle(msg jetstream.Msg) { c.settled(msg.Ack()) }

// settled counts a message that was handled, or an acknowledgement that failed.
func (c *counter) settled(err error) {
	if err != nil {
		c.failed.Add(1)
	}
	switch c.n.Add(1) {
	case 1:
		close(c.first)
	case c.all:
		c.ended = time.Now()
		close(c.last)
	}
}

// watch counts during the window.
func (c *counter) watch(ctx context.Context, s session, warmUp, window time.Duration) (sample, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-c.first:
	case <-late.C:
		return sample{}, errSilent
	case err := <-s.Done():
		return sample{}, fmt.Errorf("the session ended before the first message: %w", err)
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	if err := pause(ctx, warmUp); err != nil {
		return sample{}, err
	}
	n, cpu, began := c.n.Load(), cpuTime(), time.Now()
	over := time.NewTimer(window)
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.last:
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	m, ended := c.n.Load(), time.Now()
	cpu = cpuTime() - cpu
	select {
	case <-c.last:
		m, ended = c.all, c.ended
	default:
	}
	switch took := ended.Sub(began); {
	case c.failed.Load() > 0:
		return sample{}, fmt.Errorf("%d acknowledgements failed", c.failed.Load())
	case took <= 0:
		return sample{}, errors.New("the backlog was handled before the measuring began")
	default:
		return sample{int(m - n), took, cpu}, nil
	}
}
