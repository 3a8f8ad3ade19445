//go:build cluster

package pcgroups_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// sourcingPatience is how long what the servers did not skip may take: an unlucky
// new leader of a work-queue stream asks in vain, and again after 40 s, and that
// twice.
const sourcingPatience = 150 * time.Second

// The server that leads the work-queue stream is killed while it sources, and comes
// back, three times: the leader after that may be one whose record of its place is
// old, as it was killed itself, and skips what it should have sourced next.
//
// Prevents: a message that nobody handles and that AuditElastic does not tell of, and
// one that it tells of although it was handled; an order or exclusivity that ends
// with a leader.
func TestClusterKilledWhileSourcing(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	c := natstest.StartReleaseCluster(t, server.VERSION, 3)
	f := &clusterFixture{t: t, js: c.JetStream()}
	f.origin("ORDERS", 3, jetstream.FileStorage, false)
	f.elastic("ORDERS", "m1", "m2")
	w := f.newFlow("ORDERS")
	w.dial, w.every = c.JetStream, 40*time.Millisecond
	w.config = many(2*time.Second, 0)
	w.config.MaxAckPending = 100
	w.start(8)
	for _, m := range []string{"m1", "m1", "m2"} { // m1 has a standby
		w.member(pcgroups.ElasticConsume, m, pcgroups.WithConcurrency(4))
	}
	w.more(100)
	for round := range 3 {
		leads := f.leaderByInfo("ORDERS-workers")
		// If the origin has no leader either when the new one asks for its messages,
		// it waits for 40 s, which may happen in one round.
		for round < 2 && f.leaderByInfo("ORDERS") == leads {
			f.stepDown("STREAM.LEADER.STEPDOWN.ORDERS")
			leads = f.leaderByInfo("ORDERS-workers")
		}
		c.Kill(leads)
		killed := w.published()
		w.reachPublished(killed + 100) // the origin has a leader
		c.Restart(leads)
		begun := time.Now()
		w.told(w.published())
		t.Logf("node-%d was killed; all was told %v after it was back", leads, time.Since(begun))
	}
	w.stop()
	missing := w.told(w.published())
	v := w.check.Verdict()
	if v.Lost != missing || v.OutOfOrder > 0 || v.Overlapping > 0 {
		t.Errorf("%v %q, and %d are told to be missing", v, v.Examples, missing)
	}
	t.Logf("figure killed_while_sourcing_skipped %d (of %d, all told by the audit; %v)", missing, v.Published, v)
}

// leaderByInfo is the node that leads a stream, as it says itself.
func (f *clusterFixture) leaderByInfo(stream string) (node int) {
	f.t.Helper()
	natstest.Eventually(f.t, clusterPatience, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // without a leader nobody answers
		defer cancel()
		s, err := f.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		_, err = fmt.Sscanf(s.CachedInfo().Cluster.Leader, "node-%d", &node)
		return err
	})
	return node
}

func (w *flow) published() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.stored)
}

func (w *flow) reachPublished(n int) {
	w.f.t.Helper()
	natstest.Eventually(w.f.t, clusterPatience, func() error {
		if got := w.published(); got < n {
			return fmt.Errorf("%d of %d published", got, n)
		}
		return nil
	})
}

// told waits until each of the first n messages is either handled or told to be
// missing by the audit, never both, and returns how many are missing.
func (w *flow) told(n int) (missing int) {
	w.f.t.Helper()
	var next time.Time
	var last error
	fewest := math.MaxInt
	natstest.Eventually(w.f.t, sourcingPatience, func() error {
		if time.Now().Before(next) {
			return last
		}
		next = time.Now().Add(500 * time.Millisecond)
		w.mu.Lock()
		stored, arrivals := slices.Clone(w.stored[:n]), slices.Clone(w.arrivals)
		w.mu.Unlock()
		missing, last = w.audit(stored, arrivals, &fewest)
		return last
	})
	return missing
}

// audit compares what was handled of what is stored with what AuditElastic tells. It
// does not ask that, which costs a request for each message that waits, while there
// are fewer of them at every look.
func (w *flow) audit(stored []uint64, arrivals []pcgroups.Arrival, fewest *int) (missing int, err error) {
	handled := make(map[uint64]bool, len(arrivals))
	for _, a := range arrivals {
		handled[a.Origin] = true
	}
	unhandled := slices.DeleteFunc(slices.Clone(stored), func(seq uint64) bool { return handled[seq] })
	if n := len(unhandled); 0 < n && n < *fewest {
		*fewest = n
		return 0, fmt.Errorf("%d messages are not handled, the first is %d", n, unhandled[0])
	}
	slices.SortFunc(arrivals, func(a, b pcgroups.Arrival) int { return cmp.Compare(a.Buffered, b.Buffered) })
	told, err := pcgroups.AuditElastic(w.f.ctx(), w.f.js, w.stream, "workers", 0, slices.Max(stored), pcgroups.WithArrivals(slices.Values(arrivals)))
	if err != nil {
		return 0, err
	}
	if len(told.Unproven) > 0 || told.Waiting.Len() > 0 {
		return 0, fmt.Errorf("not all is known: %+v", told)
	}
	for _, seq := range stored {
		if handled[seq] == among(told.Missing, seq) {
			return 0, fmt.Errorf("%d is handled: %t, and the audit tells the same of it: %+v", seq, handled[seq], told)
		}
	}
	return len(unhandled), nil
}

func among(ranges []pcgroups.SequenceRange, seq uint64) bool {
	return slices.ContainsFunc(ranges, func(r pcgroups.SequenceRange) bool { return r.First <= seq && seq <= r.Last })
}
