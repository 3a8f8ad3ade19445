package pcgroups_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a limit of messages in flight that stays raised for good, as the session
// that raised it for a moment crashed then, and the others had joined before.
func TestLimitLeftRaisedIsPutBack(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t)
	f.elastic(1, "m1")
	f.member("m1", 0, strict(2*time.Second))
	f.publish(1, 1)
	f.allHandled(1)
	limit := func() (int, error) {
		c, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
		if err != nil {
			return 0, err
		}
		return c.CachedInfo().Config.MaxAckPending, nil
	}
	c, err := f.js.Consumer(f.ctx(), "ORDERS-workers", "m1")
	must(t, err)
	raised := c.CachedInfo().Config
	raised.MaxAckPending = 2
	_, err = f.js.UpdateConsumer(f.ctx(), "ORDERS-workers", raised)
	must(t, err)
	must(t, pcgroups.ElasticMemberStepDown(f.ctx(), f.js, "ORDERS", "workers", "m1"))
	f.publish(1, 10)
	f.allHandled(11)
	natstest.Eventually(t, patience, func() error {
		n, err := limit()
		if err == nil && n != 1 {
			err = fmt.Errorf("max_ack_pending is %d", n)
		}
		return err
	})
}
