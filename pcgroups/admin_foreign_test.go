package pcgroups_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// groupStream is the stream of a group ORDERS/cg with four partitions, as it is
// made by whoever makes it.
func groupStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "ORDERS-cg", Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, AllowDirect: true,
		Sources: []*jetstream.StreamSource{{Name: "ORDERS", SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: "orders.*", Destination: "{{Partition(4,1)}}.orders.{{Wildcard(1)}}"},
		}}},
	}
}

func edited(edit func(*jetstream.StreamConfig)) jetstream.StreamConfig {
	c := groupStream()
	edit(&c)
	return c
}

func transformed(to string) jetstream.StreamConfig {
	return edited(func(c *jetstream.StreamConfig) { c.Sources[0].SubjectTransforms[0].Destination = to })
}

// A stream that happens to have the name of the group's is lost with everything
// in it, if the group is created over it or deleted: the oracle leaves a key
// beside it, and its DeleteElastic removes the user's stream, even for a group
// that nobody ever created.
func TestAdminForeignStream(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for name, c := range map[string]jetstream.StreamConfig{
		"a user's":              {Name: "ORDERS-cg", Subjects: []string{"mine.>"}},
		"a user's work queue":   {Name: "ORDERS-cg", Subjects: []string{"mine.>"}, Retention: jetstream.WorkQueuePolicy},
		"with subjects":         edited(func(c *jetstream.StreamConfig) { c.Subjects = []string{"mine.>"} }),
		"no work queue":         edited(func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy }),
		"interest":              edited(func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }),
		"another origin":        edited(func(c *jetstream.StreamConfig) { c.Sources[0].Name = "OTHER" }),
		"two origins":           edited(func(c *jetstream.StreamConfig) { c.Sources = append(c.Sources, &jetstream.StreamSource{Name: "OTHER"}) }),
		"a copy of the origin":  edited(func(c *jetstream.StreamConfig) { c.Sources[0].SubjectTransforms = nil }),
		"a filter of it":        edited(func(c *jetstream.StreamConfig) { c.Sources[0].SubjectTransforms[0].Destination = "" }),
		"no partition in front": transformed("orders.{{Partition(4,1)}}.{{Wildcard(1)}}"),
		"a mirror":              {Name: "ORDERS-cg", Mirror: &jetstream.StreamSource{Name: "ORDERS"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.addStream(jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}})
			a.addStream(c)
			before := a.streamConfig("ORDERS-cg")
			a.nothingWritten(func() { // no bucket either
				_, err := elastic(4, byKey, -1, -1)(a)
				refused(t, err, pcgroups.ErrNotGroupStream)
				for _, part := range []string{"ORDERS-cg", "work queue", "another group name"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not speak of %q", err, part)
					}
				}
				refused(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"), pcgroups.ErrNotGroupStream)
			})
			// The key that the oracle leaves beside such a stream changes nothing.
			a.put(pcgroups.ElasticBucket, "ORDERS.cg", `{"max_members":4,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[1]}],"max_buffered_msg":-1,"max_buffered_bytes":-1}`)
			a.nothingWritten(func() {
				_, err := elastic(4, byKey, -1, -1)(a)
				refused(t, err, pcgroups.ErrNotGroupStream)
				_, err = elastic(5, byKey, -1, -1)(a)
				refused(t, err, pcgroups.ErrGroupExists)
				refused(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"), pcgroups.ErrNotGroupStream)
			})
			if after := a.streamConfig("ORDERS-cg"); !reflect.DeepEqual(before, after) {
				t.Errorf("the stream was changed from %+v to %+v", before, after)
			}
		})
	}
}

// The stream that some elastic group left behind is not that of a group with
// other partitions: a member would consume by partitions that nothing is put in.
// But it may be deleted.
func TestAdminStreamOfOtherSettings(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.addStream(groupStream())
	for name, create := range map[string]creation{
		"partitions": elastic(5, byKey, -1, -1),
		"filters":    elastic(4, []pcgroups.PartitioningFilter{{Filter: "orders.>"}}, -1, -1),
		"more":       elastic(4, append([]pcgroups.PartitioningFilter{{Filter: "bills.>"}}, byKey...), -1, -1),
		"wildcards":  elastic(4, []pcgroups.PartitioningFilter{{Filter: "orders.*"}}, -1, -1),
		"none":       elastic(4, nil, -1, -1),
	} {
		a.nothingWritten(func() {
			_, err := create(a)
			refused(t, err, pcgroups.ErrNotGroupStream)
			if t.Failed() {
				t.Fatal(name)
			}
		})
	}
	must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
	if a.hasStream("ORDERS-cg") {
		t.Error("the stream is still there")
	}
}

// What an operator may do to a stream, and what another implementation writes
// there, must not keep the group's programs from starting: in the oracle a changed
// description is enough (its CreateStream then meets "name already in use"). And
// creating the group must not undo it.
func TestAdminEditedStream(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for name, c := range map[string]jetstream.StreamConfig{
		"metadata":         edited(func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"owner": "orders"} }),
		"description":      edited(func(c *jetstream.StreamConfig) { c.Description = "the group's queue" }),
		"limits":           edited(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxBytes, c.MaxAge = 1000, 1<<20, 3600e9 }),
		"discard":          edited(func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }),
		"no direct access": edited(func(c *jetstream.StreamConfig) { c.AllowDirect = false }),
		"memory":           edited(func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }),
		"start time":       edited(func(c *jetstream.StreamConfig) { c.Sources[0].OptStartSeq = 7 }),
		"lower case":       transformed("{{partition(4,1)}}.orders.{{wildcard(1)}}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.addStream(c)
			before := a.streamConfig("ORDERS-cg")
			_, err := elastic(4, byKey, -1, -1)(a) // adopts it
			must(t, err)
			a.nothingWritten(func() {
				_, err := elastic(4, byKey, -1, -1)(a)
				must(t, err)
			})
			if after := a.streamConfig("ORDERS-cg"); !reflect.DeepEqual(before, after) {
				t.Errorf("the stream was changed from %+v to %+v", before, after)
			}
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
			a.nothingLeft()
		})
	}
}

// Names are joined by a dash, which they may hold: group c of stream a-b and
// group b-c of stream a have one stream name between them, and members z of group
// x-y and y-z of group x one consumer. The second one would take over what the
// first has, and deleting either deletes both.
func TestAdminNameCollision(t *testing.T) {
	t.Parallel()
	t.Run("elastic", func(t *testing.T) {
		t.Parallel()
		a := newBareAdmin(t)
		a.addStream(jetstream.StreamConfig{Name: "a", Subjects: []string{"one.*"}})
		a.addStream(jetstream.StreamConfig{Name: "a-b", Subjects: []string{"two.*"}})
		create := func(stream, group string) error {
			_, err := pcgroups.CreateElastic(a.ctx(), a.js, stream, group, 4, nil, -1, -1)
			return err
		}
		must(t, create("a-b", "c"))
		a.nothingWritten(func() {
			refused(t, create("a", "b-c"), pcgroups.ErrNotGroupStream)
			refused(t, pcgroups.DeleteElastic(a.ctx(), a.js, "a", "b-c"), pcgroups.ErrNotGroupStream)
		})
		must(t, create("a", "c"))
		must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "a-b", "c"))
		must(t, create("a", "b-c"))
		if got := a.streamConfig("a-b-c").Sources[0].Name; got != "a" {
			t.Errorf("the stream sources %s", got)
		}
	})
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		create := func(group string, members []string, mappings ...pcgroups.MemberMapping) error {
			_, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", group, 4, nil, members, mappings)
			return err
		}
		all := []int{0, 1, 2, 3}
		for _, c := range []struct{ first, second func() error }{
			{func() error { return create("x", []string{"y-z"}) }, func() error { return create("x-y", []string{"m", "z"}) }},
			{func() error { return create("x-y", []string{"z"}) }, func() error { return create("x", []string{"m", "y-z"}) }},
			{func() error { return create("x-y", nil, pcgroups.MemberMapping{Member: "z", Partitions: all}) },
				func() error {
					return create("x", nil, pcgroups.MemberMapping{Member: "y-z"}, pcgroups.MemberMapping{Member: "m", Partitions: all})
				}},
		} {
			must(t, c.first())
			a.nothingWritten(func() {
				err := c.second()
				refused(t, err, pcgroups.ErrInvalidConfig)
				if !strings.Contains(err.Error(), "consumer x-y-z, which belongs to group") {
					t.Errorf("it is not told what they share: %v", err)
				}
			})
			must(t, c.first()) // it does not collide with itself
			must(t, create("x-yy", []string{"z"}))
			for _, group := range []string{"x", "x-y", "x-yy"} {
				must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", group))
			}
		}
		// On another stream the same names are other consumers.
		a.addStream(jetstream.StreamConfig{Name: "BILLS", Subjects: []string{"bills"}})
		must(t, create("x", []string{"y-z"}))
		_, err := pcgroups.CreateStatic(a.ctx(), a.js, "BILLS", "x-y", 4, nil, []string{"z"}, nil)
		must(t, err)
	})
}
