package pcgroups_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// nothingLeft fails if the group ORDERS/cg left a trace.
func (a *admin) nothingLeft() {
	a.t.Helper()
	if value, revision := a.stored(pcgroups.ElasticBucket, "ORDERS.cg"); revision != 0 {
		a.t.Errorf("the configuration was left behind: %s", value)
	}
	if a.hasStream("ORDERS-cg") {
		a.t.Error("the stream was left behind")
	}
}

// The configuration is written before the stream. If the stream can not be made
// and the key stays, as the oracle leaves it, the group exists for every list and
// every member, and nobody can consume from it.
func TestAdminCreateRollsBack(t *testing.T) {
	t.Parallel()
	t.Run("more bytes than there are", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := elastic(2, byKey, -1, 1<<40)(a)
		refused(t, err)
		var api *jetstream.APIError
		if !errors.As(err, &api) || !strings.Contains(err.Error(), "create the work-queue stream ORDERS-cg: ") {
			t.Errorf("got %v, which does not tell what failed", err)
		}
		a.nothingLeft()
		_, err = elastic(2, byKey, -1, 1<<20)(a)
		must(t, err)
	})
	t.Run("overlapping filters", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.nothingWritten(func() { // the server would refuse the stream
			for _, other := range []string{"orders.*", "orders.>", "*.*", ">"} {
				_, err := elastic(2, []pcgroups.PartitioningFilter{{Filter: other}, byKey[0]}, -1, -1)(a)
				refused(t, err, pcgroups.ErrInvalidConfig)
			}
		})
	})
	t.Run("no more streams", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("other")
		limits := server.JetStreamAccountLimits{MaxMemory: -1, MaxStore: -1, MaxStreams: 3, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}
		must(t, a.srv.Raw().GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits}))
		for range 2 {
			_, err := elastic(2, byKey, -1, -1)(a)
			refused(t, err)
			a.nothingLeft()
		}
		// A group whose stream is missing is no group just created: it stays.
		must(t, a.js.DeleteStream(a.ctx(), "ORDERS-other"))
		a.addStream(jetstream.StreamConfig{Name: "LAST", Subjects: []string{"last"}})
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "other", 4, byKey, -1, -1)
		refused(t, err)
		if a.revision(pcgroups.ElasticBucket, "other") == 0 {
			t.Error("the configuration of an existing group was removed")
		}
	})
}

// make creates the group through a client whose stream creation is replaced.
func (a *admin) create(ctx context.Context, stream func(context.Context, jetstream.StreamConfig) (jetstream.Stream, error)) (*pcgroups.ElasticConsumerGroupConfig, error) {
	return pcgroups.CreateElastic(ctx, &meddled{JetStream: a.js, createStream: stream}, "ORDERS", "cg", 2, byKey, -1, -1, pcgroups.WithMembers("m1"))
}

// A creation whose answer is lost has happened or has not, and the caller's key
// may not be the caller's any more when it comes to removing it. Guessing wrong
// either way removes a group in use or leaves half of one.
func TestAdminCreateInterrupted(t *testing.T) {
	t.Parallel()
	lost := errors.New("the answer was lost")
	t.Run("answer lost", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		c, err := a.create(a.ctx(), func(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
			_, err := a.js.CreateStream(ctx, c)
			return nil, errors.Join(lost, err)
		})
		must(t, err)
		if c == nil || c.Revision() != a.revision(pcgroups.ElasticBucket, "cg") || !slices.Equal(c.Members, []string{"m1"}) {
			t.Errorf("the group is there, but got %+v", c)
		}
	})
	t.Run("request lost", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := a.create(a.ctx(), func(context.Context, jetstream.StreamConfig) (jetstream.Stream, error) { return nil, lost })
		refused(t, err, lost)
		a.nothingLeft()
	})
	t.Run("caller gone", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		ctx, cancel := context.WithCancel(a.ctx())
		_, err := a.create(ctx, func(context.Context, jetstream.StreamConfig) (jetstream.Stream, error) {
			cancel()
			return nil, ctx.Err()
		})
		refused(t, err, context.Canceled)
		a.nothingLeft()
	})
	t.Run("key moved", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := a.create(a.ctx(), func(ctx context.Context, _ jetstream.StreamConfig) (jetstream.Stream, error) {
			_, err := pcgroups.AddMembers(ctx, a.js, "ORDERS", "cg", []string{"m2"})
			return nil, errors.Join(lost, err)
		})
		refused(t, err, lost, pcgroups.ErrConflict)
		if !strings.Contains(err.Error(), "left in place") {
			t.Errorf("it is not told what is left: %v", err)
		}
		c, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", "cg")
		must(t, err)
		sameStrings(t, "members", c.Members, "m1", "m2")
		_, err = elastic(2, byKey, -1, -1)(a)
		must(t, err)
		if !a.hasStream("ORDERS-cg") {
			t.Error("creating it again did not help")
		}
	})
	t.Run("somebody else's stream came first", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		_, err := a.create(a.ctx(), func(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
			a.addStream(jetstream.StreamConfig{Name: c.Name, Subjects: []string{"mine"}})
			return a.js.CreateStream(ctx, c)
		})
		refused(t, err, pcgroups.ErrNotGroupStream)
		if a.revision(pcgroups.ElasticBucket, "cg") != 0 {
			t.Error("the configuration was left behind")
		}
		sameStrings(t, "subjects of the other stream", a.streamConfig("ORDERS-cg").Subjects, "mine")
	})
	t.Run("another creator came first", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		c, err := a.create(a.ctx(), func(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
			c.Metadata = map[string]string{"made": "elsewhere"}
			if _, err := a.js.CreateStream(ctx, c); err != nil {
				return nil, err
			}
			c.Metadata = nil
			return a.js.CreateStream(ctx, c)
		})
		if err != nil || c == nil {
			t.Errorf("got %v, %v", c, err)
		}
	})
}

// A group that lost its stream, or its key, would be lost for good if creating
// it again, which programs do at every start, did not mend it: the oracle makes
// members of the first wait for ever. But mending must not throw away the
// messages that wait in the stream, nor the members.
func TestAdminCreateMends(t *testing.T) {
	t.Parallel()
	t.Run("stream missing", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("cg", "m1")
		want, before := a.streamConfig("ORDERS-cg"), a.revision(pcgroups.ElasticBucket, "cg")
		must(t, a.js.DeleteStream(a.ctx(), "ORDERS-cg"))
		_, err := elastic(4, byKey, -1, -1)(a, pcgroups.FailIfExists())
		refused(t, err, pcgroups.ErrGroupExists)
		_, err = elastic(3, byKey, -1, -1)(a)
		refused(t, err, pcgroups.ErrGroupExists)
		if a.hasStream("ORDERS-cg") {
			t.Error("a refused creation made the stream")
		}
		after, err := elastic(4, byKey, -1, -1)(a)
		must(t, err)
		if after != before || a.revision(pcgroups.ElasticBucket, "cg") != before {
			t.Error("the configuration was rewritten")
		}
		if got := a.streamConfig("ORDERS-cg"); got.Sources[0].SubjectTransforms[0] != want.Sources[0].SubjectTransforms[0] || got.Retention != want.Retention {
			t.Errorf("made %+v, was %+v", got, want)
		}
	})
	t.Run("key missing", func(t *testing.T) {
		t.Parallel()
		a := newAdmin(t)
		a.elasticGroup("cg", "m1")
		a.publish(3, 1)
		a.holds("ORDERS-cg", 3)
		must(t, a.bucket(pcgroups.ElasticBucket).Delete(a.ctx(), "ORDERS.cg"))
		w := a.writes(func() {
			_, err := elastic(4, byKey, -1, -1)(a, pcgroups.WithMembers("m2"), pcgroups.FailIfExists())
			must(t, err)
		})
		for _, subject := range w {
			if !strings.HasPrefix(subject, "$KV.") {
				t.Errorf("more than the key was written: %q", w)
			}
		}
		a.holds("ORDERS-cg", 3)
		c, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", "cg")
		must(t, err)
		sameStrings(t, "members", c.Members, "m2")
	})
}

// While a cluster creates a stream it drops questions about it, and a bucket can
// be seen before anybody takes what is sent to it. Of ten programs that start
// together in a fresh account some would wait until their time is up, and others
// be told that JetStream is not enabled.
func TestAdminClusterAtWork(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	js := &meddled{JetStream: a.js}
	for _, step := range []func() error{
		func() error { return add("m1")(a.ctx(), js) },
		func() error {
			_, err := pcgroups.CreateElastic(a.ctx(), js, "ORDERS", "cg2", 4, byKey, -1, -1)
			return err
		},
		func() error { return pcgroups.DeleteElastic(a.ctx(), js, "ORDERS", "cg") },
	} {
		js.unanswered.Store(1)
		js.unheard.Store(3)
		must(t, step())
		if js.unanswered.Load() >= 0 || js.unheard.Load() >= 0 {
			t.Error("it did not come to that")
		}
	}
}
