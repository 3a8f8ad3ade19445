//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tfcli

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock if nobody has it, for as long as file stays open.
func tryLock(file *os.File) (held bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
