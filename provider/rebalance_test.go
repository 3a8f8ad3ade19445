package provider

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// timeToSettle is long enough for everything to be handled under load too.
const timeToSettle = 30 * time.Second

// traffic publishes to orders.<key> until it is stopped, and returns how many
// messages there were.
func (w *world) traffic(check *checker.Checker) (stop func() int) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var n int
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for seq := uint64(1); ctx.Err() == nil; seq++ {
			for k := range 16 {
				key := fmt.Sprintf("k%d", k)
				if _, err := w.js.Publish(w.t.Context(), "orders."+key, strconv.AppendUint(nil, seq, 10)); err != nil {
					w.t.Error(err)
					return
				}
				check.Published(key, seq)
				n++
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() int {
		cancel()
		wg.Wait()
		return n
	}
}

// consume runs a member of ORDERS/cg that reports to the checker.
func (w *world) consume(check *checker.Checker, member string) {
	w.t.Helper()
	session, err := pcgroups.ElasticConsume(w.t.Context(), w.js, "ORDERS", "cg", member, func(m jetstream.Msg) {
		seq, err := strconv.ParseUint(string(m.Data()), 10, 64)
		if err != nil {
			w.t.Error(err)
		}
		end := check.Begin(member, strings.TrimPrefix(m.Subject(), "orders."), seq)
		end(false)
		end(m.Ack() == nil)
	}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: 5 * time.Second})
	w.must(err)
	w.t.Cleanup(session.Stop)
}

// Prevents: a membership change by Terraform, in whichever way, that loses,
// repeats or reorders messages of members that are at work.
func TestAccElasticGroup_rebalanceUnderTraffic(t *testing.T) {
	w := newWorld(t)
	check := checker.New()
	group := func(lines ...string) string {
		return w.elastic(append(lines, `max_members = 8`, keyed, `force_destroy = true`)...)
	}
	var stop func() int
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{Config: group(`members = ["a", "b"]`)},
			{
				PreConfig: func() {
					for _, member := range []string{"a", "b", "c"} {
						w.consume(check, member)
					}
					stop = w.traffic(check)
				},
				Config: group(`members = ["a", "b", "c"]`),
			},
			{Config: group(`member_mappings = { a = [7, 6, 5], c = [0, 1, 2, 3, 4] }`)},
			{Config: group(`members = ["b"]`)},
			{
				Config: group() + membershipBlock(`members = ["a", "b", "c"]`, `depends_on = [pcgroups_elastic_group.g]`),
			},
			{
				PreConfig: func() {
					n := stop()
					ctx, cancel := context.WithTimeout(t.Context(), timeToSettle)
					defer cancel()
					if err := check.WaitHandled(ctx, n); err != nil {
						t.Error(err)
					}
					if v := check.Verdict(); !v.OK() || v.Published < 100 {
						t.Errorf("%v", v)
					}
				},
				Config: group() + membershipBlock(`members = ["a", "b", "c"]`, `depends_on = [pcgroups_elastic_group.g]`),
			},
		},
	})
}
