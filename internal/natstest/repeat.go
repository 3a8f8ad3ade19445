package natstest

import (
	"sync"
	"testing"
)

var (
	ranMu sync.Mutex
	ran   = make(map[string]bool)
)

// Repeated tells whether the test ran before in this process, which it does with
// -count. Long scenarios that do not hang on the order in which goroutines run
// return then, so that the others can be repeated many times within the usual
// time limit.
func Repeated(t testing.TB) bool {
	ranMu.Lock()
	defer ranMu.Unlock()
	before := ran[t.Name()]
	ran[t.Name()] = true
	return before
}
