package pcgroups_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: messages acknowledged that were never handled. A handler that is slow for
// once keeps the client from its messages, which drops what it has no room for (64 MB),
// and those behind that would be begun before it comes again.
func TestClientWithoutRoom(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	const small, large, more = 300, 90, 50
	f := newFixture(t)
	f.elastic(1, "m1")
	n := 0
	publish := func(size int) {
		n++
		_, err := f.js.Publish(f.ctx(), "orders.k0", []byte(fmt.Sprintf("%04d", n)+strings.Repeat("x", size)))
		must(t, err)
	}
	for range small {
		publish(10)
	}
	for range large {
		publish(900 << 10)
	}
	hold := make(chan struct{})
	var mu sync.Mutex
	handled := make(map[string]bool)
	last := ""
	f.join(pcgroups.ElasticConsume, "m1", func(m jetstream.Msg) {
		name := string(m.Data()[:4])
		if name == fmt.Sprintf("%04d", small) {
			<-hold
		}
		mu.Lock()
		if !handled[name] && name < last {
			t.Errorf("%s was begun after %s", name, last)
		}
		handled[name], last = true, max(last, name)
		mu.Unlock()
		_ = m.Ack()
	}, many(5*time.Second, -1))
	natstest.Eventually(t, 3*patience, func() error {
		if got := f.js.Conn().Stats().InBytes; got < large*900<<10 {
			return fmt.Errorf("the client has read %d bytes", got)
		}
		return nil
	})
	close(hold)
	for range more {
		publish(10)
	}
	natstest.Eventually(t, 3*patience, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(handled) < n {
			return fmt.Errorf("%d of %d were handled", len(handled), n)
		}
		return nil
	})
}
