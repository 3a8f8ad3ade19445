package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// alive passes on what is written, and says that the run goes on when nothing
// was for some time: tests are compiled for a minute or two the first time, and
// some of them take long.
type alive struct {
	out   io.Writer
	every time.Duration
	state func() string // how far the run is

	mu   sync.Mutex
	last time.Time // of a line
}

func (a *alive) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
	return a.out.Write(text)
}

// watch writes the signs of life until stop is called.
func (a *alive) watch() (stop func()) {
	began := time.Now()
	a.last = began
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(a.every)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				a.mu.Lock()
				if now.Sub(a.last) >= a.every {
					fmt.Fprintf(a.out, "… %s, %s so far\n", a.state(), now.Sub(began).Round(time.Second))
				}
				a.mu.Unlock()
			}
		}
	})
	return func() {
		close(over)
		watching.Wait()
	}
}
