package pcgroups

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// handlerContext is the context of one handler call. It is part of the delivery,
// and nothing is made for a handler that does not look at it: with a context and
// a timer for each message, handling one that does nothing took six times as long.
type handlerContext struct {
	state atomic.Pointer[contextState] // nil: nobody has asked, and it has not ended
}

// contextState is what somebody has asked for.
type contextState struct {
	done chan struct{}
	once sync.Once
	err  error // set before done is closed
}

var _ context.Context = (*handlerContext)(nil)

// canceled is the state of every context that ends, unasked, with its handler.
var canceled = endedWith(context.Canceled)

func endedWith(err error) *contextState {
	s := &contextState{done: make(chan struct{})}
	s.end(err)
	return s
}

func (s *contextState) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.done)
	})
}

// Deadline is not known: InProgress moves it.
func (c *handlerContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nothing.
func (c *handlerContext) Value(any) any { return nil }

// Done is closed when the handler should give up.
func (c *handlerContext) Done() <-chan struct{} {
	if c.state.Load() == nil {
		c.state.CompareAndSwap(nil, &contextState{done: make(chan struct{})})
	}
	return c.state.Load().done
}

// Err tells why it should.
func (c *handlerContext) Err() error {
	s := c.state.Load()
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// end ends the context, once.
func (c *handlerContext) end(err error) {
	if c.state.Load() == nil {
		s := canceled
		if err != context.Canceled { //nolint:errorlint // the very one
			s = endedWith(err)
		}
		if c.state.CompareAndSwap(nil, s) {
			return
		}
	}
	c.state.Load().end(err)
}
