package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// handoverPlan is how many groups change their membership how often.
type handoverPlan struct {
	groups  int
	flips   int // of each group
	every   time.Duration
	work    time.Duration // of a handler
	ackWait time.Duration

	maxAckPending int
	// backlog is what waits at most in a group: enough for both members to be
	// busy always.
	backlog int
}

const (
	handoverPartitions = 8
	handoverKeys       = 16
)

func handoverRows(prefix string) []string {
	return []string{prefix + "_overlaps", prefix + "_out_of_order", prefix + "_lost", prefix + "_duplicated"}
}

// ours is what plays for us: with many messages in flight all partitions at once.
func (p handoverPlan) ours() ours {
	if p.maxAckPending == 1 {
		return ours{}
	}
	return ours{options: []pcgroups.ConsumeOption{pcgroups.WithConcurrency(handoverPartitions)}}
}

// handovers counts what goes wrong when partitions change hands while their
// messages are being handled: messages lost, handled twice, out of order, or by
// two members at once.
func (r *run) handovers(ctx context.Context, prefix string, p handoverPlan) ([]Row, error) {
	mine, err := r.handoverSide(ctx, p.ours(), p)
	if err != nil {
		return nil, fmt.Errorf("ours: %w", err)
	}
	theirs, err := r.handoverSide(ctx, oracle{}, p)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	what := []string{
		fmt.Sprintf("%d membership changes in %d groups, one every %s in each; handlers of %s, MaxAckPending %d, AckWait %s; ours %d messages in %d executions, oracle %d in %d",
			p.flips*p.groups, p.groups, p.every, p.work, p.maxAckPending, p.ackWait,
			mine.Published, mine.Executions, theirs.Published, theirs.Executions),
	}
	for _, e := range mine.Examples {
		what = append(what, "ours: "+e)
	}
	row := func(name string, ours, oracle int, details ...string) Row {
		return Row{Name: name, Ours: Number(ours), Other: Number(oracle), Details: details}
	}
	names := handoverRows(prefix)
	return []Row{
		row(names[0], mine.Overlapping, theirs.Overlapping, what...),
		row(names[1], mine.OutOfOrder, theirs.OutOfOrder),
		row(names[2], mine.Lost, theirs.Lost),
		row(names[3], mine.Duplicated, theirs.Duplicated),
	}, nil
}

// handoverSide has all groups of one side at once on one server, and adds up
// what their checkers say.
func (r *run) handoverSide(ctx context.Context, s side, p handoverPlan) (checker.Verdict, error) {
	var sum checker.Verdict
	l, err := openLab()
	if err != nil {
		return sum, err
	}
	defer l.close()
	errs := make([]error, p.groups)
	var wg sync.WaitGroup
	checks := make([]*checker.Checker, p.groups)
	for i := range checks {
		checks[i] = checker.New()
		h := handoverGroup{handoverPlan: p, run: r, lab: l, side: s, check: checks[i],
			group: group{flavour: elastic, stream: fmt.Sprintf("BENCH%d", i), name: "handover", partitions: handoverPartitions, members: []string{"m1"}}}
		// They do not all change at the same moment.
		offset := p.every * time.Duration(i) / time.Duration(p.groups)
		wg.Go(func() { errs[i] = h.play(ctx, offset) })
	}
	wg.Wait()
	for i, c := range checks {
		v := c.Verdict()
		for n, e := range v.Examples {
			v.Examples[n] = fmt.Sprintf("group %d, %s", i, e)
		}
		sum = plus(sum, v)
	}
	r.say("  %s: %s", s.name(), sum)
	return sum, errors.Join(errs...)
}

// handoverGroup is one group of two members, of which the second comes and goes.
type handoverGroup struct {
	handoverPlan
	run   *run
	lab   *lab
	side  side
	group group
	check *checker.Checker
}

// play begins with one member and ends with two, so that what is left is handled
// soon.
func (h handoverGroup) play(ctx context.Context, offset time.Duration) error {
	if err := h.lab.createStream(ctx, h.group); err != nil {
		return err
	}
	if err := h.side.create(ctx, h.lab.admin, h.group); err != nil {
		return err
	}
	for _, name := range []string{"m1", "m2"} {
		i, err := join(ctx, h.lab, h.side, h.group, name, h.handler(ctx, name),
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: h.ackWait, MaxAckPending: h.maxAckPending})
		if err != nil {
			return err
		}
		defer func() { h.run.stopped(h.side, i.leave()) }()
	}
	publishing, quit := context.WithCancel(ctx)
	defer quit()
	published := make(chan error, 1)
	go func() { published <- h.publish(publishing, ctx) }()

	err := pause(ctx, offset)
	for n := 0; n < h.flips && err == nil; n++ {
		if err = pause(ctx, h.every); err != nil {
			break
		}
		change := h.side.add
		if n%2 == 1 {
			change = h.side.drop
		}
		err = change(ctx, h.lab.admin, h.group, "m2")
	}
	quit()
	if err = errors.Join(err, <-published); err != nil {
		return err
	}
	// What is not handled after this is lost.
	bounded, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	_ = h.check.WaitHandled(bounded, h.check.Verdict().Published)
	// And what is delivered again after all was handled is a duplicate.
	return pause(ctx, h.ackWait+h.work)
}

// handler works on a message and says when.
func (h handoverGroup) handler(ctx context.Context, member string) func(jetstream.Msg) {
	return func(msg jetstream.Msg) {
		var seq uint64
		if _, err := fmt.Sscan(string(msg.Data()), &seq); err != nil {
			return // never acknowledged, so it is reported as lost
		}
		end := h.check.Begin(member, msg.Subject(), seq)
		err := pause(ctx, h.work)
		// The acknowledgement lets the other member begin at once.
		end(false)
		if err == nil && msg.Ack() == nil {
			end(true)
		}
	}
}

// publish keeps the backlog full until quit ends. Only ctx cuts a publication
// short: what was announced must be there.
func (h handoverGroup) publish(quit, ctx context.Context) error {
	tick := time.NewTicker(h.work / 4)
	defer tick.Stop()
	var published atomic.Int64
	for {
		select {
		case <-quit.Done():
			return ctx.Err()
		case <-tick.C:
		}
		for handled := h.check.Verdict().Handled; int(published.Load())-handled < h.backlog; {
			n := published.Add(1)
			seq := uint64(n-1)/handoverKeys + 1
			subject := fmt.Sprintf("%s.key%d", h.group.stream, n%handoverKeys)
			if _, err := h.lab.admin.Publish(ctx, subject, fmt.Append(nil, seq)); err != nil {
				return fmt.Errorf("publishing: %w", err)
			}
			h.check.Published(subject, seq)
		}
	}
}
