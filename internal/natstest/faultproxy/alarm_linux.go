package faultproxy

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// alarm waits with the kernel's precision, about 50 µs. A [time.Timer] waits
// in whole milliseconds when the process is idle, which would more than double
// a round trip of one millisecond and with it whatever is measured through it.
// Reading a timer descriptor parks the goroutine like reading a socket does.
type alarm struct{ file *os.File }

// clockMonotonic is CLOCK_MONOTONIC; package syscall does not name it.
const clockMonotonic = 1

func newAlarm() (*alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic,
		syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, fmt.Errorf("fault proxy: timerfd_create: %w", errno)
	}
	return &alarm{os.NewFile(fd, "timerfd")}, nil
}

// wait returns nil after d, which must be positive, or an error once the alarm
// is closed.
func (a *alarm) wait(d time.Duration) error {
	// struct itimerspec: the interval, zero for once only, and the value.
	spec := [2]syscall.Timespec{{}, syscall.NsecToTimespec(int64(d))}
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, fd, 0,
			uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	})
	if err != nil {
		return err
	}
	if errno != 0 {
		return fmt.Errorf("fault proxy: timerfd_settime: %w", errno)
	}
	var expirations [8]byte
	_, err = a.file.Read(expirations[:])
	return err
}

// Close ends a wait in progress and refuses later ones.
func (a *alarm) Close() error { return a.file.Close() }
