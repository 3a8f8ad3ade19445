package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func TestMain(m *testing.M) {
	// The examples name the provider by its real address, and no test may be
	// steered by the environment of who runs it.
	for name, value := range map[string]string{
		"TF_ACC_PROVIDER_NAMESPACE": "nats-pcgroups",
		"NATS_URL":                  "", "NATS_CREDS": "", "NATS_USER": "", "NATS_PASSWORD": "", "NATS_TOKEN": "",
		"NATS_CONTEXT": "", "NATS_NKEY": "", "NATS_CA": "", "NATS_CERT": "", "NATS_KEY": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	var err error
	if programFolder, err = os.MkdirTemp("", "pcgroups-provider-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programFolder)
	os.Exit(code)
}

// world is what an acceptance test has to itself: a server with a stream.
type world struct {
	*natstest.Server
	t  *testing.T
	js jetstream.JetStream
}

// newWorld starts a server that has the stream ORDERS, with the subjects
// orders.>. Static groups find the partition number (of 4) in front of the
// subjects of the stream PARTS, which come from the subjects parts.*.
func newWorld(t *testing.T, opts ...natstest.Option) *world {
	t.Helper()
	s := natstest.Start(t, opts...)
	w := &world{Server: s, t: t, js: s.JetStream()}
	for _, c := range []jetstream.StreamConfig{
		{Name: "ORDERS", Subjects: []string{"orders.>"}},
		{
			Name: "PARTS", Subjects: []string{"parts.*"},
			SubjectTransform: &jetstream.SubjectTransformConfig{Source: "parts.*", Destination: "{{Partition(4,1)}}.parts.{{Wildcard(1)}}"},
		},
	} {
		if _, err := w.js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// providers makes a provider for every run of Terraform. Its connection is
// closed with the test, as in life it is with the process.
func (w *world) providers() map[string]func() (tfprotov6.ProviderServer, error) {
	return testProviders(w.t)
}

func testProviders(t *testing.T) map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"pcgroups": func() (tfprotov6.ProviderServer, error) {
			p := New("test")
			t.Cleanup(p.Close)
			return providerserver.NewProtocol6WithError(p)()
		},
	}
}

// config puts the provider block in front.
func (w *world) config(body string) string { return providerConfig(w.URL()) + body }

func providerConfig(url string) string {
	return requires + providerBlock(url)
}

func providerBlock(url string) string {
	return fmt.Sprintf("provider \"pcgroups\" {\n  servers = [%q]\n}\n", url)
}

const requires = `terraform {
  required_providers {
    pcgroups = { source = "nats-pcgroups/pcgroups" }
  }
}
`

// elastic is a group on ORDERS with a few lines of its own.
func (w *world) elastic(lines ...string) string {
	return w.config(groupBlock("pcgroups_elastic_group", append([]string{`stream = "ORDERS"`, `name = "cg"`}, lines...)))
}

// static is a group on PARTS with a few lines of its own.
func (w *world) static(lines ...string) string {
	return w.config(groupBlock("pcgroups_static_group", append([]string{`stream = "PARTS"`, `name = "cg"`}, lines...)))
}

func groupBlock(kind string, lines []string) string {
	return fmt.Sprintf("resource %q \"g\" {\n  %s\n}\n", kind, strings.Join(lines, "\n  "))
}

const (
	elasticAddr = "pcgroups_elastic_group.g"
	staticAddr  = "pcgroups_static_group.g"

	keyed = `partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }]`
)

// stored returns the stored value and revision of the group, or nothing.
func (w *world) stored(bucket, stream, group string) (string, uint64) {
	w.t.Helper()
	kv, err := w.js.KeyValue(w.t.Context(), bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return "", 0
	}
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := kv.Get(w.t.Context(), pcgroups.ComposeKey(stream, group))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", 0
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(e.Value()), e.Revision()
}

// wantStored checks the stored bytes: the wire contract.
func (w *world) wantStored(bucket, stream, want string) func(*terraform.State) error {
	return func(*terraform.State) error {
		if got, _ := w.stored(bucket, stream, "cg"); got != want {
			return fmt.Errorf("stored\n%s\nwant\n%s", got, want)
		}
		return nil
	}
}

// created is when a stream was created, to tell one from its successor.
func (w *world) created(stream string) time.Time {
	w.t.Helper()
	s, err := w.js.Stream(w.t.Context(), stream)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.CachedInfo().Created
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) publish(subject string, n int) {
	w.t.Helper()
	for range n {
		_, err := w.js.Publish(w.t.Context(), subject, []byte("x"))
		w.must(err)
	}
}

// gone checks that nothing is left of any group, neither configuration nor
// stream nor consumer.
func (w *world) gone(*terraform.State) error {
	ctx := w.t.Context()
	names := w.js.StreamNames(ctx)
	for name := range names.Name() {
		s, err := w.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case name == "ORDERS", name == "PARTS":
			for c := range s.ConsumerNames(ctx).Name() {
				return fmt.Errorf("consumer %s of %s is left", c, name)
			}
		case strings.HasPrefix(name, "KV_"):
			kv, err := w.js.KeyValue(ctx, strings.TrimPrefix(name, "KV_"))
			if err != nil {
				return err
			}
			if keys, err := kv.Keys(ctx); !errors.Is(err, jetstream.ErrNoKeysFound) {
				return errors.Join(fmt.Errorf("keys %v are left in %s", keys, name), err)
			}
		default:
			return fmt.Errorf("stream %s is left", name)
		}
	}
	return names.Err()
}

// untouched checks that not even a bucket was created.
func (w *world) untouched(*terraform.State) error {
	names := w.js.StreamNames(w.t.Context())
	for name := range names.Name() {
		if name != "ORDERS" && name != "PARTS" {
			return fmt.Errorf("stream %s was created", name)
		}
	}
	return names.Err()
}

// says matches a text wherever Terraform breaks its lines.
func says(text string) *regexp.Regexp {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.MustCompile(strings.Join(words, `[\s│]+`))
}

// meanwhile runs between the plan and its apply.
type meanwhile func() error

func (f meanwhile) CheckPlan(_ context.Context, _ plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	resp.Error = f()
}

func will(address string, is plancheck.ResourceActionType) plancheck.PlanCheck {
	return plancheck.ExpectResourceAction(address, is)
}

func checks(c ...plancheck.PlanCheck) []plancheck.PlanCheck { return c }

// replaceOnce replaces what must be there.
func replaceOnce(t *testing.T, text, part, by string) string {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q is not in %s", part, text)
	}
	return strings.Replace(text, part, by, 1)
}
