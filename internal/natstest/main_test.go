package natstest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// Nothing is ignored: a stopped server, a closed connection and a closed proxy
// leave no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeT is a test whose failure is the thing under test.
type fakeT struct {
	testing.TB
	mu      sync.Mutex
	message string
}

func (f *fakeT) Helper() {}

func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.message += fmt.Sprintf(format, args...)
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *fakeT) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

// failureOf runs f as a test of its own and returns how it failed, empty if it
// passed.
func failureOf(t *testing.T, f func(t testing.TB)) string {
	fake := &fakeT{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { f(fake) })
	wg.Wait()
	return fake.message
}
