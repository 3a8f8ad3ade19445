//go:build unix

package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// traffic publishes numbered messages under a few keys and checks that each of
// them was handled once and those of a key in order.
type traffic struct {
	t      *testing.T
	js     jetstream.JetStream
	prefix string         // of the subjects, to be followed by a key
	form   string         // of the messages, with a place for the number
	sent   map[string]int // subject → messages
}

func newTraffic(t *testing.T, s *natstest.Server, prefix, form string) *traffic {
	return &traffic{t: t, js: s.JetStream(), prefix: prefix, form: form, sent: map[string]int{}}
}

// publish sends n messages for each of a dozen keys.
func (f *traffic) publish(n int) {
	f.t.Helper()
	for range n {
		for key := range 12 {
			subject := fmt.Sprintf("%s.key-%d", f.prefix, key)
			if _, err := f.js.Publish(f.t.Context(), subject, fmt.Appendf(nil, f.form, f.sent[subject])); err != nil {
				f.t.Fatal(err)
			}
			f.sent[subject]++
		}
	}
}

func (f *traffic) total() int {
	n := 0
	for _, sent := range f.sent {
		n += sent
	}
	return n
}

// handled waits until the programs have printed as many lines that end in
// "<subject> <message>" as messages were sent, and checks them. One key is always
// with one program between two calls of publish, and within one program's output
// the order of lines is that of the handlers.
func (f *traffic) handled(programs ...*running) {
	f.t.Helper()
	printed := func() (n int) {
		for _, p := range programs {
			n += p.out.Len()
		}
		return n
	}
	natstest.Eventually(f.t, patience, func() error {
		if n := printed(); n < f.total() {
			return fmt.Errorf("%d of %d messages were handled", n, f.total())
		}
		return nil
	})
	got := map[string][]string{}
	for _, p := range programs {
		for _, line := range p.out.All() {
			words := strings.Fields(line)
			subject, message := words[len(words)-2], words[len(words)-1]
			got[subject] = append(got[subject], message)
		}
	}
	for subject, n := range f.sent {
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf(f.form, i))
		}
		if !slices.Equal(got[subject], want) {
			f.t.Errorf("%s: handled %v, want %v", subject, got[subject], want)
		}
	}
}

// Prevents: an example of a static group that does not set up what it needs, that
// loses or repeats messages, or that does not end when asked to.
func TestStatic(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	var members []*running
	for _, name := range []string{"alice", "bob", "carol"} {
		members = append(members, start(t, nil, "static", "-server", s.URL(), name))
	}
	for _, m := range members {
		m.logs("partitions assigned")
	}
	f := newTraffic(t, s, "payments", "%d")
	f.publish(5)
	f.handled(members...)
	for _, m := range members {
		if m.out.Len() == 0 {
			t.Errorf("%v got nothing", m.cmd.Args)
		}
		m.end()
	}
}

// Prevents: an example that goes on silently with a stream whose messages carry
// no partition numbers.
func TestStatic_wrongStream(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	if _, err := s.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "PAYMENTS", Subjects: []string{"payments.*"}}); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "static", "-server", s.URL(), "alice")
	if code := p.exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	p.logs("transform")
}

// Prevents: an example of an elastic group whose members do not share out the
// partitions as they come and go, or lose or repeat messages then.
func TestElastic(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	m1 := start(t, nil, "elastic", "-server", s.URL(), "m1")
	m1.logs("[0 1 2 3 4 5 6 7]")
	f := newTraffic(t, s, "orders", "%d")
	f.publish(3)
	f.handled(m1)

	m2 := start(t, nil, "elastic", "-server", s.URL(), "m2")
	m2.logs("[4 5 6 7]")
	m1.logs("[0 1 2 3]\"")
	f.publish(3)
	f.handled(m1, m2)
	if m2.out.Len() == 0 {
		t.Error("the new member got nothing")
	}

	m1.end()
	config, err := pcgroups.GetElasticConsumerGroupConfig(t.Context(), f.js, "ORDERS", "billing")
	if err != nil || !slices.Equal(config.Members, []string{"m2"}) {
		t.Fatalf("members %v, %v; want m2 alone", config, err)
	}
	f.publish(3)
	f.handled(m1, m2)
	m2.end()
}

// Prevents: a production worker whose probes, metrics or end do not work, that
// stops at a message it can not read, or that is not replaced by its standby.
func TestWorker(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	f := newTraffic(t, s, "orders", `{"item":"%d"}`)
	ctx := t.Context()
	if _, err := f.js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}}); err != nil {
		t.Fatal(err)
	}
	env := []string{"NATS_URL=" + s.URL(), "MEMBER=m1"}
	args := []string{"-listen", "127.0.0.1:0", "-group", "billing"}

	// The group may come after the worker.
	active := start(t, env, "worker", args...)
	at := active.address()
	if code, body := get(t, at+"/readyz"); code != http.StatusOK {
		t.Errorf("waiting for its group it answers %d %s", code, body)
	}
	if _, err := pcgroups.CreateElastic(ctx, f.js, "ORDERS", "billing", 4, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1")); err != nil {
		t.Fatal(err)
	}
	active.logs("partitions assigned")
	if _, err := f.js.Publish(ctx, "orders.broken", []byte("?")); err != nil {
		t.Fatal(err)
	}
	f.publish(1)
	active.counts(at, `worker_messages_total{outcome="done"}`, "12")
	active.counts(at, `worker_messages_total{outcome="poison"}`, "1")
	active.counts(at, "worker_partitions", "4")
	active.counts(at, "worker_pinned", "1")

	standby := start(t, env, "worker", args...)
	other := standby.address()
	standby.logs("partitions assigned")
	standby.counts(other, "worker_pinned", "0")
	active.end()
	f.publish(1)
	standby.counts(other, `worker_messages_total{outcome="done"}`, "12")
	standby.counts(other, "worker_pinned", "1")

	s.Shutdown()
	natstest.Eventually(t, patience, func() error {
		if code, body := get(t, other+"/readyz"); code != http.StatusServiceUnavailable {
			return fmt.Errorf("without a server it answers %d %s", code, body)
		}
		return nil
	})
	if code, body := get(t, other+"/healthz"); code != http.StatusOK {
		t.Errorf("waiting for the server it answers %d %s", code, body)
	}
	standby.end()
}

// Prevents: a worker that starts with settings that can not work.
func TestWorker_usage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"-member is missing":                nil,
		"-ack-wait is 1s, must be at least": {"-member", "m", "-ack-wait", "1s"},
		`"m" is not a flag`:                 {"-member", "m", "m"},
	} {
		p := start(t, nil, "worker", args...)
		if code := p.exit(); code != 2 {
			t.Errorf("%v: exit code %d, want 2", args, code)
		}
		p.logs(want)
	}
}

// Prevents: a password in the log: NATS_URL may hold one, and was shown as the
// default of -server and as the address that does not answer.
func TestWorker_keepsThePassword(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"-member is missing": nil,
		"the worker failed":  {"-member", "m"},
	} {
		p := start(t, []string{"NATS_URL=nats://u:secret@127.0.0.1:1"}, "worker", args...)
		if code := p.exit(); code == 0 {
			t.Errorf("%v: it does not fail", args)
		}
		p.logs(want)
		if log := strings.Join(p.log.All(), "\n"); strings.Contains(log, "secret") {
			t.Errorf("%v: it tells the password:\n%s", args, log)
		}
	}
}

// address is where the worker serves.
func (p *running) address() string {
	p.t.Helper()
	var line struct{ HTTP string }
	if err := json.Unmarshal([]byte(p.logs("the worker has started")), &line); err != nil {
		p.t.Fatal(err)
	}
	return "http://" + line.HTTP
}

// counts waits for a metric to have a value.
func (p *running) counts(at, metric, want string) {
	p.t.Helper()
	natstest.Eventually(p.t, patience, func() error {
		_, text := get(p.t, at+"/metrics")
		values := map[string]string{}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "worker_") {
				values[name] = value
			}
		}
		if values[metric] != want {
			return fmt.Errorf("%s is not %s; there are %v", metric, want, slices.Sorted(maps.Keys(values)))
		}
		return nil
	})
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
