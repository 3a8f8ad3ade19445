package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// outcome is what became of a message.
type outcome string

const (
	done   outcome = "done"
	failed outcome = "failed" // and comes again
	poison outcome = "poison" // and was given up
)

// metrics is what is worth an alert: no message done although there are some,
// anything poison, many faults, partitions nobody has.
type metrics struct {
	registry   *prometheus.Registry
	messages   *prometheus.CounterVec
	seconds    prometheus.Histogram
	partitions prometheus.Gauge
	pinned     prometheus.Gauge
	moves      *prometheus.CounterVec
	faults     prometheus.Counter
}

func newMetrics() *metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := promauto.With(registry)
	m := &metrics{
		registry:   registry,
		messages:   f.NewCounterVec(prometheus.CounterOpts{Name: "worker_messages_total", Help: "Messages handled, by what became of them."}, []string{"outcome"}),
		seconds:    f.NewHistogram(prometheus.HistogramOpts{Name: "worker_message_seconds", Help: "How long a message took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}),
		partitions: f.NewGauge(prometheus.GaugeOpts{Name: "worker_partitions", Help: "Partitions of the member, also while this instance is its standby."}),
		pinned:     f.NewGauge(prometheus.GaugeOpts{Name: "worker_pinned", Help: "1 while this instance is the active one of its member."}),
		moves:      f.NewCounterVec(prometheus.CounterOpts{Name: "worker_assignments_total", Help: "Times that partitions were assigned or revoked."}, []string{"what"}),
		faults:     f.NewCounter(prometheus.CounterOpts{Name: "worker_recovered_faults_total", Help: "Faults that were got over."}),
	}
	for _, o := range []outcome{done, failed, poison} {
		m.messages.WithLabelValues(string(o)) // there from the start, as 0
	}
	return m
}

// measured counts and times what a handler does.
func (m *metrics) measured(handle func(context.Context, *pcgroups.Msg) (outcome, error)) func(jetstream.Msg) {
	return pcgroups.HandlerFunc(func(ctx context.Context, msg *pcgroups.Msg) error {
		start := time.Now()
		what, err := handle(ctx, msg)
		m.seconds.Observe(time.Since(start).Seconds())
		m.messages.WithLabelValues(string(what)).Inc()
		return err
	})
}

// events follows the session.
func (m *metrics) events() pcgroups.Events {
	return pcgroups.Events{
		PartitionsAssigned: func(partitions []int) {
			m.partitions.Set(float64(len(partitions)))
			m.moves.WithLabelValues("assigned").Inc()
		},
		PartitionsRevoked: func([]int) {
			m.partitions.Set(0)
			m.moves.WithLabelValues("revoked").Inc()
		},
		Pinned:    func(string) { m.pinned.Set(1) },
		Unpinned:  func() { m.pinned.Set(0) },
		Recovered: func(error) { m.faults.Inc() },
		Ended:     func(error) { m.pinned.Set(0) },
	}
}
