package pcgroups_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents what the oracle does on nats-server 2.11 with a group keyed by the
// whole subject: an error 10146 that does not say why, and a configuration left
// without its stream. All else works there.
func TestServer211(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, js: natstest.StartRelease(t, "2.11.17").JetStream(), check: checker.New(), seq: make(map[string]uint64)}
	f.stream("ORDERS", 0)
	_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "whole", 2, nil, -1, -1)
	if !errors.Is(err, pcgroups.ErrServerTooOld) || !strings.Contains(err.Error(), "upgrade to nats-server 2.12 or later") {
		t.Fatalf("got %v", err)
	}
	if _, err := f.js.KeyValue(f.ctx(), pcgroups.ElasticBucket); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("something was written: %v", err)
	}

	_, err = pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 2,
		[]pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, -1, -1, pcgroups.WithMembers("m1"))
	if err != nil {
		t.Fatal(err)
	}
	a := f.member("m1", 0, strict(2*time.Second))
	f.publish(4, 5)
	f.allHandled(20)
	f.member("m1", 0, strict(2*time.Second))
	a.Stop()
	if err := waitDone(t, a); err != nil {
		t.Fatal(err)
	}
	f.publish(4, 5)
	f.allHandled(40)
}
