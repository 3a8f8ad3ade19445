package pcgroups_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The oracle cuts a group's name at its first dot, so that eu.1 and eu.2 are
// listed as eu, twice, and can be neither found nor deleted by it; and it fails
// in an account that has no groups yet, where there is nothing wrong.
func TestAdminList(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.addStream(jetstream.StreamConfig{Name: "ORDERS-EU", Subjects: []string{"eu.*"}})
	type list = func(stream string) ([]string, error)
	lists := map[string]list{
		pcgroups.StaticBucket: func(stream string) ([]string, error) { return pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, stream) },
		pcgroups.ElasticBucket: func(stream string) ([]string, error) {
			return pcgroups.ListElasticConsumerGroups(a.ctx(), a.js, stream)
		},
	}
	check := func(bucket, stream string, want ...string) {
		t.Helper()
		got, err := lists[bucket](stream)
		must(t, err)
		sameStrings(t, bucket+" of "+stream, got, want...)
	}
	a.nothingWritten(func() {
		for bucket := range lists {
			check(bucket, "ORDERS")
		}
	})
	for i, bucket := range []string{pcgroups.StaticBucket, pcgroups.ElasticBucket} {
		value := []string{`{"max_members":1}`, `{"max_members":1,"partitioning_filters":null}`}[i]
		for _, key := range []string{"ORDERS.eu.2", "ORDERS.b", "ORDERS.eu.1", "ORDERS.eu", "ORDERS.gone", "ORDERS.purged", "ORDERS-EU.x", "ORDER.y", "ORDERS", "o.ORDERS.z"} {
			a.put(bucket, key, value)
		}
		must(t, a.bucket(bucket).Delete(a.ctx(), "ORDERS.gone"))
		must(t, a.bucket(bucket).Purge(a.ctx(), "ORDERS.purged"))
		for _, group := range []string{"gone", "purged"} {
			_, err := pcgroups.GetStaticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", group)
			refused(t, err, pcgroups.ErrGroupNotFound)
			_, err = pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", group)
			refused(t, err, pcgroups.ErrGroupNotFound)
		}
		check(bucket, "ORDERS", "b", "eu", "eu.1", "eu.2")
		check(bucket, "ORDERS-EU", "x")
		check(bucket, "NOSUCH")
	}
	must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "eu.1"))
	check(pcgroups.StaticBucket, "ORDERS", "b", "eu", "eu.2")
	check(pcgroups.ElasticBucket, "ORDERS", "b", "eu", "eu.1", "eu.2")
}

// Whoever scales or replaces members relies on which of them run. The oracle's
// ElasticIsInMembershipAndActive says "active" of any name as soon as any member
// is, and takes a durable that nobody uses for a running member's.
func TestAdminActiveMembers(t *testing.T) {
	t.Parallel()
	t.Run("elastic", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "workers", 4, byKey, -1, -1)
		must(t, err)
		check := func(member string, in, active bool, all ...string) {
			t.Helper()
			gotIn, gotActive, err := pcgroups.ElasticIsInMembershipAndActive(a.ctx(), a.js, "ORDERS", "workers", member)
			must(t, err)
			if gotIn != in || gotActive != active {
				t.Errorf("%s: in the membership %v, active %v; want %v, %v", member, gotIn, gotActive, in, active)
			}
			got, err := pcgroups.ListElasticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
			must(t, err)
			sameStrings(t, "active members", got, all...)
		}
		check("m1", false, false)
		_, err = pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", "workers", []string{"m1", "m2"})
		must(t, err)
		check("m1", true, false)
		waits := a.member("m3", 0, strict(0)) // no member: it has no consumer
		s := a.member("m1", 0, strict(0))
		must(t, s.WaitForConsuming(a.ctx(), true))
		check("m1", true, true, "m1")
		check("m2", true, false, "m1")
		check("m3", false, false, "m1")
		check("nobody", false, false, "m1")
		must(t, pcgroups.SetMemberMappings(a.ctx(), a.js, "ORDERS", "workers", []pcgroups.MemberMapping{
			{Member: "m3", Partitions: []int{0}}, {Member: "m1", Partitions: []int{1, 2, 3}}, {Member: "m2"}}))
		must(t, waits.WaitForConsuming(a.ctx(), true))
		natstest.Eventually(t, patience, func() error {
			_, err := a.js.Consumer(a.ctx(), "ORDERS-workers", "m1")
			return err
		})
		check("m1", true, true, "m3", "m1")
		check("m2", true, false, "m3", "m1")
	})
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		a := newBareAdmin(t)
		a.static(4, "m2", "m1", "m3")
		check := func(want ...string) {
			t.Helper()
			got, err := pcgroups.ListStaticActiveMembers(a.ctx(), a.js, "ORDERS", "workers")
			must(t, err)
			sameStrings(t, "active members", got, want...)
		}
		check()
		a.pinnedDurable("ORDERS", "workers-m3", "9.>") // it ran once
		a.pinnedDurable("ORDERS", "workers-m4", "8.>") // no member
		check()
		s := a.join(pcgroups.StaticConsume, "m1", a.handler("m1", 0), strict(time.Second))
		a.waiting("ORDERS", "workers-m1", 1)
		check("m1")
		a.join(pcgroups.StaticConsume, "m2", a.handler("m2", 0), strict(time.Second))
		a.waiting("ORDERS", "workers-m2", 1)
		check("m2", "m1") // as configured
		s.Stop()
		must(t, s.Wait(a.ctx()))
		a.waiting("ORDERS", "workers-m1", 0)
		check("m2")
	})
}

// A step-down that unpins another member, or nobody, leaves the instance that
// was to give way in charge while its replacement waits.
func TestAdminStepDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		create           func(a *admin)
		consume          consumeFunc
		stream, consumer string
		stepDown         func(a *admin, member string) error
	}{
		"elastic": {func(a *admin) { a.elastic(4, "m1", "m2") }, pcgroups.ElasticConsume, "ORDERS-workers", "m1", func(a *admin, member string) error {
			return pcgroups.ElasticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", member)
		}},
		"static": {func(a *admin) { a.static(4, "m1", "m2") }, pcgroups.StaticConsume, "ORDERS", "workers-m1", func(a *admin, member string) error {
			return pcgroups.StaticMemberStepDown(a.ctx(), a.js, "ORDERS", "workers", member)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newBareAdmin(t)
			c.create(a)
			var by natstest.Recorder[string]
			instance := func(name string) func(jetstream.Msg) {
				return func(m jetstream.Msg) {
					by.Add(name)
					_ = m.Ack()
				}
			}
			var subject string // of a partition of m1
			for i, p := 0, 3; p > 1; i++ {
				subject = fmt.Sprintf("orders.k%d", i)
				var err error
				p, err = pcgroups.PartitionFor(subject, "orders.*", []int{1}, 4)
				must(t, err)
			}
			send := func() {
				t.Helper()
				_, err := a.js.Publish(a.ctx(), subject, nil)
				must(t, err)
			}
			a.join(c.consume, "m1", instance("a"), strict(30*time.Second))
			send()
			by.WaitN(t, 1, patience)
			a.join(c.consume, "m1", instance("b"), strict(30*time.Second))
			a.waiting(c.stream, c.consumer, 2)
			send()
			sameStrings(t, "handled by", by.WaitN(t, 2, patience), "a", "a")

			err := c.stepDown(a, "m2") // it never ran
			refused(t, err, pcgroups.ErrMemberNotInGroup, jetstream.ErrConsumerNotFound)
			send()
			sameStrings(t, "handled by", by.WaitN(t, 3, patience), "a", "a", "a")

			must(t, c.stepDown(a, "m1"))
			send()
			sameStrings(t, "handled by", by.WaitN(t, 4, patience), "a", "a", "a", "b")

			for _, member := range []string{"m9", "m.1", "", "a b", strings.Repeat("x", 300)} {
				refused(t, c.stepDown(a, member), pcgroups.ErrMemberNotInGroup)
			}
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "workers"))
			must(t, a.js.DeleteStream(a.ctx(), "ORDERS"))
			refused(t, c.stepDown(a, "m1"), pcgroups.ErrStreamNotFound)
		})
	}
}

// A client that reaches its streams through a domain or an API prefix must find
// everything there, also where the client library offers no call for what is
// asked.
func TestAdminThroughPrefix(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, natstest.WithConfig(func(o *server.Options) { o.JetStreamDomain = "hub" }))
	domain, err := jetstream.NewWithDomain(a.js.Conn(), "hub")
	must(t, err)
	prefix, err := jetstream.NewWithAPIPrefix(a.js.Conn(), "$JS.hub.API")
	must(t, err)
	for _, js := range []jetstream.JetStream{domain, prefix} {
		c := natstest.Capture(t, a.srv.Connect())
		a.js = js
		a.elasticGroup("cg", "m2")
		a.staticGroup("cg", "m1")
		must(t, a.do(add("m1")))
		members, _ := a.membership()
		sameStrings(t, "members", members, "m1", "m2")
		groups, err := pcgroups.ListElasticConsumerGroups(a.ctx(), js, "ORDERS")
		must(t, err)
		sameStrings(t, "groups", groups, "cg")
		must(t, pcgroups.DeleteElastic(a.ctx(), js, "ORDERS", "cg"))
		must(t, pcgroups.DeleteStatic(a.ctx(), js, "ORDERS", "cg"))
		a.nothingLeft()
		c.Sync(a.js.Conn())
		if len(c.Requests("$JS.API.STREAM.MSG.GET.KV_")) == 0 {
			t.Error("the leader of the bucket was not asked")
		}
	}
}
