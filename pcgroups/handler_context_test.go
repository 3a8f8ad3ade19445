package pcgroups

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
)

// Prevents: a context whose Done is never closed, as it ended while that was asked for.
func TestContextThatEndsWhileItIsAskedFor(t *testing.T) {
	for _, why := range []error{context.Canceled, context.DeadlineExceeded} {
		for range 2000 {
			var c handlerContext
			var both sync.WaitGroup
			var done <-chan struct{}
			both.Go(func() { done = c.Done() })
			both.Go(func() { c.end(why) })
			both.Wait()
			c.end(errors.New("too late"))
			<-done
			<-c.Done()
			if err := c.Err(); err != why { //nolint:errorlint // the very one
				t.Fatalf("ended by %v, not %v", err, why)
			}
		}
	}
}

// Prevents: a subject that carries no partition taken for one that does, or a partition
// that is not the one.
func TestLeadingPartition(t *testing.T) {
	most := strconv.Itoa(math.MaxInt32)
	for subject, want := range map[string]int{
		"0.a": 0, "7": 7, "12.b.c": 12, "007.a": 7, most + ".a": math.MaxInt32, "2147483648.a": -1, "99999999999999999999.a": -1,
		"": -1, ".a": -1, "+1.a": -1, "-1.a": -1, "1x.a": -1, "a.1": -1, "1_0.a": -1, "٣.a": -1,
	} {
		if got := leadingPartition(subject); got != want {
			t.Errorf("%q: %d, want %d", subject, got, want)
		}
	}
}
