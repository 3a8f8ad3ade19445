package chaos

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"time"
)

// tap is the connection of an instance to a server. It reads along what the
// instance gets and says about messages.
//
// A subscription to $JS.ACK.> would not do. It can not tell who said a thing, it
// loses some of it while routes come and go, and its very interest changes what
// is looked at: a request for more time that no leader hears would not be
// answered by "no responders" any more.
type tap struct {
	net.Conn
	in, out wire
}

// tapDialer dials like [net.Dialer] and taps.
type tapDialer struct {
	records  *records
	instance string
}

func (d tapDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	t := &tap{Conn: c}
	t.in.frame = func(f frame) {
		if id, consumer, n, ok := ackSubject(f.reply); ok {
			d.records.add(id, record{what: got, instance: d.instance, consumer: consumer, deliveries: n})
		}
	}
	t.out.frame = func(f frame) {
		if id, consumer, n, ok := ackSubject(f.subject); ok {
			d.records.add(id, record{what: said(f.body), instance: d.instance, consumer: consumer, deliveries: n})
		}
	}
	return t, nil
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.in.feed(p[:n])
	return n, err
}

// Write takes note before it writes, as the answer may be quicker than its
// return.
func (t *tap) Write(p []byte) (int, error) {
	t.out.feed(p)
	return t.Conn.Write(p)
}

// frame is a message of the client protocol.
type frame struct {
	subject, reply string
	body           []byte // what is first in it, without headers
}

const (
	longestLine = 16 << 10 // a longer one is an INFO, of no interest
	keptOfBody  = 32
)

// wire reads the messages in one direction of a connection. It belongs to one
// goroutine, as the client has one that reads and a lock for who writes.
type wire struct {
	frame func(frame)

	line    []byte
	now     frame
	headers int // bytes of them to come
	left    int // bytes of headers, body and the end of line to come
}

func (w *wire) feed(p []byte) {
	for len(p) > 0 {
		if w.left > 0 {
			p = w.body(p)
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			if len(w.line) < longestLine {
				w.line = append(w.line, p...)
			}
			return
		}
		w.line = append(w.line, p[:end]...)
		p = p[end+1:]
		w.begin()
		w.line = w.line[:0]
	}
}

// begin reads the first line of what may be a message.
func (w *wire) begin() {
	f := strings.Fields(string(w.line))
	if len(f) < 3 {
		return // PING, PONG, +OK, INFO, CONNECT, UNSUB
	}
	// PUB subject [reply] size             HPUB subject [reply] headers size
	// MSG subject sid [reply] size         HMSG subject sid [reply] headers size
	args, sizes := f[1:], 1
	switch f[0] {
	case "PUB":
	case "HPUB":
		sizes = 2
	case "MSG":
		args = append(args[:1], args[2:]...)
	case "HMSG":
		args = append(args[:1], args[2:]...)
		sizes = 2
	default:
		return // SUB, -ERR
	}
	if len(args) != 1+sizes && len(args) != 2+sizes {
		return
	}
	size, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return
	}
	w.now = frame{subject: args[0]}
	if len(args) == 2+sizes {
		w.now.reply = args[1]
	}
	w.headers = 0
	if sizes == 2 {
		w.headers, _ = strconv.Atoi(args[len(args)-2])
	}
	w.left = size + len("\r\n")
}

// body takes what p has of the message that was begun and returns the rest.
func (w *wire) body(p []byte) []byte {
	n := min(w.left, len(p))
	w.left -= n
	part, rest := p[:n], p[n:]
	skip := min(w.headers, len(part))
	w.headers -= skip
	part = part[skip:]
	w.now.body = append(w.now.body, part[:min(len(part), keptOfBody-len(w.now.body))]...)
	if w.left == 0 {
		w.now.body = bytes.TrimSuffix(w.now.body, []byte("\r\n"))
		w.frame(w.now)
		w.now = frame{}
	}
	return rest
}

// ackSubject takes a message's reply subject apart (ADR-15).
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<consumer sequence>.<time>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.… (11 tokens or more)
func ackSubject(subject string) (id messageID, consumer string, deliveries uint64, ok bool) {
	rest, ok := strings.CutPrefix(subject, "$JS.ACK.")
	if !ok {
		return id, "", 0, false
	}
	t := strings.Split(rest, ".")
	switch {
	case len(t) >= 9:
		t = t[2:]
	case len(t) != 7:
		return id, "", 0, false
	}
	deliveries, err1 := strconv.ParseUint(t[2], 10, 64)
	seq, err2 := strconv.ParseUint(t[3], 10, 64)
	stored, err3 := strconv.ParseInt(t[5], 10, 64)
	return messageID{t[0], seq, stored}, t[1], deliveries, err1 == nil && err2 == nil && err3 == nil
}
