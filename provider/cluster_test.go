package provider

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// newClusterWorld is a world of three servers, whose streams have three replicas.
func newClusterWorld(t *testing.T) (*world, *natstest.Cluster) {
	t.Helper()
	c := natstest.StartCluster(t, 3)
	w := &world{Server: c.Node(0), t: t, js: c.JetStream()}
	_, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Replicas: 3})
	w.must(err)
	return w, c
}

// Prevents: a plan that is not empty after an apply, or a write that is refused,
// because a follower of the bucket had not heard of it yet; a write that nobody
// else made being taken for someone else's, as its error has another code there.
func TestAccProvider_cluster(t *testing.T) {
	w, _ := newClusterWorld(t)
	group := func(members string) string {
		return w.elastic(`max_members = 16`, keyed, `members = `+members) + `
resource "pcgroups_elastic_group" "free" {
  stream      = "ORDERS"
  name        = "free"
  max_members = 16
}
resource "pcgroups_elastic_member" "m" {
  count  = 10
  stream = pcgroups_elastic_group.free.stream
  group  = pcgroups_elastic_group.free.name
  member = "m${count.index}"
}
`
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{
				Config: group(`["a"]`),
				Check: func(*terraform.State) error {
					c, err := pcgroups.GetElasticConsumerGroupConfig(t.Context(), w.js, "ORDERS", "free")
					if err == nil && (len(c.Members) != 10 || c.Revision() > 5) { // two groups, the member of one, at most two writes
						err = fmt.Errorf("members %v at revision %d", c.Members, c.Revision())
					}
					return err
				},
			},
			{Config: group(`["a", "b"]`), Check: w.wantMembers("a", "b")},
			{Config: group(`["b", "c", "d"]`), Check: w.wantMembers("b", "c", "d")},
		},
	})
}

// Prevents: changes by several runs at the same moment losing each other.
func TestCluster_conflicts(t *testing.T) {
	t.Parallel()
	w, c := newClusterWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 64, nil, -1, -1)
	w.must(err)
	group := groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}
	var wg sync.WaitGroup
	for run := range 4 { // each with a connection, and a window, of its own
		js, changes := c.JetStream(), new(coalescer)
		for m := range 5 {
			wg.Go(func() {
				if err := changes.change(ctx, js, group, fmt.Sprintf("m-%d-%d", run, m), true); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	// Whoever reads next may be answered by a follower.
	natstest.Eventually(t, timeToSettle, func() error {
		got, err := pcgroups.GetElasticConsumerGroupConfig(ctx, w.js, "ORDERS", "cg")
		if err == nil && len(got.Members) != 20 {
			err = fmt.Errorf("%d members", len(got.Members))
		}
		return err
	})
	was := membership{members: []string{"m-0-0"}}
	var stale *staleError
	if err := writeMembership(ctx, w.js, "ORDERS", "cg", &was, membership{members: []string{"x"}}); !errors.As(err, &stale) {
		t.Errorf("a write by a plan that is not true any more: %v", err)
	}
}
