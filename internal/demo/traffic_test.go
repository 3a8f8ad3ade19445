package demo

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started is a demo that has come as far as to its group, without Terraform.
func started(t *testing.T, members ...string) *demo {
	t.Helper()
	d := &demo{
		Options: Options{Duration: 900 * time.Millisecond, Rate: 500},
		report:  report{t.Output()},
		fail:    func(err error) { t.Errorf("failed in the background: %v", err) },
		check:   checker.New(),
		owners:  newOwners(),
		work:    t.TempDir(),
		group:   "workers",
	}
	t.Cleanup(func() {
		if err := d.cleanUp(); err != nil {
			t.Error(err)
		}
	})
	if err := d.startServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	filters := []pcgroups.PartitioningFilter{{Filter: subjects, PartitioningWildcards: []int{1}}}
	if _, err := pcgroups.CreateElastic(t.Context(), d.js, stream, d.group, 8, filters, -1, -1, pcgroups.WithMembers(members...)); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.current, err = d.ownership(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// Prevents: a demo whose traffic, members or measurements do not work, without
// the minutes that the whole of it takes.
func TestTrafficThroughAChange(t *testing.T) {
	d := started(t, "m1", "m2")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if err := d.begin(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := pcgroups.SetMembers(ctx, d.js, stream, d.group, []string{"m1", "m3"}); err != nil {
		t.Fatal(err)
	}
	after, err := d.ownership(ctx)
	if err != nil {
		t.Fatal(err)
	}
	list := d.owners.seen(moves(d.current, after))
	if len(list) == 0 {
		t.Fatal("nothing moved")
	}
	times, err := d.owners.wait(ctx, list)
	if err != nil {
		t.Fatal(err)
	}
	if len(times) != len(list) {
		t.Errorf("%d times for %d moves", len(times), len(list))
	}
	d.current = after
	if err := d.watch(ctx); err != nil {
		t.Fatal(err)
	}
	d.shop.stop()
	if err := d.check.WaitHandled(ctx, d.shop.count()); err != nil {
		t.Error(err)
	}
	if err := d.stopMembers(); err != nil {
		t.Error(err)
	}
	v := d.check.Verdict()
	if !v.OK() || v.Published == 0 || v.Published != d.shop.count() || v.Unannounced != 0 {
		t.Errorf("%+v", v)
	}
	handled := 0
	for i, n := range d.counts() {
		if n == 0 {
			t.Errorf("%s handled nothing", d.members[i].name)
		}
		handled += n
	}
	if handled != v.Handled {
		t.Errorf("members count %d, the checker %d", handled, v.Handled)
	}
}

// Prevents: a backlog, and so a wait at the end, that grows without bound when
// the members can not keep up; here there are none.
func TestPublisherHoldsBack(t *testing.T) {
	d := started(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var handled atomic.Int64
	d.shop = startPublisher(ctx, d.js, 50_000, d.check, func() int { return int(handled.Load()) }, d.fail)
	reaches := func(n int) {
		t.Helper()
		err := until(ctx, fmt.Sprintf("%d orders are not published", n), func(context.Context) (bool, error) {
			return d.shop.count() >= n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	reaches(maxBacklog)
	handled.Store(5)
	reaches(maxBacklog + 5)
	d.shop.stop()
	if n := d.shop.count(); n != maxBacklog+5 {
		t.Errorf("%d orders published, want %d", n, maxBacklog+5)
	}
}

// Prevents: a wait for new owners that does not say which partitions it is about.
func TestOwnersWaitTellsWhatIsMissing(t *testing.T) {
	o := newOwners()
	o.note(1, "m1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.wait(ctx, []move{{1, "m2", "m1"}, {2, "m1", "m2"}, {3, "m1", "m2"}})
	if err == nil || !strings.Contains(err.Error(), "partitions 2-3") {
		t.Errorf("%v", err)
	}
	if list := o.seen([]move{{1, "m1", "m2"}, {2, "m1", "m2"}}); len(list) != 1 || list[0].partition != 1 {
		t.Errorf("seen: %v", list)
	}
}

// Prevents: options that divide by zero or never end.
func TestRunRefusesOptions(t *testing.T) {
	for _, o := range []Options{{}, {Duration: time.Second}, {Rate: 1}, {Duration: -1, Rate: 1}} {
		var out strings.Builder
		if err := Run(t.Context(), &out, o); err == nil || out.Len() != 0 {
			t.Errorf("%+v: %v, %q", o, err, out.String())
		}
	}
}
