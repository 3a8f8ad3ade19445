package pcgroups_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain catches goroutines that outlive the tests: a watcher, a pull or a
// timer that a session forgot.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
