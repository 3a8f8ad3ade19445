package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// published is a message on its way from a client to the server.
type published struct {
	subject, reply string
	header, body   string
}

// rewritten is an implementation whose messages are changed on their way to the
// server, so that what the server gets, and the capture sees, is what a faulty
// implementation would send.
func rewritten(t *testing.T, i Implementation, change func(*published)) Implementation {
	open := i.Open
	i.Open = func(ctx context.Context, server string, events func(Event)) (Peer, error) {
		proxy, err := startMITM(t, server, change)
		if err != nil {
			return nil, err
		}
		return open(ctx, proxy, events)
	}
	return i
}

// startMITM listens on a port of its own and passes on to the server. It ends
// with the test.
func startMITM(t *testing.T, server string, change func(*published)) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { passOn(client, u.Host, change) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // ends the accepting; the connections end with their peers
		all.Wait()
	})
	return "nats://" + l.Addr().String(), nil
}

func passOn(client net.Conn, server string, change func(*published)) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, up) // until either side closes
		_ = client.Close()
	})
	from := bufio.NewReader(client)
	for {
		text, err := from.ReadString('\n')
		if err != nil {
			break
		}
		out := []byte(text)
		if strings.HasPrefix(text, "PUB ") || strings.HasPrefix(text, "HPUB ") {
			if out, err = rewriteOne(text, from, change); err != nil {
				break
			}
		}
		if _, err := up.Write(out); err != nil {
			break
		}
	}
	_ = up.Close()
	back.Wait()
}

// rewriteOne reads the rest of a message whose first line is given, and returns
// the message as changed.
func rewriteOne(first string, from io.Reader, change func(*published)) ([]byte, error) {
	fields := strings.Fields(first)
	sizes := 1
	if fields[0] == "HPUB" {
		sizes = 2
	}
	var m published
	m.subject = fields[1]
	if len(fields) == 3+sizes {
		m.reply = fields[2]
	}
	total, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil, err
	}
	payload := make([]byte, total+2)
	if _, err := io.ReadFull(from, payload); err != nil {
		return nil, err
	}
	header := 0
	if sizes == 2 {
		if header, err = strconv.Atoi(fields[len(fields)-2]); err != nil {
			return nil, err
		}
	}
	m.header, m.body = string(payload[:header]), string(payload[header:total])
	change(&m)
	var out bytes.Buffer
	if m.header == "" {
		fmt.Fprintf(&out, "PUB %s %s %d\r\n%s\r\n", m.subject, m.reply, len(m.body), m.body)
	} else {
		fmt.Fprintf(&out, "HPUB %s %s %d %d\r\n%s%s\r\n", m.subject, m.reply, len(m.header), len(m.header)+len(m.body), m.header, m.body)
	}
	return out.Bytes(), nil
}
