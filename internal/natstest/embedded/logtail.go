package embedded

import (
	"errors"
	"fmt"
	"sync"
)

// logTailSize is the number of warnings and errors kept per run of a server:
// enough to explain a failed start, too few to matter for memory.
const logTailSize = 50

// logTail is the logger given to an embedded server. It prints nothing. It
// keeps the last warnings and errors, and the first fatal line: a server
// without a logger that cannot start (a port in use, a store directory in use,
// a clustered node without routes) returns from its start as if all were well.
type logTail struct {
	mu    sync.Mutex
	lines []string
	fatal string
}

// Noticef drops the line.
func (*logTail) Noticef(string, ...any) {}

// Debugf drops the line.
func (*logTail) Debugf(string, ...any) {}

// Tracef drops the line.
func (*logTail) Tracef(string, ...any) {}

// Warnf keeps the line.
func (l *logTail) Warnf(format string, v ...any) { l.keep("warning: ", format, v) }

// Errorf keeps the line.
func (l *logTail) Errorf(format string, v ...any) { l.keep("error: ", format, v) }

// Fatalf keeps the line and remembers it as the reason of a failed start. It
// does not end the process, as the server's own logger would.
func (l *logTail) Fatalf(format string, v ...any) {
	l.keep("fatal: ", format, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
}

func (l *logTail) keep(level, format string, v []any) {
	line := level + fmt.Sprintf(format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == logTailSize {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, line)
}

// err is the first fatal line, or nil.
func (l *logTail) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		return nil
	}
	return errors.New(l.fatal)
}

// tail copies the lines kept.
func (l *logTail) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}
