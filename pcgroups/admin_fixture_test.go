package pcgroups_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// byKey partitions orders.* by its one wildcard.
var byKey = []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}

// admin is a server with what a test of the administration asks of it.
type admin struct{ *fixture }

// newAdmin runs a server with the stream ORDERS, which static groups of any
// partition count can be made for too.
func newAdmin(t *testing.T, opts ...natstest.Option) *admin {
	t.Helper()
	a := newBareAdmin(t, opts...)
	a.stream("ORDERS", 0)
	return a
}

// newBareAdmin runs a server with nothing on it.
func newBareAdmin(t *testing.T, opts ...natstest.Option) *admin {
	t.Helper()
	a := &admin{newFixture(t, opts...)}
	t.Cleanup(a.settle)
	return a
}

// settle waits until the work-queue streams have reached their origins, and the
// origins have let go of those that were deleted. A server that is stopped while
// it waits for either leaves a goroutine for half a minute, which would be taken
// for ours.
func (a *admin) settle() {
	natstest.Eventually(a.t, patience, func() error {
		streams := a.js.ListStreams(a.ctx())
		there, waiting := map[string]bool{}, map[string]string{}
		for info := range streams.Info() {
			there[info.Config.Name] = true
			for _, source := range info.Sources {
				if source.Active < 0 {
					waiting[info.Config.Name] = source.Name
				}
			}
		}
		for name, origin := range waiting {
			if there[origin] {
				return fmt.Errorf("%s has not reached %s", name, origin)
			}
		}
		return streams.Err()
	})
	// Nothing announces the other, and another test's server may be at it.
	_ = poll.Until(patience/50, func() error {
		var stacks bytes.Buffer
		err := pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if bytes.Contains(stacks.Bytes(), []byte("tryDeleteSourcingConsumer")) {
			return errors.New("a server is deleting the consumer of a source")
		}
		return err
	})
}

// elasticGroup creates an elastic group with four partitions on ORDERS.
func (a *admin) elasticGroup(group string, members ...string) {
	a.t.Helper()
	_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", group, 4, byKey, -1, -1, pcgroups.WithMembers(members...))
	must(a.t, err)
}

// staticGroup creates a static group with four partitions on ORDERS.
func (a *admin) staticGroup(group string, members ...string) {
	a.t.Helper()
	_, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", group, 4, nil, members, nil)
	must(a.t, err)
}

// addStream creates a stream.
func (a *admin) addStream(c jetstream.StreamConfig) {
	a.t.Helper()
	_, err := a.js.CreateStream(a.ctx(), c)
	must(a.t, err)
}

// streamConfig is the configuration of a stream that must exist.
func (a *admin) streamConfig(name string) jetstream.StreamConfig {
	a.t.Helper()
	s, err := a.js.Stream(a.ctx(), name)
	if err != nil {
		a.t.Fatalf("stream %s: %v", name, err)
	}
	return s.CachedInfo().Config
}

func (a *admin) hasStream(name string) bool {
	a.t.Helper()
	_, err := a.js.Stream(a.ctx(), name)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		a.t.Fatal(err)
	}
	return err == nil
}

// consumers are the names of a stream's consumers, sorted.
func (a *admin) consumers(stream string) []string {
	a.t.Helper()
	s, err := a.js.Stream(a.ctx(), stream)
	must(a.t, err)
	var names []string
	lister := s.ConsumerNames(a.ctx())
	for name := range lister.Name() {
		names = append(names, name)
	}
	must(a.t, lister.Err())
	slices.Sort(names)
	return names
}

// durable creates a consumer as any program might have.
func (a *admin) durable(stream string, c jetstream.ConsumerConfig) {
	a.t.Helper()
	_, err := a.js.CreateConsumer(a.ctx(), stream, c)
	must(a.t, err)
}

// pinnedDurable creates the consumer that a static member leaves behind.
func (a *admin) pinnedDurable(stream, name string, filters ...string) {
	a.t.Helper()
	a.durable(stream, jetstream.ConsumerConfig{
		Durable: name, FilterSubjects: filters, AckPolicy: jetstream.AckExplicitPolicy,
		PriorityGroups: []string{pcgroups.PriorityGroup}, PriorityPolicy: jetstream.PriorityPolicyPinned,
	})
}

// bucket opens a bucket, which is created if no group has been yet.
func (a *admin) bucket(name string) jetstream.KeyValue {
	a.t.Helper()
	kv, err := a.js.KeyValue(a.ctx(), name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = a.js.CreateKeyValue(a.ctx(), jetstream.KeyValueConfig{Bucket: name})
	}
	must(a.t, err)
	return kv
}

// put stores a value as another implementation may have.
func (a *admin) put(bucket, key, value string) (revision uint64) {
	a.t.Helper()
	revision, err := a.bucket(bucket).Put(a.ctx(), key, []byte(value))
	must(a.t, err)
	return revision
}

// stored is a key's value and revision, nothing and 0 if there is none.
func (a *admin) stored(bucket, key string) (value string, revision uint64) {
	a.t.Helper()
	kv, err := a.js.KeyValue(a.ctx(), bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return "", 0
	}
	must(a.t, err)
	e, err := kv.Get(a.ctx(), key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", 0
	}
	must(a.t, err)
	return string(e.Value()), e.Revision()
}

// revision is that of a group's stored configuration, 0 if there is none.
func (a *admin) revision(bucket, group string) uint64 {
	a.t.Helper()
	_, revision := a.stored(bucket, "ORDERS."+group)
	return revision
}

// writes runs f and returns the requests among its traffic that change anything:
// publishes to a bucket, and all of the API but looking. The short-lived consumer
// by which the client lists a bucket's keys counts as looking, and those by which
// the server itself fills a work queue do not count.
func (a *admin) writes(f func()) []string {
	a.t.Helper()
	nc := a.srv.Connect()
	defer nc.Close()
	c := natstest.Capture(a.t, nc)
	f()
	c.Sync(a.js.Conn())
	var out []string
	for _, r := range c.Requests("") {
		if isWrite(r.Subject) && !strings.Contains(r.Subject+string(r.Data), "JS_SRC_") && !strings.Contains(r.Subject+string(r.Data), "JS_MIRROR_") {
			out = append(out, r.Subject)
		}
	}
	return out
}

func isWrite(subject string) bool {
	for _, look := range []string{"INFO", "STREAM.INFO.", "STREAM.NAMES", "STREAM.LIST", "STREAM.MSG.GET.", "DIRECT.GET.",
		"CONSUMER.INFO.", "CONSUMER.NAMES.", "CONSUMER.LIST.", "CONSUMER.MSG.NEXT.", "CONSUMER.CREATE.KV_", "CONSUMER.DELETE.KV_"} {
		if strings.HasPrefix(subject, "$JS.API."+look) {
			return false
		}
	}
	return true
}

// nothingWritten runs f and fails if it changed anything.
func (a *admin) nothingWritten(f func()) {
	a.t.Helper()
	if w := a.writes(f); len(w) != 0 {
		a.t.Errorf("something was written: %q", w)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless err is a *pcgroups.Error around all of the causes.
func refused(t *testing.T, err error, causes ...error) {
	t.Helper()
	var e *pcgroups.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *pcgroups.Error around %v", err, err, causes)
	}
	for _, cause := range causes {
		if !errors.Is(err, cause) {
			t.Errorf("got %q, want an error around %q", err, cause)
		}
	}
}

// sameStrings treats nil and empty as the same.
func sameStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// atOnce runs f(0) … f(n-1) at the same time and returns their errors.
func atOnce(n int, f func(i int) error) []error {
	start, errs := make(chan struct{}), make([]error, n)
	done := make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-start
			errs[i] = f(i)
		}()
	}
	close(start)
	for range n {
		<-done
	}
	return errs
}

// meddled is a client of which some calls go wrong, or not alone: a function
// that is set is called in place of the client's own.
type meddled struct {
	jetstream.JetStream
	createStream   func(context.Context, jetstream.StreamConfig) (jetstream.Stream, error)
	deleteConsumer func(ctx context.Context, stream, consumer string) error
	// beforeUpdate is called between the reading and the writing of a key.
	beforeUpdate func()
	// So many questions about a stream or bucket get no answer, and so many
	// writes to a bucket meet nobody.
	unanswered, unheard atomic.Int32
}

func (m *meddled) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if m.unanswered.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.JetStream.Stream(ctx, name)
}

func (m *meddled) CreateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if m.createStream == nil {
		return m.JetStream.CreateStream(ctx, c)
	}
	return m.createStream(ctx, c)
}

func (m *meddled) DeleteConsumer(ctx context.Context, stream, consumer string) error {
	if m.deleteConsumer == nil {
		return m.JetStream.DeleteConsumer(ctx, stream, consumer)
	}
	return m.deleteConsumer(ctx, stream, consumer)
}

func (m *meddled) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	if m.unanswered.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	kv, err := m.JetStream.KeyValue(ctx, bucket)
	return &meddledBucket{kv, m}, err
}

type meddledBucket struct {
	jetstream.KeyValue
	m *meddled
}

func (b *meddledBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if b.m.unheard.Add(-1) >= 0 {
		return 0, nats.ErrNoResponders
	}
	return b.KeyValue.Create(ctx, key, value, opts...)
}

func (b *meddledBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if b.m.unheard.Add(-1) >= 0 {
		return 0, nats.ErrNoResponders
	}
	if b.m.beforeUpdate != nil {
		b.m.beforeUpdate()
	}
	return b.KeyValue.Update(ctx, key, value, revision)
}

func (b *meddledBucket) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	if b.m.unheard.Add(-1) >= 0 {
		return nats.ErrNoResponders
	}
	return b.KeyValue.Delete(ctx, key, opts...)
}

// holds waits until a stream holds n messages.
func (a *admin) holds(stream string, n uint64) {
	a.t.Helper()
	natstest.Eventually(a.t, patience, func() error {
		s, err := a.js.Stream(a.ctx(), stream)
		if err != nil {
			return err
		}
		if got := s.CachedInfo().State.Msgs; got != n {
			return fmt.Errorf("%s holds %d messages, want %d", stream, got, n)
		}
		return nil
	})
}
