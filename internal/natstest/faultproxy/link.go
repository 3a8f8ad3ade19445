package faultproxy

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readSize = 32 << 10
	// queueLen is how many reads may be under way in one direction. When it
	// is full the sender feels back pressure, as on a real link, and the next
	// read is bigger.
	queueLen = 1024
)

// chunk is what one read returned and when it may be forwarded.
type chunk struct {
	data []byte
	due  time.Time
}

// link is one client connection and the connection made for it.
type link struct {
	ended context.Context // done when the link is
	stop  context.CancelFunc

	mu    sync.Mutex
	parts []io.Closer // connections and alarms; closed when the link ends
}

func newLink(client net.Conn) *link {
	l := &link{parts: []io.Closer{client}}
	l.ended, l.stop = context.WithCancel(context.Background())
	return l
}

// join makes c end with the link; false if the link has ended already.
func (l *link) join(c io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.Err() != nil {
		_ = c.Close()
		return false
	}
	l.parts = append(l.parts, c)
	return true
}

// reset ends the link so that both sides see a broken connection.
func (l *link) reset() { l.end(true) }

// close ends the link so that both sides see an orderly end.
func (l *link) close() { l.end(false) }

func (l *link) end(abort bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.Err() != nil {
		return
	}
	l.stop()
	for _, c := range l.parts {
		if tcp, ok := c.(*net.TCPConn); ok && abort {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// pipe moves bytes from src to dst, each delay after it was read, and returns
// when the link has ended. The end of src is forwarded like its last byte.
func (l *link) pipe(dst, src net.Conn, delay *atomic.Int64) {
	queue := make(chan chunk, queueLen)
	var reader sync.WaitGroup
	reader.Go(func() { l.read(queue, src, delay) })
	l.write(dst, queue)
	l.close()
	reader.Wait()
}

func (l *link) read(queue chan<- chunk, src net.Conn, delay *atomic.Int64) {
	defer close(queue)
	buf := make([]byte, readSize)
	for {
		n, err := src.Read(buf)
		c := chunk{append([]byte(nil), buf[:n]...), time.Now().Add(time.Duration(delay.Load()))}
		select {
		case queue <- c:
		case <-l.ended.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *link) write(dst net.Conn, queue <-chan chunk) {
	clock, err := newAlarm()
	if err != nil || !l.join(clock) {
		return
	}
	for c := range queue {
		if wait := time.Until(c.due); wait > 0 && clock.wait(wait) != nil {
			return
		}
		if _, err := dst.Write(c.data); err != nil {
			return
		}
	}
}
