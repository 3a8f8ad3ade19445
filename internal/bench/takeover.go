package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// takeover measures how long a member is without an active instance after its
// pinned one was stopped: from the call of Stop to the first message at the
// standby, while messages keep coming.
func (r *run) takeover(ctx context.Context) ([]Row, error) {
	times := map[string]strata{} // by flavour
	for _, block := range []struct {
		side    side
		flavour flavour
		runs    int
	}{
		{ours{}, static, r.takeovers},
		{oracle{}, static, r.oracleTakeovers},
		{oracle{}, elastic, r.oracleTakeovers},
		{ours{}, elastic, r.takeovers},
	} {
		got, err := r.takeoverTimes(ctx, block.side, block.flavour, block.runs)
		if err != nil {
			return nil, fmt.Errorf("%s, %s group: %w", block.side.name(), block.flavour, err)
		}
		times[block.side.name()] = append(times[block.side.name()], got)
		r.say("  %s, %s: median %.1f ms in %d runs", block.side.name(), block.flavour, median(got), len(got))
	}
	return []Row{timesRow("takeover_after_stop", times["ours"], times["oracle"], 50,
		fmt.Sprintf("Stop of the pinned instance to the first message at the standby, AckWait %s, half of the runs static", r.takeoverAckWait))}, nil
}

// takeoverTimes has two instances of a member take over from each other.
func (r *run) takeoverTimes(ctx context.Context, s side, f flavour, runs int) ([]float64, error) {
	l, err := openLab()
	if err != nil {
		return nil, err
	}
	defer l.close()
	g := group{flavour: f, stream: "BENCH", name: "takeover", partitions: 4, members: []string{"m1"}}
	if err := l.createStream(ctx, g); err != nil {
		return nil, err
	}
	if err := s.create(ctx, l.admin, g); err != nil {
		return nil, err
	}
	run := func() (*instance, *alarm, error) {
		a := newAlarm()
		i, err := join(ctx, l, s, g, "m1", handler(func(jetstream.Msg) { a.message() }), jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: r.takeoverAckWait, MaxAckPending: 1,
		})
		return i, a, err
	}
	active, rings, err := run()
	if err != nil {
		return nil, err
	}
	rings.arm()
	t, err := l.startTraffic(ctx, 200, g.stream+".a", g.stream+".b", g.stream+".c", g.stream+".d")
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = t.stop() }() // without traffic no message arrives, which is noticed
	if _, err := rings.wait(ctx, patience); err != nil {
		return nil, fmt.Errorf("before anything was stopped: %w", err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var times []float64
	for range runs {
		standby, rings, err := run()
		if err != nil {
			return nil, err
		}
		if err := l.waitForPulls(ctx, g, "m1", 2); err != nil {
			return nil, err
		}
		// Any time may be the moment, seen from the timers of the protocol.
		if err := pause(ctx, 200*time.Millisecond+time.Duration(rng.Int64N(int64(500*time.Millisecond)))); err != nil {
			return nil, err
		}
		rings.arm()
		began := time.Now()
		active.session.Stop()
		at, err := rings.wait(ctx, patience)
		if err != nil {
			return nil, fmt.Errorf("after Stop: %w", err)
		}
		times = append(times, milliseconds(at.Sub(began)))
		r.stopped(s, active.left())
		active = standby
	}
	r.stopped(s, active.leave())
	return times, nil
}

// timesRow is a row about times of ours and of the oracle.
func timesRow(name string, ours, oracle strata, p float64, what string) Row {
	a, b, q := estimate(ours, p), estimate(oracle, p), estimateRatio(ours, oracle, p)
	return Row{
		Name: name, Unit: "ms", Ours: Number(a.Value), Other: Number(b.Value), Ratio: &q,
		Details: []string{what,
			fmt.Sprintf("ours %.3g ms [%.3g, %.3g], from %.3g to %.3g, %d times; oracle %.4g ms [%.4g, %.4g], from %.3g to %.4g, %d times",
				a.Value, a.Low, a.High, a.Min, a.Max, a.N, b.Value, b.Low, b.High, b.Min, b.Max, b.N)},
	}
}
