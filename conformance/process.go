package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// adapterPatience is how long an adapter may take to introduce itself, which for
// some languages includes compiling, and to end when its input does.
const adapterPatience = 2 * time.Minute

// Program is an implementation that runs as a program of its own and speaks the
// protocol of README.md on its standard input and output. It is started once for
// every instance. The command is split at spaces.
func Program(ctx context.Context, command string) (Implementation, error) {
	args := strings.Fields(command)
	if len(args) == 0 {
		return Implementation{}, errors.New("no command")
	}
	p, err := startProgram(args, func(Event) {})
	if err != nil {
		return Implementation{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, adapterPatience)
	defer cancel()
	out, err := p.Call(ctx, Request{Op: OpHello})
	err = errors.Join(err, p.Close())
	if err != nil {
		return Implementation{}, err
	}
	switch h := out.Hello; {
	case h == nil || h.Name == "":
		return Implementation{}, fmt.Errorf("%w: %s did not tell its name", ErrHarness, command)
	case h.Protocol != ProtocolVersion:
		return Implementation{}, fmt.Errorf("%w: %s speaks version %d of the protocol, not %d", ErrHarness, command, h.Protocol, ProtocolVersion)
	}
	return Implementation{Hello: *out.Hello, Open: func(ctx context.Context, url string, events func(Event)) (Peer, error) {
		p, err := startProgram(args, events)
		if err != nil {
			return nil, err
		}
		if _, err := p.Call(ctx, Request{Op: OpConnect, URL: url}); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: connect: %w", ErrHarness, err), p.Close())
		}
		return p, nil
	}}, nil
}

// program is a running adapter.
type program struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr tail
	events func(Event)
	ended  chan struct{} // closed when its output is at its end

	mu      sync.Mutex
	next    int
	waiting map[int]chan line
	closing bool
}

func startProgram(args []string, events func(Event)) (*program, error) {
	p := &program{events: events, ended: make(chan struct{}), waiting: map[int]chan line{}}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrHarness, args[0], err)
	}
	p.in = in
	go p.read(out)
	return p, nil
}

func (p *program) read(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			continue // some libraries print; what is missing then is noticed
		}
		if l.Event.Event != "" {
			p.mu.Lock()
			closing := p.closing
			p.mu.Unlock()
			if !closing {
				p.events(l.Event)
			}
			continue
		}
		p.mu.Lock()
		ch := p.waiting[l.ID]
		delete(p.waiting, l.ID)
		p.mu.Unlock()
		if ch != nil {
			ch <- l
		}
	}
}

// Call sends a request and waits for its response.
func (p *program) Call(ctx context.Context, r Request) (Answer, error) {
	ch := make(chan line, 1)
	p.mu.Lock()
	p.next++
	r.ID = p.next
	p.waiting[r.ID] = ch
	text, err := json.Marshal(r)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %s: %w", ErrHarness, r.Op, err)
	}
	select {
	case l := <-ch:
		return l.answer(r.Op)
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("%w: the adapter gave no answer to %s: %w%s", ErrHarness, r.Op, ctx.Err(), &p.stderr)
	case <-p.ended:
		select {
		case l := <-ch:
			return l.answer(r.Op)
		default:
			return Answer{}, fmt.Errorf("%w: the adapter ended without an answer to %s%s", ErrHarness, r.Op, &p.stderr)
		}
	}
}

func (l line) answer(op string) (Answer, error) {
	switch {
	case l.Fault != nil && l.Fault.Code == CodeUnsupported:
		return Answer{}, fmt.Errorf("%w: %s: %s", ErrUnsupported, op, l.Fault.Message)
	case l.Fault != nil:
		return Answer{}, errors.New(l.Fault.Message)
	case l.Result == nil:
		return Answer{}, nil
	}
	return *l.Result, nil
}

// Close kills the program: that is the crash which Close stands for.
func (p *program) Close() error {
	p.mu.Lock()
	again := p.closing
	p.closing = true
	p.mu.Unlock()
	if again {
		return nil
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
	_ = p.cmd.Wait() // it was killed
	return nil
}

// tail keeps the end of what a program writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

// Write keeps at most the last 4 KiB.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(b), nil
}

// String is what to add to an error message.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "; it wrote: " + string(bytes.TrimSpace(t.text))
}
