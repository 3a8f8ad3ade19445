package pcgroups_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

const queue = "ORDERS-workers"

// hops is an elastic group whose sourcing a test can make skip, as a leader does
// that lost its place.
type hops struct {
	*admin
	resumed int
}

// newHops creates a stream with orders.* and invoices.*, and a group of the
// subjects given, or of all.
func newHops(t *testing.T, filters ...pcgroups.PartitioningFilter) *hops {
	t.Helper()
	h := &hops{admin: newBareAdmin(t)}
	h.addStream(jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*", "invoices.*"}})
	_, err := pcgroups.CreateElastic(h.ctx(), h.js, "ORDERS", "workers", 4, filters, -1, -1, pcgroups.WithMembers("m1"))
	must(t, err)
	return h
}

// send publishes n messages to each of the subjects, in turn.
func (h *hops) send(n int, subjects ...string) {
	h.t.Helper()
	for i := range n {
		for _, s := range subjects {
			_, err := h.js.Publish(h.ctx(), s, fmt.Append(nil, i))
			must(h.t, err)
		}
	}
}

// sourced waits until the group has got n messages in all, consumed ones included.
func (h *hops) sourced(n uint64) {
	h.t.Helper()
	natstest.Eventually(h.t, patience, func() error {
		s, err := h.js.Stream(h.ctx(), queue)
		if err != nil {
			return err
		}
		if got := s.CachedInfo().State.LastSeq; got != n {
			return fmt.Errorf("%d messages arrived, want %d", got, n)
		}
		return nil
	})
}

// resume takes the source away and puts it back to go on at another place, which
// is what a leader without a record of its place does. The server finds the old
// place by the exact wording of the transform, of which there are four.
func (h *hops) resume(at uint64, meanwhile func()) {
	h.t.Helper()
	c := h.streamConfig(queue)
	source := c.Sources
	c.Sources = nil
	_, err := h.js.UpdateStream(h.ctx(), c)
	must(h.t, err)
	if meanwhile != nil {
		meanwhile()
	}
	h.resumed++
	transform := &source[0].SubjectTransforms[0]
	for i, word := range []string{"artition", "ildcard"} {
		letter := strings.ToUpper
		if h.resumed>>i&1 == 1 {
			letter = strings.ToLower
		}
		first := []string{"p", "w"}[i]
		for _, is := range []string{first, strings.ToUpper(first)} {
			transform.Destination = strings.ReplaceAll(transform.Destination, "{{"+is+word, "{{"+letter(first)+word)
		}
	}
	source[0].OptStartSeq = at
	c.Sources = source
	_, err = h.js.UpdateStream(h.ctx(), c)
	must(h.t, err)
}

// forget makes the source look as it was created again.
func (h *hops) forget() {
	h.t.Helper()
	c := h.streamConfig(queue)
	c.Sources[0].OptStartSeq = 0
	_, err := h.js.UpdateStream(h.ctx(), c)
	must(h.t, err)
}

// consume takes the first n messages from the work queue, without a session, and
// returns what its handler would have seen.
func (h *hops) consume(n int) (seen []pcgroups.Arrival) {
	h.t.Helper()
	c, err := h.js.CreateConsumer(h.ctx(), queue, jetstream.ConsumerConfig{Name: "reader", AckPolicy: jetstream.AckExplicitPolicy})
	must(h.t, err)
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(patience))
	must(h.t, err)
	for m := range batch.Messages() {
		a, ok := pcgroups.ArrivalOf(m)
		if !ok {
			h.t.Fatalf("%v does not tell where it comes from", m.Headers())
		}
		seen = append(seen, a)
		must(h.t, m.DoubleAck(h.ctx()))
	}
	must(h.t, batch.Error())
	must(h.t, h.js.DeleteConsumer(h.ctx(), queue, "reader"))
	return seen
}

func (h *hops) audit(from, to uint64, opts ...pcgroups.AuditOption) *pcgroups.Audit {
	h.t.Helper()
	a, err := pcgroups.AuditElastic(h.ctx(), h.js, "ORDERS", "workers", from, to, opts...)
	must(h.t, err)
	return a
}

// summary is an audit in one line.
func summary(a *pcgroups.Audit) string {
	var out []string
	add := func(what string, v any) { out = append(out, fmt.Sprint(what, " ", v)) }
	if len(a.Missing) > 0 {
		add("missing", a.Missing)
	}
	for _, s := range a.Unproven {
		add("unproven", fmt.Sprintf("%d-%d at least %d", s.First, s.Last, s.Missing()))
	}
	if len(a.Expired) > 0 {
		add("expired", a.Expired)
	}
	if a.Waiting.Len() > 0 {
		add("waiting", a.Waiting)
	}
	if a.Gone.Len() > 0 {
		add("gone", a.Gone)
	}
	if a.Repeated > 0 {
		add("repeated", a.Repeated)
	}
	if a.PlaceLost {
		out = append(out, "place lost")
	}
	return strings.Join(out, ", ")
}

func says(t *testing.T, a *pcgroups.Audit, expect string) {
	t.Helper()
	if got := summary(a); got != expect {
		t.Errorf("the audit says %q, want %q", got, expect)
	}
}

// A group that got everything must be found whole, before, while and after it is
// consumed: an audit that cries wolf makes people handle messages twice.
func TestAuditOfAWholeGroup(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	for name, filters := range map[string][]pcgroups.PartitioningFilter{"all subjects": nil, "some subjects": byKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHops(t, filters...)
			says(t, h.audit(0, 0), "")
			h.send(20, "orders.a", "invoices.b", "orders.c")
			total := 60
			if filters != nil {
				total = 40
			}
			h.sourced(uint64(total))
			says(t, h.audit(0, 0), "")
			h.consume(total / 2)
			says(t, h.audit(0, 0), "")
			says(t, h.audit(10, 20), "")
			h.consume(total / 2)
			a := h.audit(0, 0)
			says(t, a, "")
			if !a.Complete() || a.Range != (pcgroups.SequenceRange{First: 1, Last: 60}) || a.Sourced != 60 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Messages that the server skipped must be listed exactly as long as their
// neighbours are in the work queue, counted when those have been consumed, and
// listed again with what the handlers saw.
func TestAuditFindsWhatWasSkipped(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	for name, c := range map[string]struct {
		filters                   []pcgroups.PartitioningFilter
		arrived                   uint64
		listed, half, all, within string
	}{
		"all subjects": {nil, 26, "missing [{19 22}]", "missing [{19 22}]", "unproven 1-30 at least 4", "missing [{20 21}]"},
		"some subjects": {byKey, 17, "missing [{19 19} {21 22}]", "missing [{19 19} {21 22}]",
			"unproven 1-30 at least 3", "missing [{21 21}]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHops(t, c.filters...)
			h.send(6, "orders.a", "invoices.b", "orders.c") // 1 to 18
			before := uint64(18)
			if c.filters != nil {
				before = 12
			}
			h.sourced(before)
			h.resume(23, func() { h.send(4, "orders.a", "invoices.b", "orders.c") }) // 19 to 30
			h.sourced(c.arrived)
			h.forget()

			says(t, h.audit(0, 0), c.listed)
			says(t, h.audit(20, 21), c.within)
			says(t, h.audit(1, 18), "")
			seen := h.consume(5)
			says(t, h.audit(0, 0), c.half)
			seen = append(seen, h.consume(int(c.arrived)-5)...)
			says(t, h.audit(0, 0), c.all)
			says(t, h.audit(0, 0, pcgroups.WithArrivals(slices.Values(seen))), c.listed)
		})
	}
}

// A message that comes a second time must not hide one that never came, as long as
// it can be seen.
func TestAuditFindsWhatIsRepeated(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := newHops(t, byKey...)
	h.send(10, "orders.a")
	h.sourced(10)
	h.resume(13, func() { h.send(5, "orders.a") }) // 11 and 12 are skipped
	h.sourced(13)
	h.resume(14, nil) // 14 and 15 come again
	h.sourced(15)
	says(t, h.audit(0, 0), "missing [{11 12}], repeated 2")
	h.resume(12, nil) // 12 to 15: what was missing comes late
	h.sourced(19)
	says(t, h.audit(0, 0), "missing [{11 11}], repeated 5")
}

// What is yet to come must not be called missing, nor what the origin does not
// have any more; and what expired unsourced must be told (orbit.go #81).
func TestAuditTellsWaitingFromGone(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := newHops(t)
	h.send(10, "orders.a")
	h.sourced(10)
	s, err := h.js.Stream(h.ctx(), "ORDERS")
	must(t, err)
	h.resume(16, func() {
		h.send(10, "orders.a")
		// (There is no source to tell where it is.)
		if a, err := pcgroups.AuditElastic(h.ctx(), h.js, "ORDERS", "workers", 0, 0); err == nil {
			t.Errorf("an audit without a source: %+v", a)
		}
		must(t, s.Purge(h.ctx(), jetstream.WithPurgeSequence(14)))
	})
	h.sourced(15)
	says(t, h.audit(0, 0), "missing [{14 15}], expired [{11 13}], gone {1 13}")
	says(t, h.audit(15, 0), "missing [{15 15}]")
}

// Messages that the work queue can not take wait; they are not missing.
func TestAuditOfAFullWorkQueue(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := &hops{admin: newBareAdmin(t)}
	h.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(h.ctx(), h.js, "ORDERS", "workers", 4, byKey, 5, -1)
	must(t, err)
	h.send(12, "orders.a")
	h.sourced(5)
	says(t, h.audit(0, 0), "waiting {6 12}")
	d, err := pcgroups.DescribeElastic(h.ctx(), h.js, "ORDERS", "workers")
	must(t, err)
	if d.SourceStalled != nil || d.SourcePlaceLost || d.SourceSeq != 5 {
		t.Errorf("%+v", d)
	}
}

// An audit must change nothing, also where it counts; and a user who may not count
// must get the rest, and soon.
func TestAuditIsReadOnly(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := &hops{admin: newBareAdmin(t, natstest.WithConfig(func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "all", Password: "x"},
			{Username: "some", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{
				Allow: []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.MSG.GET.>"},
			}}},
		}
	}), natstest.WithUser("all", "x"))}
	h.addStream(jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*", "invoices.*"}})
	h.elasticGroup("workers", "m1")
	h.send(300, "orders.a", "invoices.b")
	h.sourced(300)
	h.consume(290)
	counted := 0
	var made []string
	for _, w := range h.writes(func() { says(t, h.audit(0, 0), "") }) {
		// The consumers that count come and go.
		if strings.HasPrefix(w, "$JS.API.CONSUMER.CREATE.ORDERS.") {
			counted++
		} else if !strings.HasPrefix(w, "$JS.API.CONSUMER.DELETE.ORDERS.") {
			made = append(made, w)
		}
	}
	sameStrings(t, "writes", made)
	if counted != 3 {
		t.Errorf("%d consumers were created to count", counted)
	}
	for _, c := range h.consumers("ORDERS") {
		t.Errorf("consumer %s is left", c)
	}

	some := h.srv.JetStream(nats.UserInfo("some", "x"))
	a, err := pcgroups.AuditElastic(h.ctx(), some, "ORDERS", "workers", 0, 0)
	must(t, err)
	says(t, a, "unproven 1-580 at least 0")
}

// While messages flow and are consumed nothing may be called missing.
func TestAuditUnderTraffic(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := newHops(t, byKey...)
	m, err := pcgroups.ElasticConsume(h.ctx(), h.js, "ORDERS", "workers", "m1",
		pcgroups.AutoAck(func(context.Context, *pcgroups.Msg) error { return nil }), strict(5*time.Second))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := h.js.Publish(h.ctx(), "orders.a", nil); err != nil {
				t.Error(err)
				return
			}
			if _, err := h.js.Publish(h.ctx(), "invoices.a", nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 10 {
		a := h.audit(0, 0)
		for _, u := range a.Unproven {
			if u.Missing() > 0 {
				t.Errorf("missing in %+v", u)
			}
		}
		if len(a.Missing) > 0 || a.PlaceLost || a.Repeated > 0 {
			t.Errorf("%+v", a)
		}
	}
	cancel()
	wg.Wait()
	m.Stop()
	must(t, m.Wait(h.ctx()))
}

// An origin that drops old messages proves nothing of all that ever arrived; from a
// checkpoint on it does, or audits would be of no use in the long run.
func TestAuditFromACheckpoint(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := newHops(t, byKey...)
	h.send(10, "orders.a", "invoices.a")
	h.sourced(10)
	h.consume(10)
	first := h.audit(0, 0)
	says(t, first, "")
	if first.Checkpoint != (pcgroups.Arrival{Buffered: 10, Origin: 19}) {
		t.Fatalf("%+v", first)
	}
	s, err := h.js.Stream(h.ctx(), "ORDERS")
	must(t, err)
	must(t, s.Purge(h.ctx(), jetstream.WithPurgeSequence(11)))
	h.send(10, "orders.a", "invoices.a")
	h.sourced(20)
	h.consume(20 - 10)
	says(t, h.audit(0, 0), "unproven 1-39 at least 0, gone {1 10}")
	since := pcgroups.WithArrivals(slices.Values([]pcgroups.Arrival{first.Checkpoint}))
	says(t, h.audit(first.Checkpoint.Origin+1, 0, since), "")
}

// Older servers do not say how far they have sourced. What they do show must be
// used, no more concluded from it, and no leader moved.
func TestAuditOfServer211(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := &hops{admin: &admin{&fixture{t: t, js: natstest.StartRelease(t, "2.11.17").JetStream()}}}
	h.stream("ORDERS", 0)
	h.elasticGroup("workers", "m1")
	says(t, h.audit(0, 0), "")
	h.send(10, "orders.a")
	h.sourced(10)
	says(t, h.audit(0, 0), "")
	h.consume(5)
	says(t, h.audit(0, 0), "")
	h.consume(5)
	says(t, h.audit(0, 0), "unproven 1-10 at least 0")
	if d := h.describe(); d.SourceStalled != nil || d.SourcePlaceLost || d.SourceSeq != 0 {
		t.Errorf("%+v", d)
	}
	_, err := pcgroups.RestartSourcing(h.ctx(), h.js, "ORDERS", "workers")
	refused(t, err, pcgroups.ErrServerTooOld)
}

// An audit keeps a bounded number of ranges. The next one must go on exactly where
// it stopped, and what came late must not be listed by either.
func TestAuditGoesOnWhereItStopped(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	h := newHops(t, byKey...)
	h.send(4, "orders.a", "invoices.a") // 1 to 8
	h.sourced(4)
	h.resume(29, func() { h.send(10, "orders.a", "invoices.a") }) // 9 to 28, of which ten are the group's
	h.send(1, "orders.a")
	h.sourced(5)
	h.resume(13, nil) // all but 9 and 11 come late
	h.sourced(14)
	var found []pcgroups.SequenceRange
	from := uint64(1)
	for range 3 {
		a := h.audit(from, 0, pcgroups.AuditMost(7))
		found = append(found, a.Missing...)
		if from = a.Next; from == 0 {
			break
		}
	}
	if want := []pcgroups.SequenceRange{{First: 9, Last: 9}, {First: 11, Last: 11}}; !slices.Equal(found, want) || from != 0 {
		t.Errorf("found %v, next %d", found, from)
	}
}

// What can not be audited must say why.
func TestAuditRefusals(t *testing.T) {
	t.Parallel()
	h := newHops(t)
	audit := func(group string, from, to uint64) error {
		_, err := pcgroups.AuditElastic(h.ctx(), h.js, "ORDERS", group, from, to)
		return err
	}
	refused(t, audit("nobody", 0, 0), pcgroups.ErrGroupNotFound)
	refused(t, audit("workers", 5, 4), pcgroups.ErrInvalidConfig)
	must(t, h.js.DeleteStream(h.ctx(), queue))
	refused(t, audit("workers", 0, 0), pcgroups.ErrStreamNotFound)
	h.addStream(jetstream.StreamConfig{Name: queue, Subjects: []string{"other"}})
	refused(t, audit("workers", 0, 0), pcgroups.ErrNotGroupStream)
	if _, ok := pcgroups.ArrivalOf(plain{}); ok {
		t.Error("a message of no stream came from the origin")
	}
}

// plain is a message that JetStream did not deliver.
type plain struct{ jetstream.Msg }

func (plain) Headers() nats.Header                      { return nil }
func (plain) Metadata() (*jetstream.MsgMetadata, error) { return nil, jetstream.ErrNotJSMessage }
