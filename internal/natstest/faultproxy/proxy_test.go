package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// echo starts a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func start(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// roundTrip sends one byte and waits for it.
func roundTrip(c net.Conn) (time.Duration, error) {
	begin := time.Now()
	if _, err := c.Write([]byte{1}); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return time.Since(begin), err
}

// dialRoundTrip is a round trip on a new connection, or what prevents it: a
// reset may hit while dialling or later.
func dialRoundTrip(p *Proxy) error {
	c, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err = roundTrip(c)
	return err
}

func mustRoundTrip(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	d, err := roundTrip(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A delay that is slept per read would give 1/delay reads a second and make
// every benchmark at 10 ms measure the proxy. Here a few MiB, in many small
// writes, must pass in little more than one round trip, unchanged.
func TestDelayKeepsThroughputAndOrder(t *testing.T) {
	p := start(t, echo(t))
	const oneWay = 50 * time.Millisecond
	p.Delay(oneWay)
	c := dial(t, p)
	sent := make([]byte, 4<<20)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(sent)

	begin := time.Now()
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for rest := sent; len(rest) > 0; {
			n := min(1000, len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	})
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 2*oneWay {
		t.Errorf("took %v, less than a round trip of %v", took, 2*oneWay)
	} else if took > 60*oneWay {
		t.Errorf("took %v; the delay throttles", took)
	}
	if !bytes.Equal(got, sent) {
		t.Error("bytes changed on the way")
	}
}

// Shortening the delay must not let later bytes overtake those under way.
func TestShorterDelayDoesNotReorder(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	var sent []byte
	for i := range 40 {
		p.Delay(time.Duration(40-i) * time.Millisecond)
		sent = append(sent, byte(i))
		if _, err := c.Write(sent[i:]); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("got %v", got)
	}
}

// A cut that leaves a connection alive, or lets a new one through, makes every
// fault test pass for the wrong reason; a heal that does not work makes them
// hang.
func TestCutAndHeal(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	mustRoundTrip(t, c)
	if n := p.Links(); n != 1 {
		t.Fatalf("links = %d, want 1", n)
	}

	p.Cut()
	if _, err := roundTrip(c); err == nil || isTimeout(err) {
		t.Errorf("round trip on a cut connection: %v, want a broken connection", err)
	}
	if err := dialRoundTrip(p); err == nil || isTimeout(err) {
		t.Errorf("new connection during the cut: %v, want a broken connection", err)
	}

	p.Heal()
	mustRoundTrip(t, dial(t, p))
}

// Bytes under way when the link is cut are lost, not delivered later: a test
// of lost acks depends on it.
func TestCutDropsWhatIsUnderWay(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	mustRoundTrip(t, c)
	p.Delay(time.Hour)
	if _, err := c.Write([]byte("ack")); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if n, err := c.Read(make([]byte, 8)); err == nil || isTimeout(err) {
		t.Errorf("read %d bytes, %v; want a broken connection", n, err)
	}
}

// The end of one side must reach the other, after the bytes sent before it:
// else a server restart behind the proxy leaves clients on a dead connection.
func TestEndIsForwarded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, l.Addr().String())
	p.Delay(5 * time.Millisecond)
	c := dial(t, p)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("bye")); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "bye" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A target that is down must look like a broken connection, not like a slow
// one.
func TestTargetDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	p := start(t, addr)
	if err := dialRoundTrip(p); err == nil || isTimeout(err) {
		t.Errorf("round trip without a target: %v, want a broken connection", err)
	}
}

// Close must end every goroutine even while bytes are delayed; TestMain
// checks for what it leaves.
func TestCloseWhileBusy(t *testing.T) {
	p, err := Listen(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	p.Delay(time.Hour)
	c := dial(t, p)
	if _, err := c.Write(make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if n := p.Links(); n != 0 {
		t.Errorf("links after close = %d", n)
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("a closed proxy accepts")
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// BenchmarkRoundTrip reports what a nominal one-way delay really costs; the
// excess is the timer's.
func BenchmarkRoundTrip(b *testing.B) {
	for _, d := range []time.Duration{0, 500 * time.Microsecond, 5 * time.Millisecond} {
		b.Run(d.String(), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.Copy(c, c)
			}()
			p, err := Listen(l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			p.Delay(d)
			c, err := net.Dial("tcp", p.Addr())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for b.Loop() {
				if _, err := roundTrip(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
