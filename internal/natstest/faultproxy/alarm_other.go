//go:build !linux

package faultproxy

import (
	"net"
	"sync"
	"time"
)

// alarm waits with the precision of Go's timers, in the worst case a
// millisecond too long.
type alarm struct {
	once   sync.Once
	closed chan struct{}
}

func newAlarm() (*alarm, error) { return &alarm{closed: make(chan struct{})}, nil }

// wait returns nil after d, or an error once the alarm is closed.
func (a *alarm) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-a.closed:
		return net.ErrClosed
	}
}

// Close ends a wait in progress and refuses later ones.
func (a *alarm) Close() error {
	a.once.Do(func() { close(a.closed) })
	return nil
}
