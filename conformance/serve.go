package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// Serve is the other end of Program for implementations in Go: it carries out
// what stands on in, one request a line, until in ends.
func Serve(ctx context.Context, i Implementation, in io.Reader, out io.Writer) error {
	s := &serving{out: json.NewEncoder(out)}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	var peer Peer
	var calls sync.WaitGroup
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		switch r.Op {
		case OpHello:
			s.write(line{ID: r.ID, Result: &Answer{Hello: &i.Hello}})
		case OpConnect:
			var err error
			peer, err = i.Open(ctx, r.URL, func(e Event) { s.write(line{Event: e}) })
			s.respond(r.ID, Answer{}, err)
		default:
			if peer == nil {
				s.respond(r.ID, Answer{}, errors.New("not connected"))
				continue
			}
			calls.Go(func() {
				out, err := peer.Call(ctx, r)
				s.respond(r.ID, out, err)
			})
		}
	}
	calls.Wait()
	if peer != nil {
		return errors.Join(lines.Err(), peer.Close())
	}
	return lines.Err()
}

type serving struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

func (s *serving) write(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.out.Encode(l)
	}
}

func (s *serving) respond(id int, a Answer, err error) {
	l := line{ID: id, Result: &a}
	if err != nil {
		l.Result, l.Fault = nil, &Failure{Message: err.Error()}
		if errors.Is(err, ErrUnsupported) {
			l.Fault.Code = CodeUnsupported
		}
	}
	s.write(l)
}
