package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func (h *hops) describe() *pcgroups.Description {
	h.t.Helper()
	d, err := pcgroups.DescribeElastic(h.ctx(), h.js, "ORDERS", "workers")
	must(h.t, err)
	return d
}

// A healthy group must be described as one, whatever it holds: an operator who
// sees a stall that is none may move a leader and lose messages.
func TestDescribeHealthySource(t *testing.T) {
	t.Parallel()
	h := newHops(t, byKey...)
	for n := range uint64(3) {
		if n > 0 {
			h.send(5, "orders.a", "invoices.a")
			h.sourced(5 * n)
		}
		d := h.describe()
		if d.SourceStalled != nil || d.SourcePlaceLost || d.SourceExpired != 0 || d.SourceSeq != max(10*n, 1)-1 || d.BufferedMsgs != 5*n {
			t.Errorf("%d: %+v", n, d)
		}
	}
}

// A record that is gone must be seen at once, with nothing else amiss, as the
// server tells nobody.
func TestDescribeLostPlace(t *testing.T) {
	t.Parallel()
	h := newHops(t, byKey...)
	h.send(5, "orders.a")
	h.sourced(5)
	h.resume(6, nil)
	natstest.Eventually(t, patience, func() error {
		if d := h.describe(); !d.SourcePlaceLost || d.SourceSeq != 0 {
			return fmt.Errorf("%+v", d)
		}
		return nil
	})
	says(t, h.audit(0, 0), "place lost")
	h.send(1, "orders.a")
	h.sourced(6)
	if d := h.describe(); d.SourcePlaceLost || d.SourceSeq != 6 {
		t.Errorf("it has its place again: %+v", d)
	}
}

// Messages that the origin dropped before they were sourced are lost to the group
// without a word from anyone (orbit.go #81).
func TestDescribeExpired(t *testing.T) {
	t.Parallel()
	h := &hops{admin: newBareAdmin(t)}
	h.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(h.ctx(), h.js, "ORDERS", "workers", 4, nil, 5, -1)
	must(t, err)
	h.send(12, "orders.a")
	h.sourced(5) // it is full
	s, err := h.js.Stream(h.ctx(), "ORDERS")
	must(t, err)
	must(t, s.Purge(h.ctx(), jetstream.WithPurgeSequence(10)))
	if d := h.describe(); d.SourceExpired != 4 || d.SourceStalled != nil {
		t.Errorf("%+v", d)
	}
	says(t, h.audit(0, 0), "expired [{6 9}], waiting {10 12}, gone {1 9}")
}

// A user who may look but not read messages must get the rest of the description,
// and soon.
func TestDescribeWithoutPermissionToRead(t *testing.T) {
	t.Parallel()
	a := newBareAdmin(t, natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "all", Password: "x"},
			{Username: "some", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{
				Allow: []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.LIST.>", "$JS.API.STREAM.MSG.GET.KV_elastic-consumer-groups"},
			}}},
		}
	}), natstest.WithUser("all", "x"))
	h := &hops{admin: a}
	h.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(h.ctx(), h.js, "ORDERS", "workers", 4, nil, 5, -1)
	must(t, err)
	h.send(12, "orders.a")
	h.sourced(5)
	some := h.srv.JetStream(nats.UserInfo("some", "x"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := time.Now()
	d, err := pcgroups.DescribeElastic(ctx, some, "ORDERS", "workers")
	must(t, err)
	if took := time.Since(begun); d.BufferedMsgs != 5 || took > patience/2 {
		t.Errorf("%+v after %v", d, took)
	}
}

// Restarting what is not stalled moves a leader for nothing, and may lose messages.
func TestRestartSourcingRefusals(t *testing.T) {
	t.Parallel()
	h := newHops(t, byKey...)
	h.send(5, "orders.a")
	h.sourced(5)
	restart := func(group string) error {
		_, err := pcgroups.RestartSourcing(h.ctx(), h.js, "ORDERS", group)
		return err
	}
	h.nothingWritten(func() {
		refused(t, restart("workers"), pcgroups.ErrNotStalled)
		refused(t, restart("nobody"), pcgroups.ErrGroupNotFound)
	})
	must(t, h.js.DeleteStream(h.ctx(), queue))
	refused(t, restart("workers"), pcgroups.ErrStreamNotFound)
	h.addStream(jetstream.StreamConfig{Name: queue, Subjects: []string{"other"}})
	if err := restart("workers"); !errors.Is(err, pcgroups.ErrNotGroupStream) {
		t.Error(err)
	}
}
