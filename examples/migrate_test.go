//go:build unix

package examples

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a migration that takes more than the import path.
func TestMigrate_onlyTheImportChanges(t *testing.T) {
	const folder = "migrate-from-orbit/"
	before, err := os.ReadFile(folder + "before/main.go")
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(folder + "after/main.go")
	if err != nil {
		t.Fatal(err)
	}
	const theirs, ours = `"github.com/synadia-io/orbit.go/pcgroups"`, `"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"`
	if strings.Count(string(before), theirs) != 1 || strings.Replace(string(before), theirs, ours, 1) != string(after) {
		t.Error("after/main.go is not before/main.go with another import path")
	}
}

// Prevents: a fleet that can not be changed over one program at a time: the old
// and the new program lose, repeat or reorder messages of a group they share.
func TestMigrate_sideBySide(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	f := newTraffic(t, s, "orders", "%d")
	ctx := t.Context()
	if _, err := f.js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := pcgroups.CreateElastic(ctx, f.js, "ORDERS", "billing", 4, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1", "m2")); err != nil {
		t.Fatal(err)
	}
	run := func(name, member string) *running { return start(t, []string{"NATS_URL=" + s.URL()}, name, member) }
	var all []*running
	handled := func() {
		t.Helper()
		f.publish(3)
		f.handled(all...)
		// The last acknowledgement of a program that is about to end has arrived.
		natstest.Eventually(t, patience, func() error {
			queue, err := f.js.Stream(ctx, pcgroups.ComposeGroupStreamName("ORDERS", "billing"))
			if err != nil {
				return err
			}
			if n := queue.CachedInfo().State.Msgs; n != 0 {
				return fmt.Errorf("%d messages are not acknowledged", n)
			}
			return nil
		})
	}

	old1, old2 := run("before", "m1"), run("before", "m2")
	all = append(all, old1, old2)
	handled()
	// m1 is changed over while m2 is not, as with a rolling restart.
	old1.end()
	new1 := run("after", "m1")
	all = append(all, new1)
	handled()
	old2.end()
	new2 := run("improved", "m2")
	all = append(all, new2)
	handled()
	for _, p := range all {
		if p.out.Len() == 0 {
			t.Errorf("%v handled nothing", p.cmd.Args)
		}
	}
	// And back again.
	new1.end()
	old1 = run("before", "m1")
	all = append(all, old1)
	handled()
	old1.end()
	new2.end()
}
