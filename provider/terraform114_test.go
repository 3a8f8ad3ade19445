//go:build terraform114

package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The tests here need Terraform 1.14, see testacc-matrix. OpenTofu has neither
// actions nor list resources.

// Prevents: a query that does not find the groups that others made, or that
// writes a configuration which then changes them.
func TestAcc114_query(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "a", 4, []pcgroups.PartitioningFilter{{Filter: "orders.*"}}, -1, -1, pcgroups.WithMembers("m"))
	w.must(err)
	_, err = pcgroups.CreateElastic(ctx, w.js, "PARTS", "b", 4, nil, 0, 0)
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "c", 4, []string{"parts.*"}, nil, []pcgroups.MemberMapping{{Member: "m", Partitions: []int{3, 2, 1, 0}}})
	w.must(err)
	m := newModule(t, w.config(""))
	m.write("groups.tfquery.hcl", `
list "pcgroups_elastic_group" "orders" {
  provider         = pcgroups
  include_resource = true
  config {
    stream = "ORDERS"
  }
}
list "pcgroups_static_group" "all" {
  provider         = pcgroups
  include_resource = true
}
`)
	run := func(want string, args ...string) {
		t.Helper()
		cmd, out := m.command(args...)
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), want) {
			t.Fatalf("%v: %v, want %q in\n%s", args, err, want, out)
		}
	}
	run("PARTS/c", "query", "-no-color", "-generate-config-out=groups.tf")
	run("2 to import, 0 to add, 0 to change, 0 to destroy", "plan", "-no-color", "-input=false")
}

// Prevents: an action that a configuration can not trigger.
func TestAcc114_stepDown(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 1, nil, -1, -1, pcgroups.WithMembers("m1"))
	w.must(err)
	handled := make(chan string, 100)
	for _, instance := range []string{"a", "b"} {
		session, err := pcgroups.ElasticConsume(ctx, w.js, "ORDERS", "cg", "m1", func(m jetstream.Msg) {
			_ = m.Ack()
			handled <- instance
		}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
		w.must(err)
		t.Cleanup(session.Stop)
		w.must(session.WaitForConsuming(ctx, true))
	}
	w.publish("orders.1", 1)
	first := <-handled
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{{
			Config: w.config(`
resource "terraform_data" "deployment" {
  input = "v2"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.pcgroups_step_down.m1]
    }
  }
}
action "pcgroups_step_down" "m1" {
  config {
    stream = "ORDERS"
    group  = "cg"
    kind   = "elastic"
    member = "m1"
  }
}
`),
			Check: func(*terraform.State) error {
				w.publish("orders.1", 1)
				if second := <-handled; second == first {
					t.Errorf("instance %s is still the active one", first)
				}
				return nil
			},
		}},
	})
}
