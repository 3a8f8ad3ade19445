package pcgroups_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: somebody who gives up waiting, with Ctrl-C for one, being told only
// that, although the server has refused what was waited for.
func TestJoinRefused_cancelled(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	r := newRefusing(t, true)
	r.groups("m1")
	for i, c := range refusals {
		if c.joins {
			continue
		}
		t.Run(c.subject, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			js := r.user(i, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
				if errors.Is(err, nats.ErrPermissionViolation) {
					cancel()
				}
			}))
			s, err := pcgroups.ElasticConsume(ctx, js, "ORDERS", "workers", "m1", ignore, strict(2*time.Second))
			if err == nil {
				s.Stop()
				<-s.Closed()
			}
			refused(t, err, context.Canceled)
			if errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("who cancelled is taken for one who may not: %v", err)
			}
			if want, _, _ := strings.Cut(c.subject, ".>"); !strings.Contains(err.Error(), want) {
				t.Errorf("it does not tell that %s is refused: %v", c.subject, err)
			}
		})
	}
}
