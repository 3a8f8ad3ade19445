package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const (
	// All waits for something that takes milliseconds if it works at all.
	patience = 30 * time.Second
	// For the orders that are still waiting when publishing ends.
	drainPatience = 60 * time.Second
)

// story lists the steps in order.
func (d *demo) story() []step {
	return []step{
		{"Get ready", d.prepare},
		{"Declare the group with Terraform", d.create},
		{"Start the members, then the orders", d.begin},
		{"Add member m3 while orders flow", d.grow},
		{"Remove member m2 while orders flow", d.shrink},
		{"Stop the orders, then the members", d.finish},
		{"Destroy the group", d.destroy},
		{"Result", nothing}, // it follows when all has been cleaned up
	}
}

func nothing(context.Context) error { return nil }

func (d *demo) prepare(ctx context.Context) error {
	root, err := repository()
	if err != nil {
		return err
	}
	d.report.gap()
	if err := d.startServer(ctx); err != nil {
		return err
	}
	d.report.line("NATS server   version %s at %s, in this process", d.conn.ConnectedServerVersion(), d.server.URL())
	d.report.line("stream        %s, for messages on %s", stream, subjects)

	found, err := tfcli.Find(ctx, indented{d.report.out})
	if err != nil {
		return err
	}
	d.report.line("CLI           %s", found)

	began := time.Now()
	d.report.line("provider      building (takes a minute or two the first time)")
	plugins, err := buildProvider(ctx, d.report.out, root, d.work)
	if err != nil {
		return err
	}
	d.report.line("provider      built in %.1f s", time.Since(began).Seconds())
	d.cli, err = newTerraform(found, root, d.work, plugins, d.server.URL(), d.report)
	return err
}

func (d *demo) create(ctx context.Context) error {
	d.report.text(`
The file examples/quickstart/main.tf describes a consumer group on the stream,
and a variable says who its members are: two, to begin with. What follows is the
output of the command, a little shortened.`)
	if err := d.cli.apply(ctx, "m1", "m2"); err != nil {
		return err
	}
	groups, err := pcgroups.ListElasticConsumerGroups(ctx, d.js, stream)
	if err != nil {
		return err
	}
	if len(groups) != 1 {
		return fmt.Errorf("examples/quickstart should make one group on the stream %s; there are %d: %q", stream, len(groups), groups)
	}
	d.group = groups[0]
	if d.current, err = d.ownership(ctx); err != nil {
		return err
	}
	d.report.text(`
Every customer belongs to one partition, and every partition to one member:`)
	d.report.owners(d.current)
	return nil
}

func (d *demo) begin(ctx context.Context) error {
	d.report.text(fmt.Sprintf(`
Members are programs that use the Go package pcgroups. Here they are three
connections of this process. A member handles one order at a time, which takes
%d ms and a little more, so two members manage less than %d a second.
%d a second are published.`, work.Milliseconds(), 2*time.Second/work, d.Rate))
	for _, name := range []string{"m1", "m2", "m3"} {
		m, err := d.join(ctx, name)
		if err != nil {
			return err
		}
		d.members = append(d.members, m)
	}
	for _, m := range d.members {
		if !d.current.has(m.name) {
			continue
		}
		if err := m.waitForConsuming(ctx); err != nil {
			return err
		}
	}
	d.shop = startPublisher(ctx, d.js, d.Rate, d.check, d.handled, d.fail)
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := d.check.WaitHandled(bounded, 1); err != nil {
		return fmt.Errorf("no order was handled within %s: %w", patience, err)
	}
	d.report.line("m1 and m2 are at work; m3 has joined too, but is not a member yet: it waits")
	return d.watch(ctx)
}

func (d *demo) grow(ctx context.Context) error {
	d.report.text(`
The same file, applied with one more member. Nothing is stopped for it.`)
	return d.change(ctx, "m1", "m2", "m3")
}

func (d *demo) shrink(ctx context.Context) error {
	d.report.text(`
And with one member less. m2 finishes the order in its hands and lets go.`)
	return d.change(ctx, "m1", "m3")
}

// change applies another membership and watches what comes of it.
func (d *demo) change(ctx context.Context, members ...string) error {
	if err := d.cli.apply(ctx, members...); err != nil {
		return err
	}
	before := d.current
	var err error
	if d.current, err = d.ownership(ctx); err != nil {
		return err
	}
	d.report.text(`
Who owns which partition, before and after:`)
	d.report.change(before, d.current)

	moved := d.owners.seen(moves(before, d.current))
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	since, err := d.owners.wait(bounded, moved)
	if err != nil {
		return fmt.Errorf("the new owners of partitions did not begin within %s: %w", patience, err)
	}
	d.report.takeover(since, d.current.stored)
	return d.watch(ctx)
}

// watch measures throughput for a while.
func (d *demo) watch(ctx context.Context) error {
	span := d.Duration / 3
	d.report.text(fmt.Sprintf("Orders per second, counted for the next %s:", span.Round(100*time.Millisecond)))
	before, published, began := d.counts(), d.shop.count(), time.Now()
	if err := pause(ctx, span); err != nil {
		return err
	}
	d.report.throughput(throughput{
		elapsed:   time.Since(began),
		members:   d.members,
		before:    before,
		after:     d.counts(),
		published: d.shop.count() - published,
		waiting:   d.shop.waiting(),
		owners:    d.current,
	})
	return nil
}

func (d *demo) finish(ctx context.Context) error {
	d.shop.stop()
	d.report.gap()
	d.report.line("published     %d orders; %d of them are waiting to be handled", d.shop.count(), d.shop.waiting())
	bounded, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	began := time.Now()
	err := d.check.WaitHandled(bounded, d.shop.count())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.report.line("given up      after %s: %v", drainPatience, err)
	default:
		d.report.line("handled       all of them, %.1f s later", time.Since(began).Seconds())
	}
	d.report.recovered(d.members)
	if err := d.stopMembers(); err != nil {
		return err
	}
	d.report.line("stopped       m1, m2 and m3")
	// The server forgets a member's consumer some time after its last sign of
	// life, and until then the provider refuses to pull the group from under it.
	d.report.line("waiting       until the server has noticed that, a few seconds")
	return until(ctx, "the server still holds consumers of members that were stopped", func(ctx context.Context) (bool, error) {
		active, err := pcgroups.ListElasticActiveMembers(ctx, d.js, stream, d.group)
		return len(active) == 0, err
	})
}

func (d *demo) destroy(ctx context.Context) error {
	d.report.gap()
	if v := d.check.Verdict(); v.Lost > 0 {
		d.report.line("left out, as it would delete the %d orders that were not handled", v.Lost)
		return nil
	}
	if err := d.cli.destroy(ctx); err != nil {
		return err
	}
	queue := pcgroups.ComposeGroupStreamName(stream, d.group)
	_, err := pcgroups.GetElasticConsumerGroupConfig(ctx, d.js, stream, d.group)
	if err := gone("the group "+d.group, err, pcgroups.ErrGroupNotFound); err != nil {
		return err
	}
	_, err = d.js.Stream(ctx, queue)
	if err := gone("the stream "+queue, err, jetstream.ErrStreamNotFound); err != nil {
		return err
	}
	origin, err := d.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("the stream %s should be left alone by the destroy: %w", stream, err)
	}
	d.report.gap()
	d.report.line("gone          the group's configuration, key %s in bucket %s", pcgroups.ComposeKey(stream, d.group), pcgroups.ElasticBucket)
	d.report.line("gone          the group's own stream %s", queue)
	d.report.line("untouched     the stream %s with its %d orders", stream, origin.CachedInfo().State.Msgs)
	return nil
}

// gone judges the answer about something that was destroyed.
func gone(what string, err, missing error) error {
	switch {
	case errors.Is(err, missing):
		return nil
	case err == nil:
		return fmt.Errorf("%s is still there after the destroy", what)
	}
	return fmt.Errorf("looking for %s after the destroy: %w", what, err)
}
