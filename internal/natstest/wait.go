package natstest

import (
	"testing"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

// Eventually looks at cond every few milliseconds until it returns nil. After
// timeout it fails the test with cond's last error. For what is announced, a
// message or a callback, use a [Recorder]: it needs no looking.
func Eventually(t testing.TB, timeout time.Duration, cond func() error) {
	t.Helper()
	if err := poll.Until(timeout, cond); err != nil {
		t.Fatal(err)
	}
}

// Never looks at cond every few milliseconds for the whole window and fails the
// test as soon as it is true; why says what that would mean. A window proves
// little: where an event marks the end of the danger, wait for that event.
func Never(t testing.TB, window time.Duration, cond func() bool, why string) {
	t.Helper()
	if !poll.While(window, func() bool { return !cond() }) {
		t.Fatalf("must never be: %s", why)
	}
}
