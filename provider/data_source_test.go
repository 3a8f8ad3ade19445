package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func group(kind, stream, name string) knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"kind": knownvalue.StringExact(kind), "stream": knownvalue.StringExact(stream), "name": knownvalue.StringExact(name),
	})
}

// Prevents: groups that others made being invisible or shown in another form
// than the resource shows them; a group that does not exist being shown empty.
func TestAccDataSources(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const both = `
data "pcgroups_elastic_group" "g" {
  stream = "ORDERS"
  name   = "cg"
}
data "pcgroups_static_group" "g" {
  stream = "PARTS"
  name   = "cg"
}
`
	const lists = `
data "pcgroups_groups" "all" {}
data "pcgroups_groups" "orders" { stream = "ORDERS" }
data "pcgroups_groups" "static" { kind = "static" }
`
	expect := func(address, attribute string, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue("data."+address, tfjsonpath.New(attribute), want)
	}
	strs := func(in ...string) []knownvalue.Check {
		var out []knownvalue.Check
		for _, s := range in {
			out = append(out, knownvalue.StringExact(s))
		}
		return out
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{
				Config:            w.config(lists),
				ConfigStateChecks: []statecheck.StateCheck{expect("pcgroups_groups.all", "groups", knownvalue.ListSizeExact(0))},
			},
			{
				Config:      w.config(`data "pcgroups_groups" "bad" { kind = "other" }`),
				ExpectError: says(`kind value must be one of`),
			},
			{Config: w.config(both), ExpectError: says(`Could not read elastic consumer group ORDERS/cg`)},
			{
				PreConfig: func() {
					_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, 0, 1000, pcgroups.WithMembers("b", "a"))
					w.must(err)
					_, err = pcgroups.CreateElastic(ctx, w.js, "PARTS", "z", 4, nil, -1, -1)
					w.must(err)
					_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, nil, []pcgroups.MemberMapping{{Member: "x", Partitions: []int{3, 2, 1, 0}}})
					w.must(err)
				},
				Config: w.config(both + lists),
				ConfigStateChecks: []statecheck.StateCheck{
					expect("pcgroups_elastic_group.g", "max_members", knownvalue.Int64Exact(4)),
					expect("pcgroups_elastic_group.g", "max_buffered_msgs", knownvalue.Int64Exact(-1)),
					expect("pcgroups_elastic_group.g", "max_buffered_bytes", knownvalue.Int64Exact(1000)),
					expect("pcgroups_elastic_group.g", "members", knownvalue.SetExact(strs("a", "b"))),
					expect("pcgroups_elastic_group.g", "member_mappings", knownvalue.Null()),
					expect("pcgroups_elastic_group.g", "assignments", partitions(map[string][]int64{"a": {0, 1}, "b": {2, 3}})),
					expect("pcgroups_elastic_group.g", "work_queue_stream", knownvalue.StringExact("ORDERS-cg")),
					expect("pcgroups_elastic_group.g", "revision", knownvalue.Int64Exact(1)),
					expect("pcgroups_static_group.g", "members", knownvalue.Null()),
					expect("pcgroups_static_group.g", "filters", knownvalue.ListExact(nil)),
					expect("pcgroups_static_group.g", "assignments", knownvalue.MapSizeExact(1)),
					expect("pcgroups_groups.all", "groups", knownvalue.ListExact([]knownvalue.Check{
						group("elastic", "ORDERS", "cg"), group("static", "PARTS", "cg"), group("elastic", "PARTS", "z"),
					})),
					expect("pcgroups_groups.orders", "groups", knownvalue.ListExact([]knownvalue.Check{group("elastic", "ORDERS", "cg")})),
					expect("pcgroups_groups.static", "groups", knownvalue.ListExact([]knownvalue.Check{group("static", "PARTS", "cg")})),
				},
			},
		},
	})
}

// Prevents: a status that does not tell who is there and what is left to do, or
// that fails for a group that is half gone.
func TestAccDataSource_groupStatus(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 2, nil, -1, -1, pcgroups.WithMembers("m1", "m2", "m3"))
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, []string{"m1"}, nil)
	w.must(err)
	session, err := pcgroups.ElasticConsume(ctx, w.js, "ORDERS", "cg", "m1", func(m jetstream.Msg) { _ = m.Ack() },
		jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
	w.must(err)
	w.must(session.WaitForConsuming(ctx, true))
	w.waitForPull("ORDERS-cg", "m1")
	status := func(stream, kind string) string {
		return w.config(`
data "pcgroups_group_status" "s" {
  stream = "` + stream + `"
  group  = "cg"
  kind   = "` + kind + `"
}
`)
	}
	expect := func(at tfjsonpath.Path, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue("data.pcgroups_group_status.s", at, want)
	}
	member := func(name, attribute string) tfjsonpath.Path {
		return tfjsonpath.New("members").AtMapKey(name).AtMapKey(attribute)
	}
	names := func(names ...string) knownvalue.Check {
		var all []knownvalue.Check
		for _, n := range names {
			all = append(all, knownvalue.StringExact(n))
		}
		return knownvalue.ListExact(all)
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		Steps: []resource.TestStep{
			{
				Config: status("ORDERS", "elastic"),
				ConfigStateChecks: []statecheck.StateCheck{
					expect(tfjsonpath.New("active_members"), names("m1")),
					expect(tfjsonpath.New("unassigned_members"), names("m3")),
					expect(tfjsonpath.New("lag"), knownvalue.Int64Exact(0)),
					expect(tfjsonpath.New("stream_missing"), knownvalue.Bool(false)),
					expect(member("m1", "exists"), knownvalue.Bool(true)),
					expect(member("m1", "partitions"), knownvalue.ListExact([]knownvalue.Check{knownvalue.Int64Exact(0)})),
					expect(member("m1", "created"), knownvalue.NotNull()),
					expect(member("m2", "exists"), knownvalue.Bool(false)),
					expect(member("m2", "pending"), knownvalue.Null()),
				},
			},
			{
				PreConfig: func() {
					session.Stop()
					w.must(session.Wait(ctx))
					w.buffered(3, 3)
				},
				Config: status("ORDERS", "elastic"),
				ConfigStateChecks: []statecheck.StateCheck{
					expect(tfjsonpath.New("lag"), knownvalue.Int64Exact(3)),
					expect(tfjsonpath.New("buffered_msgs"), knownvalue.Int64Exact(3)),
				},
			},
			{
				PreConfig: func() { w.must(w.js.DeleteStream(ctx, "ORDERS-cg")) },
				Config:    status("ORDERS", "elastic"),
				ConfigStateChecks: []statecheck.StateCheck{
					expect(tfjsonpath.New("stream_missing"), knownvalue.Bool(true)),
					expect(tfjsonpath.New("buffered_msgs"), knownvalue.Null()),
				},
			},
			{
				Config: status("PARTS", "static"),
				ConfigStateChecks: []statecheck.StateCheck{
					expect(member("m1", "consumer"), knownvalue.StringExact("cg-m1")),
					expect(tfjsonpath.New("stream_missing"), knownvalue.Null()),
				},
			},
			{Config: status("PARTS", "elastic"), ExpectError: says(`Could not read elastic consumer group PARTS/cg`)},
		},
	})
}
