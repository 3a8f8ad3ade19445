package pcgroups

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ConsumerGroupConsumeContext is the part of a session that the oracle has.
type ConsumerGroupConsumeContext interface {
	// Stop asks the session to end and returns at once. No further message is
	// started, what is buffered is given back, and a running handler may finish
	// until its message's ack deadline. It may be called at any time, by several
	// goroutines, more than once, and from a handler. While the connection is down
	// the end takes some 5 s, which the client waits for its server.
	Stop()
	// Done delivers the session's error once it has ended, nil after Stop or the
	// group's deletion, and is closed then. Only one receiver gets the error; the
	// methods of Session serve any number.
	Done() <-chan error
}

// Session is an instance of a member that consumes, or waits until it may.
type Session interface {
	ConsumerGroupConsumeContext

	// Closed is closed when the session has ended.
	Closed() <-chan struct{}
	// Err returns what ended the session: nil while it runs, and nil if it was
	// stopped or its group was deleted.
	Err() error
	// Wait returns the session's error when it has ended, or that of ctx. It
	// leaves Done alone.
	Wait(ctx context.Context) error
	// WaitForConsuming returns nil when the session is (or, with false, is not)
	// attached to its member's consumer. If the session ends first, the result is
	// its error, or ErrSessionEnded if it has none; if ctx does, that of ctx.
	WaitForConsuming(ctx context.Context, consuming bool) error
	// Status tells how the session is doing.
	Status() Status
}

// ErrSessionEnded is returned by WaitForConsuming when the session was stopped
// or its group was deleted.
var ErrSessionEnded = errors.New("the session has ended")

// Status is how a session is doing at one moment.
type Status struct {
	Consuming     bool   // attached to the member's consumer and pulling
	Pinned        bool   // the newest delivery carried a pin that was not taken away since
	Partitions    []int  // the partitions of the consumer it is attached to
	Held          int    // messages delivered that wait for an earlier one of their partition, or their turn
	Stalled       []int  // partitions that hold up all others; see Events.PartitionStalled
	Recovered     uint64 // how many faults were absorbed
	LastRecovered error  // the newest of them
}

// session is the public face of a running loop: what may be asked of it from
// outside, by any goroutine.
type session struct {
	stop  chan struct{} // closed by Stop
	once  sync.Once     // guards stop
	ready chan struct{} // closed when the first attempt to join is over
	ended chan struct{} // closed when all is down
	done  chan error    // one error, then closed

	runner atomic.Pointer[runner] // of the newest pull

	mu      sync.Mutex
	status  Status
	err     error
	since   time.Time     // when it began to consume; zero: it does not
	changed chan struct{} // closed and replaced whenever the status changes
}

var _ Session = (*session)(nil)

func newSession() *session {
	return &session{
		stop:    make(chan struct{}),
		ready:   make(chan struct{}),
		ended:   make(chan struct{}),
		done:    make(chan error, 1),
		changed: make(chan struct{}),
	}
}

func (s *session) Stop()                   { s.once.Do(func() { close(s.stop) }) }
func (s *session) Done() <-chan error      { return s.done }
func (s *session) Closed() <-chan struct{} { return s.ended }

func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *session) Wait(ctx context.Context) error {
	select {
	case <-s.ended:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) WaitForConsuming(ctx context.Context, consuming bool) error {
	for {
		s.mu.Lock()
		is, changed := s.status.Consuming, s.changed
		s.mu.Unlock()
		select {
		case <-s.ended:
			if err := s.Err(); err != nil {
				return err
			}
			if !consuming {
				return nil
			}
			return ErrSessionEnded
		default:
		}
		if is == consuming {
			return nil
		}
		select {
		case <-changed:
		case <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Partitions = slices.Clone(st.Partitions)
	st.Stalled = slices.Clone(st.Stalled)
	if r := s.runner.Load(); r != nil && st.Consuming {
		st.Held = r.held()
	}
	return st
}

// update changes the status and wakes whoever waits for it.
func (s *session) update(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.status.Consuming
	change(&s.status)
	switch is := s.status.Consuming; {
	case !is:
		s.since = time.Time{}
	case !was:
		s.since = time.Now()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// consumingSince is when the pull began that is under way; zero: there is none.
func (s *session) consumingSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}

// finish makes the end known, once everything is down.
func (s *session) finish(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.update(func(st *Status) { st.Consuming, st.Pinned, st.Partitions = false, false, nil })
	close(s.ended)
	s.done <- err
	close(s.done)
}
