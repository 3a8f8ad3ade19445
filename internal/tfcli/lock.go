package tfcli

import (
	"context"
	"fmt"
	"os"
	"time"
)

// lock lets one process build at a time; the others wait, telling so, and then
// find the program ready. The system frees the lock of a process that dies, so
// no build is ever blocked by a leftover file.
func (b builder) lock(ctx context.Context, path, title string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { file.Close() }
	held, err := tryLock(file)
	if err == nil && held {
		return unlock, nil
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	err = b.whileTelling(func(sofar time.Duration) string {
		return fmt.Sprintf("waiting for another process that builds %s, %s so far", title, sofar)
	}, func() error { return lockWhenFree(ctx, file) })
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// lockWhenFree asks again and again, because a wait inside the system would
// not end with ctx.
func lockWhenFree(ctx context.Context, file *os.File) error {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
			if held, err := tryLock(file); err != nil || held {
				return err
			}
		}
	}
}
