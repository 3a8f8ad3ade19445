package pcgroups_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// A deletion that was interrupted is repeated, and one of a group whose stream is
// gone already is wanted all the same: if either fails, as in the oracle, what
// the group has left can not be removed by its own library.
func TestAdminDeleteTwice(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	deleteBoth := func(a *admin) {
		a.t.Helper()
		must(a.t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		must(a.t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
		for _, bucket := range []string{pcgroups.StaticBucket, pcgroups.ElasticBucket} {
			if a.revision(bucket, "cg") != 0 {
				a.t.Errorf("%s still has the group", bucket)
			}
		}
		if a.hasStream("ORDERS-cg") {
			a.t.Error("the work-queue stream is still there")
		}
	}
	lose := func(stream string) func(*admin) {
		return func(a *admin) { must(a.t, a.js.DeleteStream(a.ctx(), stream)) }
	}
	for name, before := range map[string]func(*admin){
		"all there":       func(*admin) {},
		"origin gone":     lose("ORDERS"),
		"work queue gone": lose("ORDERS-cg"),
		"all streams gone": func(a *admin) {
			lose("ORDERS")(a)
			lose("ORDERS-cg")(a)
		},
		"keys gone": func(a *admin) {
			must(a.t, a.bucket(pcgroups.ElasticBucket).Delete(a.ctx(), "ORDERS.cg"))
			must(a.t, a.bucket(pcgroups.StaticBucket).Purge(a.ctx(), "ORDERS.cg"))
		},
		"buckets gone": func(a *admin) {
			must(a.t, a.js.DeleteKeyValue(a.ctx(), pcgroups.ElasticBucket))
			must(a.t, a.js.DeleteKeyValue(a.ctx(), pcgroups.StaticBucket))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.elasticGroup("cg", "m1")
			a.staticGroup("cg", "m1")
			a.pinnedDurable("ORDERS", "cg-m1", "0.>")
			before(a)
			deleteBoth(a)
			a.nothingWritten(func() { deleteBoth(a) })
			if a.hasStream("ORDERS") && name != "buckets gone" {
				sameStrings(t, "consumers", a.consumers("ORDERS"))
			}
		})
	}
	t.Run("never there", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.nothingWritten(func() { deleteBoth(a) })
	})
}

// The oracle deletes every consumer whose name begins like the group's: those of
// the group cg-eu with cg, and whatever a user has called cg-something.
func TestAdminDeleteStaticIsExact(t *testing.T) {
	t.Parallel()
	// prepare makes the group cg beside much that looks like it.
	prepare := func(t *testing.T) *admin {
		a := newAdmin(t)
		a.staticGroup("cg", "m1", "m2", "mine")
		a.staticGroup("cg-eu", "m1")
		a.staticGroup("c", "g_m1")
		a.put(pcgroups.StaticBucket, "ORDERS.cg-broken", "no JSON")
		a.put(pcgroups.StaticBucket, "ORDERS.cg-old", `{"max-members":1,"member-mappings":[{"member":"m1","partitions":[0]}]}`)
		for i, name := range []string{"cg-m1", "cg-m2", "cg-eu-m1", "c-g_m1", "cg-broken-m1", "cg-old-m1", "cgm1"} {
			a.pinnedDurable("ORDERS", name, string(rune('0'+i))+".>")
		}
		a.durable("ORDERS", jetstream.ConsumerConfig{Durable: "cg-x"})
		a.durable("ORDERS", jetstream.ConsumerConfig{Durable: "cg-mine"}) // no member made that
		a.durable("ORDERS", jetstream.ConsumerConfig{Durable: "cg-y", PriorityGroups: []string{"mine"}, PriorityPolicy: jetstream.PriorityPolicyOverflow})
		a.durable("ORDERS", jetstream.ConsumerConfig{Name: "cg-fleeting", InactiveThreshold: 3600e9,
			PriorityGroups: []string{pcgroups.PriorityGroup}, PriorityPolicy: jetstream.PriorityPolicyPinned})
		return a
	}
	kept := []string{"c-g_m1", "cg-broken-m1", "cg-eu-m1", "cg-fleeting", "cg-mine", "cg-old-m1", "cg-x", "cg-y", "cgm1"}
	t.Run("by its members", func(t *testing.T) {
		t.Parallel()
		a := prepare(t)
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		sameStrings(t, "consumers", a.consumers("ORDERS"), kept...)
	})
	t.Run("without a key", func(t *testing.T) {
		t.Parallel()
		a := prepare(t)
		must(t, a.bucket(pcgroups.StaticBucket).Delete(a.ctx(), "ORDERS.cg"))
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		sameStrings(t, "consumers", a.consumers("ORDERS"), kept...)
	})
	t.Run("without a key that can be read", func(t *testing.T) {
		t.Parallel()
		a := prepare(t)
		a.put(pcgroups.StaticBucket, "ORDERS.cg", "no JSON")
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		sameStrings(t, "consumers", a.consumers("ORDERS"), kept...)
	})
	t.Run("the longer name", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.staticGroup("x", "y-z")
		a.pinnedDurable("ORDERS", "x-y-z", "0.>")
		a.pinnedDurable("ORDERS", "x-y-left", "1.>")
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "x-y"))
		sameStrings(t, "consumers", a.consumers("ORDERS"), "x-y-z")
	})
	t.Run("by its mappings", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := static(2, nil, nil, []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0}}, {Member: "m2", Partitions: []int{1}}})(a)
		must(t, err)
		for i, name := range []string{"cg-m1", "cg-m2", "cg-m3"} {
			a.pinnedDurable("ORDERS", name, string(rune('0'+i))+".>")
		}
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		sameStrings(t, "consumers", a.consumers("ORDERS"), "cg-m3")
	})
}

// One consumer that can not be deleted now must not keep the others alive, nor
// may it be left for ever: the deletion tells which one, and can be repeated.
func TestAdminDeleteStaticGoesOn(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.staticGroup("cg", "m1", "m2", "m3")
	for i, name := range []string{"cg-m1", "cg-m2", "cg-m3"} {
		a.pinnedDurable("ORDERS", name, string(rune('0'+i))+".>")
	}
	broken := errors.New("it would not go")
	js := &meddled{JetStream: a.js, deleteConsumer: func(ctx context.Context, stream, consumer string) error {
		if consumer == "cg-m2" {
			return broken
		}
		return a.js.DeleteConsumer(ctx, stream, consumer)
	}}
	for range 2 {
		err := pcgroups.DeleteStatic(a.ctx(), js, "ORDERS", "cg")
		refused(t, err, broken)
		if !strings.Contains(err.Error(), "cg-m2 of ORDERS") || strings.Contains(err.Error(), "cg-m3") {
			t.Errorf("got %v", err)
		}
		sameStrings(t, "consumers", a.consumers("ORDERS"), "cg-m2")
	}
	must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
	sameStrings(t, "consumers", a.consumers("ORDERS"))
}

// A plan that was made for one configuration must not delete another one: its
// new members would end, and their messages be thrown away with the stream.
func TestAdminDeleteIfRevision(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	a.staticGroup("cg", "m1")
	a.pinnedDurable("ORDERS", "cg-m1", "0.>")
	before := a.revision(pcgroups.ElasticBucket, "cg")
	_, err := pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"m1"})
	must(t, err)
	static := a.revision(pcgroups.StaticBucket, "cg")
	refused(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg", pcgroups.IfRevision(before)), pcgroups.ErrConflict)
	refused(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg", pcgroups.IfRevision(static+1)), pcgroups.ErrConflict)
	if !a.hasStream("ORDERS-cg") || a.revision(pcgroups.ElasticBucket, "cg") == 0 || a.revision(pcgroups.StaticBucket, "cg") != static {
		t.Error("a refused deletion deleted something")
	}
	sameStrings(t, "consumers", a.consumers("ORDERS"), "cg-m1")
	must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg", pcgroups.IfRevision(a.revision(pcgroups.ElasticBucket, "cg"))))
	must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg", pcgroups.IfRevision(static)))
	a.nothingLeft()
	sameStrings(t, "consumers", a.consumers("ORDERS"))
}
