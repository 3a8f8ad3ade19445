package provider

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// refresh is the refreshing of many groups, as Terraform does it: ten at a time.
type refresh struct {
	provider tfprotov6.ProviderServer
	states   []*tfprotov6.ImportedResource
}

// newRefresh makes n groups of each kind and their states.
func newRefresh(tb testing.TB, js jetstream.JetStream, provider tfprotov6.ProviderServer, n int) *refresh {
	tb.Helper()
	ctx := tb.Context()
	r := &refresh{provider: provider}
	fatal := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	for i := range n {
		name := fmt.Sprintf("cg-%d", i)
		_, err := pcgroups.CreateElastic(ctx, js, "ORDERS", name, 8, nil, -1, -1, pcgroups.WithMembers("a", "b"))
		fatal(err)
		_, err = pcgroups.CreateStatic(ctx, js, "PARTS", name, 4, nil, []string{"a", "b"}, nil)
		fatal(err)
		for kind, id := range map[string]string{"pcgroups_elastic_group": "ORDERS/" + name, "pcgroups_static_group": "PARTS/" + name} {
			resp, err := provider.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: id})
			fatal(err)
			for _, d := range resp.Diagnostics {
				tb.Fatal(d.Detail)
			}
			r.states = append(r.states, resp.ImportedResources...)
		}
	}
	return r
}

func (r *refresh) run(tb testing.TB) {
	tb.Helper()
	r.runFor(tb, "max_members")
}

// runFor wants that attribute in every state.
func (r *refresh) runFor(tb testing.TB, attribute string) {
	tb.Helper()
	work := make(chan *tfprotov6.ImportedResource)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for s := range work {
				read, err := r.provider.ReadResource(tb.Context(), &tfprotov6.ReadResourceRequest{
					TypeName: s.TypeName, CurrentState: s.State, CurrentIdentity: s.Identity, Private: s.Private,
				})
				if err != nil || len(read.Diagnostics) != 0 || !strings.Contains(string(read.NewState.MsgPack), attribute) {
					tb.Errorf("%s: %v, %v", s.TypeName, err, read)
				}
			}
		})
	}
	for _, s := range r.states {
		work <- s
	}
	close(work)
	wg.Wait()
}

// Prevents: a plan of many groups that takes minutes, and loads the server, as
// each group costs many requests or a connection of its own.
func TestRefresh_requests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newRefresh(t, w.js, configured(t, w), 30)
	nc := w.Connect()
	captured := natstest.Capture(t, nc)
	before := w.connections()
	r.run(t)
	if got := w.connections() - before; got != 1 {
		t.Errorf("%d connections", got)
	}
	captured.Sync(nc)
	if got, most := len(captured.Requests("")), 3*len(r.states); got > most || got == 0 {
		t.Errorf("%d requests for %d groups, want at most %d", got, len(r.states), most)
	}
}

// connections is how many there have been so far.
func (w *world) connections() uint64 {
	w.t.Helper()
	v, err := w.Raw().Varz(nil)
	w.must(err)
	return v.TotalConnections
}

// BenchmarkRefresh is the refresh of 1,000 groups in one plan.
func BenchmarkRefresh(b *testing.B) {
	s := natstest.Start(b)
	js := s.JetStream()
	for _, c := range []jetstream.StreamConfig{{Name: "ORDERS", Subjects: []string{"orders.>"}}, {Name: "PARTS", Subjects: []string{"parts.*"}}} {
		if _, err := js.CreateStream(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	r := newRefresh(b, js, configuredFor(b, s.URL()), 500)
	for b.Loop() {
		r.run(b)
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.Logf("figure refresh_1000_groups_ms %d", each.Milliseconds())
}

// Prevents: an interrupted run that waits for a server which says nothing any
// more, in whatever it was doing.
func TestPerform_interrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1)
	w.must(err)
	group := groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}
	for name, do := range map[string]func(context.Context, jetstream.JetStream) error{
		"read": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, "ORDERS", "cg")
			return err
		},
		"create": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := pcgroups.CreateElastic(ctx, js, "ORDERS", "new", 4, nil, -1, -1)
			return err
		},
		"update": func(ctx context.Context, js jetstream.JetStream) error {
			return writeMembership(ctx, js, "ORDERS", "cg", nil, membership{members: []string{"a"}})
		},
		"delete": func(ctx context.Context, js jetstream.JetStream) error {
			return pcgroups.DeleteElastic(ctx, js, "ORDERS", "cg")
		},
		"appraise": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := appraise(ctx, js, group)
			return err
		},
		"list": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := listGroups(ctx, js, "elastic", "")
			return err
		},
		"change": func(ctx context.Context, js jetstream.JetStream) error {
			return new(coalescer).change(ctx, js, group, "a", true)
		},
	} {
		proxy := natstest.StartProxy(t, w.URL())
		c := testClient(t, proxy.URL())
		_, err := c.jetStream(ctx)
		w.must(err)
		proxy.Delay(time.Hour)
		interrupted, interrupt := context.WithCancel(ctx)
		time.AfterFunc(50*time.Millisecond, interrupt)
		start := time.Now()
		var diags diag.Diagnostics
		c.perform(interrupted, group, "read", noTimeouts, &diags, do)
		if took := time.Since(start); took > time.Second+500*time.Millisecond || !diags.HasError() {
			t.Errorf("%s: it took %v and said %v", name, took, diags)
		}
	}
}
