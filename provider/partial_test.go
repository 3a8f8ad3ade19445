package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a group of which only half could be created being left behind, being
// in the state as if it were whole, or standing in the way of the next try; and a
// reason that the server gave being lost.
func TestAccElasticGroup_partialCreate(t *testing.T) {
	w := newWorld(t)
	whole := w.elastic(`max_members = 4`, keyed, `members = ["a"]`)
	nothing := func() {
		if text, _ := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg"); text != "" {
			t.Errorf("left behind: %s", text)
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{ // more than the server has: it refuses the stream after the key is written
				Config:      w.elastic(`max_members = 4`, keyed, `members = ["a"]`, `max_buffered_bytes = 1152921504606846976`),
				ExpectError: says(`create the work-queue stream ORDERS-cg: nats: API error: code=500 err_code=10047 description=insufficient storage resources available`),
			},
			{PreConfig: nothing, Config: whole, PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: whole, Check: w.wantMembers("a")},
			{ // a replacement of which the second half fails
				Config:      w.elastic(`max_members = 4`, keyed, `members = ["a"]`, `max_buffered_bytes = 1152921504606846976`),
				ExpectError: says(`insufficient storage resources available`),
			},
			{PreConfig: nothing, Config: whole, Check: w.wantMembers("a")},
		},
	})
}

// Prevents: the same where the request for the stream is never answered, as the
// user may not make it.
func TestAccElasticGroup_forbiddenStream(t *testing.T) {
	w := newWorld(t, natstest.WithUser("admin", "secret"), natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "secret"},
			{Username: "tf", Password: "secret", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.ORDERS-cg"}}}},
		}
	}))
	config := requires + fmt.Sprintf("provider \"pcgroups\" {\n servers = [%q]\n user = \"tf\"\n password = \"secret\"\n request_timeout = \"500ms\"\n}\n", "nats://"+w.Addr()) +
		groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`})
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{{
			Config:      config,
			ExpectError: says(`Could not create elastic consumer group ORDERS/cg: a request was not answered within the provider's request_timeout. The server says: permissions violation: Permissions Violation for Publish to "$JS.API.STREAM.CREATE.ORDERS-cg".`),
		}},
	})
	w.must(w.gone(nil))
}

// Prevents: an apply that is interrupted, or whose server dies, while a group is
// created or changed, leaving behind what the next apply can not go on from.
func TestAccElasticGroup_interruptedApply(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*module, *natstest.Proxy, *os.Process) error{
		"interrupt": func(_ *module, _ *natstest.Proxy, p *os.Process) error { return p.Signal(os.Interrupt) },
		"the server dies": func(_ *module, p *natstest.Proxy, _ *os.Process) error {
			p.Close()
			return nil
		},
	} {
		w := newWorld(t)
		p := natstest.StartProxy(t, w.URL())
		group := groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`, keyed, `members = ["a"]`})
		block := func(url string) string {
			return requires + fmt.Sprintf("provider \"pcgroups\" {\n servers = [%q]\n request_timeout = \"2s\"\n}\n", url)
		}
		m := newModule(t, block(p.URL())+group, "TF_LOG_PROVIDER=DEBUG")
		p.Delay(100 * time.Millisecond) // so that it is in the middle of it for a while
		cmd, out := m.command("apply", "-no-color", "-input=false", "-auto-approve")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		natstest.Eventually(t, timeToSettle, func() error { // the bucket is the first thing that a create makes
			_, err := w.js.KeyValue(t.Context(), pcgroups.ElasticBucket)
			return err
		})
		start := time.Now()
		w.must(stop(m, p, cmd.Process))
		err := cmd.Wait()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %v to end", name, took)
		}
		if err == nil && name != "interrupt" { // an interrupt may come too late
			t.Errorf("%s: the apply succeeded:\n%s", name, out)
		}
		m.write("main.tf", block(w.URL())+group)
		again, out2 := m.command("apply", "-no-color", "-input=false", "-auto-approve")
		if err := again.Run(); err != nil {
			text, _ := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg")
			t.Errorf("%s: the next apply: %v\n%s\nfirst:\n%s\nstored: %s", name, err, tail(out2.String()), tail(out.String()), text)
		}
		w.must(w.wantMembers("a")(nil))
	}
}

// Prevents: a group that Terraform made and changed which members built on another
// implementation can not consume from, or do so out of turn.
func TestAccElasticGroup_consumedByOracle(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	handled := make(chan string, 100)
	consume := func(member string) {
		c, err := orbit.ElasticConsume(ctx, w.js, "ORDERS", "cg", member, func(m jetstream.Msg) {
			handled <- member + " " + m.Subject()
			_ = m.Ack()
		}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 1})
		w.must(err)
		t.Cleanup(c.Stop)
	}
	config := func(members string) string {
		return w.elastic(`max_members = 8`, keyed, `force_destroy = true`, `members = `+members)
	}
	// who tells whose key it is, by the function that the plan goes by.
	who := func(key string, members ...string) string {
		p, err := pcgroups.PartitionFor("orders."+key, "orders.*", []int{1}, 8)
		w.must(err)
		for member, partitions := range pcgroups.Assignments(8, members, nil) {
			for _, has := range partitions {
				if has == p {
					return member
				}
			}
		}
		return ""
	}
	handles := func(members ...string) func(*terraform.State) error {
		return func(*terraform.State) error {
			want := make(map[string]bool)
			for k := range 16 {
				key := fmt.Sprintf("k%d", k)
				want[who(key, members...)+" orders."+key] = true
				w.publish("orders."+key, 1)
			}
			limit, cancel := context.WithTimeout(ctx, timeToSettle)
			defer cancel()
			for len(want) != 0 {
				select {
				case got := <-handled:
					if !want[got] {
						return fmt.Errorf("handled %q, which is not its turn or was handled before", got)
					}
					delete(want, got)
				case <-limit.Done():
					return errors.New("not handled: " + strings.Join(keysOf(want), ", "))
				}
			}
			return nil
		}
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config(`["a"]`), Check: func(s *terraform.State) error { consume("a"); consume("b"); return handles("a")(s) }},
			{Config: config(`["a", "b"]`), Check: handles("a", "b")},
			{Config: config(`["b"]`), Check: handles("b")},
		},
	})
}

func keysOf(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
