package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Prevents: a run that compiles, or waits for a long test, without a word, so
// that it looks hung; and signs of life between the lines of a run that has much
// to say.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		a := &alive{out: &out, every: 10 * time.Second, state: func() string { return "compiling" }}
		stop := a.watch()
		for range 3 {
			<-time.After(7 * time.Second)
			fmt.Fprintln(a, "--- PASS")
		}
		<-time.After(21 * time.Second)
		stop()
		const want = "--- PASS\n--- PASS\n--- PASS\n… compiling, 40s so far\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
