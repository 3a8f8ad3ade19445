package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// selfHeal measures how long a member is gone after its consumer was deleted
// while it waited for messages: until it has one that was published right after.
// A static member of ours is asked to rejoin; by default it ends with an error.
func (r *run) selfHeal(ctx context.Context, f flavour) ([]Row, error) {
	name, mine := "selfheal_elastic", ours{}
	if f == static {
		name, mine = "selfheal_static_rejoin", ours{options: []pcgroups.ConsumeOption{pcgroups.WithRejoin()}}
	}
	times, err := r.heal(ctx, mine, f, r.heals)
	if err != nil {
		return nil, fmt.Errorf("ours: %w", err)
	}
	theirs, err := r.heal(ctx, oracle{}, f, 1)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	e := estimate(strata{times}, 50)
	return []Row{{Name: name, Unit: "ms", Ours: Number(e.Value), Other: Number(theirs[0]), Details: []string{
		fmt.Sprintf("deletion of the consumer to the next message; never is not within %s", r.healWait),
		fmt.Sprintf("ours %.3g ms [%.3g, %.3g], from %.3g to %.3g, %d times", e.Value, e.Low, e.High, e.Min, e.Max, e.N),
	}}}, nil
}

// heal deletes a member's consumer again and again, until it does not come back.
// That is an infinite time.
func (r *run) heal(ctx context.Context, s side, f flavour, times int) ([]float64, error) {
	l, err := openLab()
	if err != nil {
		return nil, err
	}
	defer l.close()
	g := group{flavour: f, stream: "BENCH", name: "heal", partitions: 4, members: []string{"m1"}}
	if err := l.createStream(ctx, g); err != nil {
		return nil, err
	}
	if err := s.create(ctx, l.admin, g); err != nil {
		return nil, err
	}
	a := newAlarm()
	i, err := join(ctx, l, s, g, "m1", handler(func(jetstream.Msg) { a.message() }), jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 1,
	})
	if err != nil {
		return nil, err
	}
	defer func() { r.stopped(s, i.leave()) }()
	hear := func(most time.Duration) error {
		a.arm()
		if _, err := l.admin.Publish(ctx, g.stream+".key", nil); err != nil {
			return err
		}
		_, err := a.wait(ctx, most)
		return err
	}
	var out []float64
	for range times {
		if err := hear(patience); err != nil {
			return nil, fmt.Errorf("before the consumer was deleted: %w", err)
		}
		// A restarted static member may have begun anew with older messages.
		if err := l.waitUntilIdle(ctx, g, "m1"); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := l.admin.DeleteConsumer(ctx, g.consumerStream(), g.consumer("m1")); err != nil {
			return nil, err
		}
		switch err := hear(r.healWait); {
		case errors.Is(err, errSilent):
			return append(out, math.Inf(1)), nil
		case err != nil:
			return nil, err
		}
		out = append(out, milliseconds(time.Since(began)))
	}
	return out, nil
}
