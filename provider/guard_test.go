package provider

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// buffered publishes to ORDERS and waits until the group's stream has it all.
func (w *world) buffered(publish int, want uint64) {
	w.t.Helper()
	w.publish("orders.1", publish)
	natstest.Eventually(w.t, 10*time.Second, func() error {
		s, err := w.js.Stream(w.t.Context(), "ORDERS-cg")
		if err != nil {
			return err
		}
		if got := s.CachedInfo().State.Msgs; got != want {
			return fmt.Errorf("%d messages in the work-queue stream, want %d", got, want)
		}
		return nil
	})
}

// Prevents: a destroy that drops unprocessed messages, when it is planned (also
// by removing the block) and when messages came after the plan; the consent to
// one replacement lasting for ever.
func TestAccElasticGroup_destroyGuard(t *testing.T) {
	w := newWorld(t)
	group := func(lines ...string) string { return w.elastic(append(lines, keyed, `members = ["m1"]`)...) }
	drops := says(`Destroying elastic consumer group ORDERS/cg would drop 3 unprocessed messages. Do one of these:`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: group(`max_members = 4`)},
			{
				Config: group(`max_members = 4`), Destroy: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(meanwhile(func() error { w.buffered(3, 3); return nil }))},
				ExpectError:      drops,
			},
			{Config: w.config(""), PlanOnly: true, ExpectError: drops},
			{
				Config:   group(`max_members = 5`),
				PlanOnly: true,
				ExpectError: says(`Replacing (because of max_members) elastic consumer group ORDERS/cg would drop 3 unprocessed messages. ` +
					`The new group starts at the beginning of stream ORDERS: up to 3 messages, processed ones too, will be delivered again.`),
			},
			{
				Config:           group(`max_members = 5`, `force_destroy = true`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionReplace))},
			},
			{
				PreConfig: func() { w.buffered(0, 3) }, // prevents nothing: proves the replay that the warning speaks of
				Config:    group(`max_members = 5`),
			},
			{Config: group(`max_members = 5`), Destroy: true, ExpectError: drops},
			{
				PreConfig: func() {
					s, err := w.js.Stream(t.Context(), "ORDERS-cg")
					w.must(err)
					w.must(s.Purge(t.Context()))
					c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Name: "m1", AckPolicy: jetstream.AckExplicitPolicy})
					w.must(err)
					_, err = c.Fetch(1, jetstream.FetchMaxWait(time.Minute))
					w.must(err)
					w.waitForPull("ORDERS-cg", "m1")
				},
				Config: group(`max_members = 5`), Destroy: true,
				ExpectError: says(`would stop 1 connected member (m1).`),
			},
			{ // the consent of the provider serves groups that have no say of their own
				Config: requires + fmt.Sprintf("provider \"pcgroups\" {\n servers = [%q]\n force_destroy = true\n}\n", w.URL()) +
					groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 5`, keyed, `members = ["m1"]`}),
			},
		},
	})
}

// Prevents: a destroy that forgets how far the members of a static group are, or
// stops them; and one that is refused although nothing can be lost.
func TestAccStaticGroup_destroyGuard(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.static(`max_members = 4`, `members = ["m1"]`)
	handled := make(chan string, 10)
	join := func() pcgroups.Session {
		session, err := pcgroups.StaticConsume(ctx, w.js, "PARTS", "cg", "m1", func(m jetstream.Msg) {
			if err := m.DoubleAck(ctx); err != nil {
				t.Error(err)
			}
			handled <- m.Subject()
		}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute})
		w.must(err)
		return session
	}
	leave := func(session pcgroups.Session) {
		session.Stop()
		w.must(session.Wait(ctx))
	}
	var session pcgroups.Session
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			{ // it has consumed, and is gone
				PreConfig: func() {
					session := join()
					w.publish("parts.1", 1)
					<-handled
					leave(session)
				},
				Config: config, Destroy: true,
				ExpectError: says(`Destroying static consumer group PARTS/cg would lose the position of 1 member (m1), whose processed messages are still in the stream.`),
			},
			{
				Config: w.static(`max_members = 5`, `members = ["m1"]`), PlanOnly: true,
				ExpectError: says(`Replacing (because of max_members) static consumer group PARTS/cg would lose the position of 1 member (m1), ` +
					`whose processed messages are still in the stream. The members of the new group start anew`),
			},
			{ // its messages are gone, but it is there
				PreConfig: func() {
					s, err := w.js.Stream(ctx, "PARTS")
					w.must(err)
					w.must(s.Purge(ctx))
					session = join()
					w.waitForPull("PARTS", "cg-m1")
				},
				Config: config, Destroy: true,
				ExpectError: says(`would stop 1 connected member (m1).`),
			},
			{ // nothing can be lost any more
				PreConfig: func() { leave(session) },
				Config:    config, PlanOnly: true,
			},
		},
	})
}

func (w *world) waitForPull(stream, consumer string) {
	w.t.Helper()
	natstest.Eventually(w.t, 10*time.Second, func() error {
		c, err := w.js.Consumer(w.t.Context(), stream, consumer)
		if err == nil && c.CachedInfo().NumWaiting == 0 {
			err = fmt.Errorf("no pull is waiting at %s", consumer)
		}
		return err
	})
}

// Prevents: a change of the members stopping those who stay; a member that is
// there being overlooked by the guard, one that has left being held against the
// destroy because its consumer outlives it.
func TestAccElasticGroup_liveMember(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := w.elastic(`max_members = 4`, keyed, `members = ["m1", "m2"]`)
	handled := make(chan string, 10)
	var session pcgroups.Session
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: w.elastic(`max_members = 4`, keyed, `members = ["m1"]`)},
			{
				PreConfig: func() {
					var err error
					session, err = pcgroups.ElasticConsume(ctx, w.js, "ORDERS", "cg", "m1", func(m jetstream.Msg) {
						handled <- m.Subject()
						_ = m.Ack()
					}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute})
					w.must(err)
					w.publish("orders.1", 1)
					if got := <-handled; got != "orders.1" {
						t.Fatalf("handled %s", got)
					}
					w.buffered(0, 0)
				},
				Config: w.elastic(`max_members = 4`, keyed, `members = ["m1"]`), Destroy: true,
				ExpectError: says(`would stop 1 connected member (m1).`),
			},
			{
				Config:           config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionUpdate))},
				Check: func(*terraform.State) error {
					natstest.Eventually(t, 10*time.Second, func() error {
						if has := session.Status().Partitions; len(has) != 2 {
							return fmt.Errorf("m1 has the partitions %v", has)
						}
						return session.Err()
					})
					return nil
				},
			},
			{
				PreConfig: func() {
					session.Stop()
					w.must(session.Wait(ctx))
				},
				Config: config, PlanOnly: true,
			},
		},
	})
}
