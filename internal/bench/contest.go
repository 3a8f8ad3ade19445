package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// contender is a side with the settings with which it is measured.
type contender struct {
	side
	label         string
	maxAckPending int
	// window is how long one turn is. The shorter it is, the more alike is what
	// else the machine is doing in the turns that are compared; but a few dozen
	// messages must be handled in it.
	window time.Duration
}

// contest has contenders take turns at the same backlog.
type contest struct {
	run        *run
	lab        *lab
	group      group // without a name
	contenders []contender
	warmUp     time.Duration // before each window
	backlog    int
	ackWait    time.Duration
	// work makes the handler of one turn; nil only acknowledges.
	work func(ctx context.Context, contender int, c *counter) func(jetstream.Msg)

	turns int
}

// rounds takes all rounds, and returns what was counted, by contender. In a round
// each has its two turns abbas times.
func (c *contest) rounds(ctx context.Context, abbas int) ([][]sample, error) {
	out := make([][]sample, len(c.contenders))
	for round := range c.run.rounds {
		sums := make([]sample, len(c.contenders))
		for n := range abbas {
			if err := c.abba(ctx, round*abbas+n, sums); err != nil {
				return nil, fmt.Errorf("round %d, %w", round+1, err)
			}
		}
		for s, sum := range sums {
			out[s] = append(out[s], sum)
		}
		c.run.say("  round %d of %d:%s, first/second %.3f", round+1, c.run.rounds, c.line(sums), sums[0].rate()/sums[1].rate())
	}
	return out, nil
}

// abba has every contender take two turns, and adds what was counted to sums.
func (c *contest) abba(ctx context.Context, n int, sums []sample) error {
	for _, s := range order(len(c.contenders), n) {
		got, err := c.take(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", c.contenders[s].label, err)
		}
		sums[s] = sums[s].plus(got)
	}
	for s, sum := range sums {
		if sum.messages == 0 {
			return fmt.Errorf("%s: %w", c.contenders[s].label, errSilent)
		}
	}
	return nil
}

// line tells the rates.
func (c *contest) line(sums []sample) string {
	var parts []string
	for s, sum := range sums {
		parts = append(parts, fmt.Sprintf("  %s %.0f", c.contenders[s].label, sum.rate()))
	}
	return strings.Join(parts, "") + " msg/s"
}

// take measures one turn, with a group of its own, so that all begin alike. The
// time starts when the warm-up after the first message is over, and ends with the
// window or with the backlog.
func (c *contest) take(ctx context.Context, contender int) (got sample, err error) {
	s, g := c.contenders[contender], c.group
	c.turns++
	g.name = fmt.Sprintf("turn%d", c.turns)
	if err := s.create(ctx, c.lab.admin, g); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.remove(ctx, c.lab.admin, g)) }()
	if err := c.lab.waitForMessages(ctx, g, c.backlog); err != nil {
		return got, err
	}
	runtime.GC() // nobody pays for what came before
	count := newCounter(c.backlog)
	handle := count.handle
	if c.work != nil {
		handle = c.work(ctx, contender, count)
	}
	// In a profile the side can be told by its label.
	pprof.Do(ctx, pprof.Labels("side", s.name()), func(ctx context.Context) {
		var i *instance
		i, err = join(ctx, c.lab, s, g, "m1", handle, jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.ackWait, MaxAckPending: s.maxAckPending,
		})
		if err != nil {
			return
		}
		got, err = count.watch(ctx, i.session, c.warmUp, s.window)
		c.run.stopped(s, i.leave())
	})
	return got, err
}
