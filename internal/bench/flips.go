package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// subjects are those to publish to in turn; the first is of the partition that
// stays.
func (f *flipper) subjects() ([]string, error) {
	kept, err := keyFor(f.group, 0)
	if err != nil {
		return nil, err
	}
	moved, err := keyFor(f.group, 1)
	if err != nil {
		return nil, err
	}
	out := []string{f.group.stream + "." + kept}
	for range movedRate / keptRate {
		out = append(out, f.group.stream+"."+moved)
	}
	return out, nil
}

// flips adds and drops the second member until the limit.
func (f *flipper) flips(ctx context.Context, limit flipLimit, times *flipTimes) error {
	began := time.Now()
	for n := 0; (limit.count > 0 && n < limit.count) || (limit.count == 0 && time.Since(began) < limit.time); n += 2 {
		took, err := f.flip(ctx, f.side.add, f.second)
		if err != nil {
			return fmt.Errorf("adding: %w", err)
		}
		times.added = append(times.added, took)
		took, err = f.flip(ctx, f.side.drop, f.first)
		if err != nil {
			return fmt.Errorf("dropping: %w", err)
		}
		times.dropped = append(times.dropped, took)
	}
	return nil
}

type flipFunc = func(context.Context, jetstream.JetStream, group, string) error

// flip changes the membership and returns the milliseconds from the write until
// the new owner has a message. The write is timed by the server, whose clock is
// ours.
func (f *flipper) flip(ctx context.Context, change flipFunc, owner *flipMember) (float64, error) {
	owner.moved.arm()
	f.first.kept.arm()
	if err := change(ctx, f.lab.admin, f.group, "m2"); err != nil {
		return 0, err
	}
	at, err := owner.moved.wait(ctx, flipPatience)
	if err != nil {
		return 0, err
	}
	written, err := f.written(ctx)
	if err != nil {
		return 0, err
	}
	took := milliseconds(at.Round(0).Sub(written))
	if took < 0 {
		return 0, fmt.Errorf("a message arrived %.3g ms before the change", -took)
	}
	if _, err := f.first.kept.wait(ctx, flipPatience); err != nil {
		return 0, fmt.Errorf("on the partition that stays: %w", err)
	}
	return took, f.settle(ctx, owner)
}

// written is when the configuration was written last.
func (f *flipper) written(ctx context.Context) (time.Time, error) {
	kv, err := f.lab.admin.KeyValue(ctx, pcgroups.ElasticBucket)
	if err != nil {
		return time.Time{}, err
	}
	e, err := kv.Get(ctx, pcgroups.ComposeKey(f.group.stream, f.group.name))
	if err != nil {
		return time.Time{}, err
	}
	return e.Created(), nil
}

// settle waits until traffic flows as it did before the flip.
func (f *flipper) settle(ctx context.Context, owner *flipMember) error {
	from := owner.handled.Load()
	if err := await(ctx, flipPatience, func() error {
		if n := owner.handled.Load() - from; n < 30 {
			return fmt.Errorf("%d messages since the partition moved: %w", n, errSilent)
		}
		return nil
	}); err != nil {
		return err
	}
	return pause(ctx, 20*time.Millisecond+time.Duration(f.rng.Int64N(int64(40*time.Millisecond))))
}
