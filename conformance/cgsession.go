package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cliSession is a process of cg that consumes.
type cliSession struct {
	cli    *cli
	r      Request
	cmd    *exec.Cmd
	killed atomic.Bool

	begun  chan Event // messages whose handler has not ended
	mu     sync.Mutex
	reason string
	failed string
	joined chan struct{}
	once   sync.Once
}

func (c *cli) consume(r Request, args []string) error {
	s := &cliSession{cli: c, r: r, joined: make(chan struct{}), begun: make(chan Event, 1<<12)}
	s.cmd = exec.Command(c.bin, args...)
	s.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+c.home)
	out, err := s.cmd.StdoutPipe()
	var log io.ReadCloser
	if err == nil {
		log, err = s.cmd.StderrPipe()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHarness, err)
	}
	c.mu.Lock()
	c.sessions[r.Session] = s
	c.mu.Unlock()
	ended := make(chan struct{})
	c.running.Go(func() {
		defer close(ended)
		var reading sync.WaitGroup
		reading.Go(func() { s.messages(out) })
		reading.Go(func() { s.outcomes(log) })
		reading.Wait()
		_ = s.cmd.Wait() // what it had to say it has written
		select {
		case <-s.joined:
			s.mu.Lock()
			reason := s.reason
			s.mu.Unlock()
			c.report(Event{Event: EventEnded, Session: r.Session, Error: reason})
		default: // there was no session
		}
	})
	select {
	case <-s.joined:
		return nil
	case <-ended:
		s.mu.Lock()
		defer s.mu.Unlock()
		return errors.New("cg ended: " + s.failed)
	}
}

func (s *cliSession) kill() {
	s.killed.Store(true)
	_ = s.cmd.Process.Kill() // it may have ended by itself
}

var cliMessage = regexp.MustCompile(`\[[^\]]*\] subject=(\S+), seq=(\d+), pinnedID=(\S*)\. Processing`)

// messages reads the standard output, where each message leaves a piece of text
// that ends in "... ".
func (s *cliSession) messages(out io.Reader) {
	pieces := bufio.NewScanner(out)
	pieces.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		for _, end := range []string{" ... ", "\n"} {
			if i := bytes.Index(data, []byte(end)); i >= 0 {
				return i + len(end), data[:i], nil
			}
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for pieces.Scan() {
		if strings.HasSuffix(pieces.Text(), "consuming...") {
			s.once.Do(func() { close(s.joined) })
		}
		m := cliMessage.FindStringSubmatch(pieces.Text())
		if m == nil {
			continue
		}
		// Handlers may run before cg says that it consumes.
		s.once.Do(func() { close(s.joined) })
		e := Event{Event: EventMessage, Session: s.r.Session, Subject: m[1], Pinned: m[3], TimeNs: time.Now().UnixNano()}
		seq, _ := strconv.ParseUint(m[2], 10, 64) // digits
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		// A work queue that takes all of the origin's messages counts as the origin does.
		if origin, err := s.cli.js.Stream(ctx, s.r.Stream); err == nil {
			if msg, err := origin.GetMsg(ctx, seq); err == nil {
				e.Data = string(msg.Data)
			}
		}
		cancel()
		s.cli.report(e)
		s.begun <- e
	}
}

// outcomes reads the standard error, where cg tells of each acknowledgement and of
// its end.
func (s *cliSession) outcomes(log io.Reader) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		text := lines.Text()
		_, reason, failed := strings.Cut(text, "instanced returned with an error: ")
		s.mu.Lock()
		if failed {
			s.reason = reason
		}
		s.failed = text
		s.mu.Unlock()
		if strings.HasSuffix(text, "acked") || strings.Contains(text, "can not be acknowledged") {
			s.settled()
		}
	}
}

// settled reports the end of the oldest handler that runs. Its beginning comes by
// another pipe, so it may have to be waited for.
func (s *cliSession) settled() {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case e := <-s.begun:
		e.Event, e.TimeNs = EventDone, time.Now().UnixNano()
		s.cli.report(e)
	case <-limit.C: // it was killed in between
	}
}

func (c *cli) report(e Event) {
	c.tell.Lock()
	defer c.tell.Unlock()
	c.events(e)
}
