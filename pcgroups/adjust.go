package pcgroups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Two instances of a member may ask for different settings, in a rolling change
// of AckWait for one. Deleting the consumer to make it anew, as the oracle does,
// starts a war between them and leaves the loser dead. Here the second attaches
// to what is there, and changes what can be changed once it is pinned.

// adjustable are the settings that the server lets an update change, by their
// JSON names (measured on 2.15; every other one is refused).
var adjustable = []string{
	"ack_wait", "priority_timeout", "inactive_threshold", "max_ack_pending", "max_deliver",
	"backoff", "metadata", "headers_only", "max_batch", "num_replicas", "description",
}

// divergence is how a consumer differs from the one asked for.
type divergence struct {
	mendable, fixed []string // JSON names of settings, sorted
	kept            []string // could be changed, but only at the wrong moment
}

func (d divergence) none() bool { return len(d.mendable)+len(d.fixed)+len(d.kept) == 0 }

func (d divergence) err() error {
	switch {
	case d.none():
		return nil
	case len(d.kept) > 0:
		return fmt.Errorf("the member's consumer keeps its longer ack wait, as it has more than one message in flight: it is changed when the consumer is made anew (%s)",
			strings.Join(append(append(d.kept, d.mendable...), d.fixed...), ", "))
	case len(d.fixed) == 0:
		return fmt.Errorf("the member's consumer was made with another %s, to be changed when this instance is pinned", strings.Join(d.mendable, ", "))
	}
	return fmt.Errorf("the member's consumer was made with other settings, which can not be changed while it lives: %s", strings.Join(d.fixed, ", "))
}

// compare names the settings of a consumer that are not the ones asked for.
// Filters are not compared, nor what was left to the server.
func compare(want, have jetstream.ConsumerConfig) divergence {
	var d divergence
	h := settings(have)
	for name, v := range settings(want) {
		switch {
		case strings.HasPrefix(name, "filter_subject"), isZero(v), reflect.DeepEqual(v, h[name]):
		case slices.Contains(adjustable, name):
			d.mendable = append(d.mendable, name)
		default:
			d.fixed = append(d.fixed, name)
		}
	}
	if have.MaxAckPending != 1 && effectiveAckWait(want) < effectiveAckWait(have) {
		d.mendable = slices.DeleteFunc(d.mendable, func(name string) bool {
			bound := slices.Contains(boundToAckWait, name)
			if bound {
				d.kept = append(d.kept, name)
			}
			return bound
		})
	}
	slices.Sort(d.mendable)
	slices.Sort(d.fixed)
	slices.Sort(d.kept)
	return d
}

// boundToAckWait are the settings that follow from the ack wait. It is not made
// shorter while a message is in flight, as the server would deliver that again at
// once; with more than one in flight there is always one. (One that was given back
// counts too, so waiting for it would give the same messages back again and again.)
var boundToAckWait = []string{"ack_wait", "backoff", "priority_timeout", "inactive_threshold"}

func settings(c jetstream.ConsumerConfig) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(marshal(c), &m) // what was just encoded
	return m
}

// isZero tells whether a setting was left to the server.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

// adjust changes the settings of the member's consumer to ours, so far as they
// can be. A shorter ack wait would make the server deliver an unacknowledged
// message again at once, even if its handler is running.
func (b *natsBackend) adjust(ctx context.Context) (evAdjusted, jetstream.ConsumerConfig) {
	if !b.changing.enter(ctx) {
		return evAdjusted{err: ctx.Err()}, jetstream.ConsumerConfig{}
	}
	defer b.changing.leave()
	info, err := b.info(ctx)
	if err != nil {
		return evAdjusted{err: err}, jetstream.ConsumerConfig{}
	}
	have := info.Config
	want := deriveConsumer(b.fl, b.group, b.member, b.user, filtersOf(have))
	merged, w := settings(have), settings(want)
	for _, name := range compare(want, have).mendable {
		merged[name] = w[name]
	}
	var c jetstream.ConsumerConfig
	if err := json.Unmarshal(marshal(merged), &c); err != nil {
		return evAdjusted{err: err}, have
	}
	if effectiveAckWait(c) < effectiveAckWait(have) && info.NumAckPending > 0 {
		return evAdjusted{notNow: true}, have
	}
	updated, err := b.js.UpdateConsumer(ctx, b.consumerStream(), c)
	if err != nil {
		return evAdjusted{err: errors.Join(compare(want, have).err(), err)}, have
	}
	now := updated.CachedInfo().Config
	return evAdjusted{timing: timingOf(now)}, now
}

func timingOf(c jetstream.ConsumerConfig) timing {
	return timing{ackWait: effectiveAckWait(c), pinnedTTL: c.PinnedTTL, maxAckPending: c.MaxAckPending, maxDeliver: c.MaxDeliver}
}
