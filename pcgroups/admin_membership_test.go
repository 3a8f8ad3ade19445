package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const elasticKey = "ORDERS.cg"

// change is one membership call on the group ORDERS/cg.
type change func(ctx context.Context, a *meddled, opts ...pcgroups.WriteOption) error

func add(members ...string) change {
	return func(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
		_, err := pcgroups.AddMembers(ctx, js, "ORDERS", "cg", members, opts...)
		return err
	}
}

func drop(members ...string) change {
	return func(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
		_, err := pcgroups.DeleteMembers(ctx, js, "ORDERS", "cg", members, opts...)
		return err
	}
}

func set(members ...string) change {
	return func(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
		_, err := pcgroups.SetMembers(ctx, js, "ORDERS", "cg", members, opts...)
		return err
	}
}

func mapTo(mappings ...pcgroups.MemberMapping) change {
	return func(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
		return pcgroups.SetMemberMappings(ctx, js, "ORDERS", "cg", mappings, opts...)
	}
}

func unmap(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
	return pcgroups.DeleteMemberMappings(ctx, js, "ORDERS", "cg", opts...)
}

func clearAll(ctx context.Context, js *meddled, opts ...pcgroups.WriteOption) error {
	return pcgroups.ClearMembership(ctx, js, "ORDERS", "cg", opts...)
}

// all gives all four partitions to one member.
func all(member string) pcgroups.MemberMapping {
	return pcgroups.MemberMapping{Member: member, Partitions: []int{0, 1, 2, 3}}
}

func (a *admin) do(c change, opts ...pcgroups.WriteOption) error {
	return c(a.ctx(), &meddled{JetStream: a.js}, opts...)
}

func (a *admin) membership() (members []string, mappings []pcgroups.MemberMapping) {
	a.t.Helper()
	c, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", "cg")
	must(a.t, err)
	return c.Members, c.MemberMappings
}

// tenAtOnce adds ten members to a group, each by its own call, at the same time.
func tenAtOnce(t *testing.T, a *admin) {
	t.Helper()
	ctx := a.ctx()
	must(t, errors.Join(atOnce(10, func(i int) error {
		name := fmt.Sprintf("m%d", i)
		after, err := pcgroups.AddMembers(ctx, a.js, "ORDERS", "cg", []string{name})
		if err == nil && !strings.Contains(strings.Join(after, " "), name) {
			return fmt.Errorf("added %s and got %q", name, after)
		}
		return err
	})...))
	members, _ := a.membership()
	sameStrings(t, "members", members, "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9")
}

// Ten pods that start together all add themselves. In the oracle eight of ten
// fail, and a pod that takes no notice never consumes.
func TestAdminAddAtOnce(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	tenAtOnce(t, a)
}

// In a rolling update some come while others go. A change that is lost leaves
// partitions with a member that is gone, which nobody consumes then.
func TestAdminAddAndDropAtOnce(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg", "old0", "old1", "old2", "old3", "old4", "stays")
	ctx := a.ctx()
	must(t, errors.Join(atOnce(10, func(i int) (err error) {
		if i%2 == 0 {
			_, err = pcgroups.AddMembers(ctx, a.js, "ORDERS", "cg", []string{fmt.Sprintf("new%d", i/2)})
		} else {
			_, err = pcgroups.DeleteMembers(ctx, a.js, "ORDERS", "cg", []string{fmt.Sprintf("old%d", i/2)})
		}
		return err
	})...))
	members, _ := a.membership()
	sameStrings(t, "members", members, "new0", "new1", "new2", "new3", "new4", "stays")
}

// A call that says what the membership shall be was decided by what it was. If
// someone changed it meanwhile, writing anyway undoes that unseen: the oracle's
// SetMemberMappings and DeleteMemberMappings do. Adding and dropping say the same
// whatever the others are, and must not trouble the caller.
func TestAdminRacingWriter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change change
		before change
		other  change
		fails  bool
		after  []string
	}{
		"add":               {change: add("m2"), other: add("m3"), after: []string{"m1", "m2", "m3"}},
		"add, dropped":      {change: add("m2"), other: drop("m1"), after: []string{"m2"}},
		"add, done already": {change: add("m2"), other: add("m2"), after: []string{"m1", "m2"}},
		"drop":              {change: drop("m1"), other: add("m3"), after: []string{"m3"}},
		"drop, all gone":    {change: drop("m1"), other: clearAll},
		"set":               {change: set("m2"), other: add("m3"), fails: true, after: []string{"m1", "m3"}},
		"clear":             {change: clearAll, other: add("m3"), fails: true, after: []string{"m1", "m3"}},
		"map":               {change: mapTo(all("m2")), other: add("m3"), fails: true, after: []string{"m1", "m3"}},
		"unmap":             {change: unmap, before: mapTo(all("m1")), other: set("m4"), fails: true, after: []string{"m4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.elasticGroup("cg", "m1")
			if c.before != nil {
				must(t, a.do(c.before))
			}
			first := true
			js := &meddled{JetStream: a.js, beforeUpdate: func() {
				if first {
					first = false
					must(t, a.do(c.other))
				}
			}}
			err := c.change(a.ctx(), js)
			if c.fails {
				refused(t, err, pcgroups.ErrConflict)
				if !strings.Contains(err.Error(), "read the group again") {
					t.Errorf("no advice: %v", err)
				}
			} else {
				must(t, err)
			}
			members, mappings := a.membership()
			sameStrings(t, "members", members, c.after...)
			if len(mappings) != 0 {
				t.Errorf("mappings %v", mappings)
			}
		})
	}
}

// Adding is tried again until the caller's time is up, and then the error must
// say what kept it, not only that it took long.
func TestAdminAddGivesUp(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	n := 0
	js := &meddled{JetStream: a.js, beforeUpdate: func() {
		n++
		must(t, a.do(add(fmt.Sprintf("other%d", n))))
	}}
	refused(t, add("m1")(ctx, js), pcgroups.ErrConflict)
	if n < 3 {
		t.Errorf("gave up after %d attempts", n)
	}
}

// A change that was decided by an older state must not be made to a newer one,
// even if it is one that otherwise may always be made.
func TestAdminIfRevision(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for name, c := range map[string]change{
		"add": add("m9"), "add none": add("m1"), "drop": drop("m1"), "drop none": drop("m9"), "set": set("m9"), "set the same": set("m1", "m2"),
		"map": mapTo(all("m1")), "unmap": unmap, "clear": clearAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.elasticGroup("cg", "m1")
			old := a.revision(pcgroups.ElasticBucket, "cg")
			must(t, a.do(add("m2")))
			now := a.revision(pcgroups.ElasticBucket, "cg")
			a.nothingWritten(func() { refused(t, a.do(c, pcgroups.IfRevision(old)), pcgroups.ErrConflict) })
			must(t, a.do(c, pcgroups.IfRevision(now)))

			read, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", "cg")
			must(t, err)
			if got := a.revision(pcgroups.ElasticBucket, "cg"); read.Revision() != got {
				t.Errorf("the configuration that was read has revision %d, the key %d", read.Revision(), got)
			}
		})
	}
	t.Run("a writer after the check", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("cg", "m1")
		now := a.revision(pcgroups.ElasticBucket, "cg")
		js := &meddled{JetStream: a.js, beforeUpdate: func() { must(t, a.do(add("m2"))) }}
		refused(t, add("m3")(a.ctx(), js, pcgroups.IfRevision(now)), pcgroups.ErrConflict)
		members, _ := a.membership()
		sameStrings(t, "members", members, "m1", "m2")
	})
}

// Members and mappings exclude each other: a group that is left with both can
// not be read by anybody, and one that silently swaps them moves partitions that
// somebody has assigned by hand.
func TestAdminMembersAndMappings(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg", "m1", "m2")
	must(t, a.do(mapTo(all("m3"))))
	members, mappings := a.membership()
	sameStrings(t, "members", members)
	if len(mappings) != 1 || mappings[0].Member != "m3" {
		t.Errorf("mappings %v", mappings)
	}
	a.nothingWritten(func() {
		for name, c := range map[string]change{"add": add("m1"), "add none": add(""), "drop": drop("m3"), "drop none": drop("m9")} {
			err := a.do(c)
			refused(t, err, pcgroups.ErrInvalidConfig)
			if !strings.Contains(err.Error(), "SetMemberMappings") {
				t.Errorf("%s: no advice: %v", name, err)
			}
		}
	})
	must(t, a.do(set("m1")))
	members, mappings = a.membership()
	sameStrings(t, "members", members, "m1")
	if len(mappings) != 0 {
		t.Errorf("mappings %v", mappings)
	}
	must(t, a.do(unmap))
	must(t, a.do(mapTo(all("m1"))))
	must(t, a.do(unmap))
	must(t, a.do(add("m2")))
	must(t, a.do(mapTo(all("m1"))))
	must(t, a.do(clearAll))
	members, mappings = a.membership()
	if len(members)+len(mappings) != 0 {
		t.Errorf("cleared, but %q, %v", members, mappings)
	}
}

// What is stored decides who gets which partition. Names that are no members, or
// count twice, must not get in; the caller must be told what the group has now.
func TestAdminMembersStored(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", 4, byKey, -1, -1, pcgroups.WithMembers("m2", "", "m10", "m2"))
	must(t, err)
	for _, step := range []struct {
		do   func() ([]string, error)
		want []string
	}{
		{func() ([]string, error) {
			return pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"m3", "", "m1", "m3"})
		}, []string{"m1", "m10", "m2", "m3"}},
		{func() ([]string, error) {
			return pcgroups.DeleteMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"", "m10", "m10", "m9"})
		}, []string{"m1", "m2", "m3"}},
		{func() ([]string, error) {
			return pcgroups.SetMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"b", "", "a", "b"})
		}, []string{"a", "b"}},
		{func() ([]string, error) { return pcgroups.SetMembers(a.ctx(), a.js, "ORDERS", "cg", nil) }, nil},
	} {
		got, err := step.do()
		must(t, err)
		sameStrings(t, "returned", got, step.want...)
		members, _ := a.membership()
		sameStrings(t, "stored", members, step.want...)
	}
	a.nothingWritten(func() {
		for _, c := range []change{add(), drop(), mapTo()} {
			refused(t, a.do(c), pcgroups.ErrInvalidConfig)
		}
	})
}

// Every write makes every member look at the group again, and those of the
// oracle delete and create their consumers, whatever changed. Adding a member
// that is there must not cost a pause (the oracle: all members, every time), also
// if the list is not sorted, as the oracle stores it.
func TestAdminChangeOfNothing(t *testing.T) {
	t.Parallel()
	const head = `{"max_members":4,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}]`
	for name, c := range map[string]struct {
		stored  string
		changes map[string]change
	}{
		"members": {`,"members":["m2","m1"]}`, map[string]change{
			"add": add("m1"), "add both": add("m2", "m1"), "add nobody": add(""), "drop a stranger": drop("m3"), "drop nobody": drop(""),
			"set": set("m1", "m2"), "set in order": set("m2", "m1", "m1"), "unmap": unmap}},
		"twice the same": {`,"members":["m2","m1","m2"]}`, map[string]change{"add": add("m1"), "drop a stranger": drop("m3"), "set": set("m1", "m2"), "unmap": unmap}},
		"no lists":       {`}`, map[string]change{"add nobody": add(""), "drop": drop("m1"), "set": set(), "unmap": unmap, "clear": clearAll}},
		"empty lists":    {`,"members":[],"member_mappings":[]}`, map[string]change{"add nobody": add(""), "drop": drop("m1"), "set": set(""), "unmap": unmap, "clear": clearAll}},
		"mappings": {`,"member_mappings":[{"member":"m2","partitions":[3,2]},{"member":"m1","partitions":[0,1]},{"member":"m0","partitions":null}]}`, map[string]change{
			"map": mapTo(pcgroups.MemberMapping{Member: "m2", Partitions: []int{3, 2}}, pcgroups.MemberMapping{Member: "m1", Partitions: []int{0, 1}}, pcgroups.MemberMapping{Member: "m0", Partitions: []int{}})}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			value := head + c.stored
			revision := a.put(pcgroups.ElasticBucket, elasticKey, value)
			for what, change := range c.changes {
				a.nothingWritten(func() { must(t, a.do(change)) })
				if got, r := a.stored(pcgroups.ElasticBucket, elasticKey); got != value || r != revision {
					t.Fatalf("%s: revision %d, %s", what, r, got)
				}
			}
		})
	}
}
