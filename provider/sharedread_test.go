package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Prevents: a refresh of many members of one group that asks the server for the
// same configuration again for each.
func TestRefresh_members(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 300
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("m%03d", i)
	}
	_, err := pcgroups.CreateElastic(t.Context(), w.js, "ORDERS", "cg", n, nil, -1, -1, pcgroups.WithMembers(names...))
	w.must(err)
	r := &refresh{provider: configured(t, w)}
	for _, name := range names {
		resp, err := r.provider.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "pcgroups_elastic_member", ID: "ORDERS/cg/" + name})
		noProblems(t, resp.Diagnostics, err)
		r.states = append(r.states, resp.ImportedResources...)
	}
	nc := w.Connect()
	captured := natstest.Capture(t, nc)
	start := time.Now()
	r.runFor(t, "member")
	reads := int(time.Since(start)/sharingWindow) + 1
	captured.Sync(nc)
	var requests []string // the server itself makes some too, to source the group's stream
	for _, q := range captured.Requests("") {
		if strings.HasSuffix(q.Subject, ".KV_"+pcgroups.ElasticBucket) {
			requests = append(requests, q.Subject)
		}
	}
	if len(requests) == 0 || len(requests) > 2*reads {
		t.Errorf("%d requests for %d members, want at most %d", len(requests), n, 2*reads)
	}
}

// Prevents: a member that was just added or dropped here being read as it was
// before, a failure outliving its cause, and one caller that gives up taking the
// answer from the others.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	proxy := natstest.StartProxy(t, w.URL())
	c := testClient(t, proxy.URL())
	js, err := c.jetStream(ctx)
	w.must(err)
	group := groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}
	if _, err := c.reads.get(ctx, js, group); !errors.Is(err, pcgroups.ErrGroupNotFound) {
		t.Fatalf("before it exists: %v", err)
	}
	_, err = pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 64, nil, -1, -1)
	w.must(err)
	first, err := c.reads.get(ctx, js, group)
	if err != nil {
		t.Fatalf("the failure was kept: %v", err)
	}
	if again, err := c.reads.get(ctx, js, group); err != nil || again != first && time.Since(start(c, group)) < sharingWindow/2 {
		t.Errorf("read again: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 8 { // members that come and go beside others that are read
		name := fmt.Sprintf("m%d", i)
		wg.Go(func() {
			for _, add := range []bool{true, false, true} {
				var diags diag.Diagnostics
				c.perform(ctx, group, "update", noTimeouts, &diags, func(ctx context.Context, js jetstream.JetStream) error {
					return c.coalescer.change(ctx, js, group, name, add)
				})
				got, err := c.reads.get(ctx, js, group)
				if diags.HasError() || err != nil || slices.Contains(got.Members, name) != add {
					t.Errorf("%s: %v, %v, members %v after add = %v", name, diags, err, got.Members, add)
				}
			}
		})
	}
	wg.Wait()

	c.reads.forget(group)
	proxy.Delay(200 * time.Millisecond)
	hasty, cancel := context.WithCancel(ctx)
	patient := make(chan error, 1)
	r := c.reads.join(js, group)
	go func() {
		_, err := c.reads.get(ctx, js, group)
		patient <- err
	}()
	cancel()
	if _, err := c.reads.get(hasty, js, group); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c.reads.leave(r)
	if err := <-patient; err != nil {
		t.Errorf("who did not give up: %v", err)
	}
}

// start is when the read that is shared now began.
func start(c *client, group groupRef) time.Time {
	c.reads.mu.Lock()
	defer c.reads.mu.Unlock()
	return c.reads.groups[[2]string{group.stream, group.name}].at
}
