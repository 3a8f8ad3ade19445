package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// echo is an implementation that refuses everything but knows no other fault.
type echo struct{}

func (echo) Call(_ context.Context, r Request) (Answer, error) {
	if r.Op == OpGet {
		return Answer{Config: json.RawMessage(`{"max_members":1}`)}, nil
	}
	return Answer{}, ErrUnsupported
}

func (echo) Close() error { return nil }

// FuzzServe gives an adapter any lines. It must not panic or hang, and must answer
// each request that is one with its own id, or end with an error.
func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"op":"hello"}` + "\n" + `{"id":2,"op":"connect","url":"nats://x"}` + "\n" + `{"id":3,"op":"get"}` + "\n")
	f.Add(`{"id":1,"op":"get"}`)
	f.Add("{}\n\n{}")
	f.Add(`{"id":99999999999999999999,"op":"hello"}`)
	f.Add(`{"id":1,"op":"hello","max_members":-1}`)
	f.Add(`{"id":1,"op":"hello","members":{"a":1}}`)
	f.Add("null\n[]\n\"\"\n")
	f.Add("{\"id\":1,\"op\":\"hello\"}\r\n\xff\xfe")
	f.Add(strings.Repeat("[", 20_000))
	f.Fuzz(func(t *testing.T, in string) {
		i := Implementation{
			Hello: Hello{Protocol: ProtocolVersion, Name: "echo"},
			Open:  func(context.Context, string, func(Event)) (Peer, error) { return echo{}, nil },
		}
		var out bytes.Buffer
		err := Serve(t.Context(), i, strings.NewReader(in), &out)
		requests, whole := 0, true
		for line := range strings.Lines(in) {
			var r Request
			if json.Unmarshal([]byte(line), &r) != nil {
				whole = false
				break
			}
			requests++
		}
		if (err == nil) != whole && len(in) < 1<<20 {
			t.Fatalf("%q: %v", in, err)
		}
		if answers := strings.Count(out.String(), "\n"); answers != requests {
			t.Fatalf("%q: %d requests, answers %s", in, requests, &out)
		}
	})
}

// FuzzAdapterOutput gives the suite any output of an adapter under test. It must
// not panic, must take no line for the answer to another request, and must end
// when the adapter does.
func FuzzAdapterOutput(f *testing.F) {
	f.Add(`{"id":1,"result":{}}` + "\n")
	f.Add(`{"id":1,"fault":{"code":"unsupported","message":"no"}}` + "\n")
	f.Add(`{"id":2,"result":{}}` + "\n" + `{"id":1}` + "\n" + `{"id":1,"result":null}` + "\n")
	f.Add(`{"event":"message","session":"s","data":"1"}` + "\n" + "panic: x\n\n" + `{"event":3}`)
	f.Add(`{"id":1,"result":{"hello":{"protocol":"one"}}}`)
	f.Add(strings.Repeat(`{"result":`, 20_000))
	f.Fuzz(func(t *testing.T, out string) {
		answered := make(chan line, 1)
		p := &program{events: func(Event) {}, ended: make(chan struct{}), waiting: map[int]chan line{1: answered}}
		read := make(chan struct{})
		go func() { defer close(read); p.read(io.NopCloser(strings.NewReader(out))) }()
		select {
		case <-read:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not end")
		}
		select {
		case l := <-answered:
			if l.ID != 1 {
				t.Fatalf("%q: the answer to %d", out, l.ID)
			}
			if _, err := l.answer(OpGet); l.Fault != nil && err == nil || l.Fault == nil && errors.Is(err, ErrUnsupported) {
				t.Fatalf("%q: %+v is %v", out, l, err)
			}
		default:
		}
	})
}
