package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// wantMembers checks who is in the group ORDERS/cg.
func (w *world) wantMembers(want ...string) func(*terraform.State) error {
	return func(*terraform.State) error {
		c, err := pcgroups.GetElasticConsumerGroupConfig(w.t.Context(), w.js, "ORDERS", "cg")
		if err == nil && (!slices.Equal(distinct(c.Members), want) || len(c.MemberMappings) != 0) {
			err = fmt.Errorf("members %v, mappings %v, want the members %v", c.Members, c.MemberMappings, want)
		}
		return err
	}
}

// Prevents: members that are added or dropped at the same time losing each other,
// or making the group rebalance once for each; those of others being dropped;
// one that someone dropped never coming back.
func TestAccElasticMember_parallel(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := func(members ...string) string {
		text := w.elastic(`max_members = 16`, keyed)
		for _, m := range members {
			text += fmt.Sprintf(`
resource "pcgroups_elastic_member" %[1]q {
  stream = pcgroups_elastic_group.g.stream
  group  = pcgroups_elastic_group.g.name
  member = %[1]q
}
`, m)
		}
		return text
	}
	var revision uint64
	note := func(*terraform.State) error {
		_, revision = w.stored(pcgroups.ElasticBucket, "ORDERS", "cg")
		return nil
	}
	writes := func(most uint64) func(*terraform.State) error {
		return func(*terraform.State) error {
			before := revision
			_ = note(nil)
			if n := revision - before; n > most {
				return fmt.Errorf("%d writes, want at most %d", n, most)
			}
			return nil
		}
	}
	ten := []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config(), Check: note},
			{Config: config(ten...), Check: resource.ComposeTestCheckFunc(w.wantMembers(ten...), writes(2))},
			{ // others add their own
				PreConfig: func() {
					_, err := pcgroups.AddMembers(ctx, w.js, "ORDERS", "cg", []string{"other"})
					w.must(err)
					_ = note(nil)
				},
				Config: config("m0", "m1", "n1", "n2"),
				Check:  resource.ComposeTestCheckFunc(w.wantMembers("m0", "m1", "n1", "n2", "other"), writes(4)),
			},
			{
				PreConfig: func() {
					_, err := pcgroups.DeleteMembers(ctx, w.js, "ORDERS", "cg", []string{"m1"})
					w.must(err)
				},
				Config:           config("m0", "m1", "n1", "n2"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will("pcgroups_elastic_member.m1", plancheck.ResourceActionCreate))},
				Check:            w.wantMembers("m0", "m1", "n1", "n2", "other"),
			},
			{
				Config: config("m0", "m1", "n1", "n2"), ResourceName: "pcgroups_elastic_member.m0", ImportState: true, ImportStateId: "ORDERS/cg/m0",
				ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "member",
			},
			{
				Config: config("m0", "m1", "n1", "n2"), ResourceName: "pcgroups_elastic_member.m0", ImportState: true, ImportStateId: "ORDERS/cg",
				ExpectError: says(`"ORDERS/cg" is not of the form stream/group/member`),
			},
			{Config: config(), Check: w.wantMembers("other")},
		},
	})
}

// Prevents: a member that would have nothing to do, or that can not be added,
// being reported as added; the ones beside it failing with it.
func TestCoalescer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 3, nil, -1, -1, pcgroups.WithMembers("a"))
	w.must(err)
	group := groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}
	var c coalescer
	change := func(ctx context.Context, add bool, names ...string) []error {
		errs := make([]error, len(names))
		var wg sync.WaitGroup
		for i, name := range names {
			wg.Go(func() { errs[i] = c.change(ctx, w.js, group, name, add) })
		}
		wg.Wait()
		return errs
	}
	refused := 0
	var full *noRoomError
	for _, err := range change(ctx, true, "a", "b", "c", "d", "e") {
		if errors.As(err, &full) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 2 {
		t.Errorf("%d refused, want 2: a is in the group already, and there is room for two more", refused)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := change(cancelled, false, "a")[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if errs := change(ctx, false, "zz", "zy"); errors.Join(errs...) != nil { // the write that "a" was withdrawn from is over then
		t.Errorf("dropping who is not there: %v", errs)
	}
	if got, err := pcgroups.GetElasticConsumerGroupConfig(ctx, w.js, "ORDERS", "cg"); err != nil || !got.IsInMembership("a") || len(got.Members) != 3 {
		t.Errorf("members %v, %v: the withdrawn change was made", got.Members, err)
	}
	w.must(pcgroups.SetMemberMappings(ctx, w.js, "ORDERS", "cg", []pcgroups.MemberMapping{{Member: "x", Partitions: []int{0, 1, 2}}}))
	var mapped *mappedError
	if err := change(ctx, true, "b")[0]; !errors.As(err, &mapped) {
		t.Errorf("a group with mappings: %v", err)
	}
	if err := change(ctx, false, "b")[0]; err != nil {
		t.Errorf("dropping from a group with mappings: %v", err)
	}
	w.must(pcgroups.DeleteElastic(ctx, w.js, "ORDERS", "cg"))
	if err := change(ctx, false, "b")[0]; err != nil {
		t.Errorf("dropping from a group that is gone: %v", err)
	}
	if err := change(ctx, true, "b")[0]; !errors.Is(err, pcgroups.ErrGroupNotFound) {
		t.Errorf("adding to a group that is gone: %v", err)
	}
}
