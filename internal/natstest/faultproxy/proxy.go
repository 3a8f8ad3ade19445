// Package faultproxy is a TCP proxy that can cut a link or make it slow. It is
// written by hand, although toxiproxy exists, because it must run inside the
// process next to the thing under test, without a second HTTP server, a global
// logger or a dependency of the module, and because its delay must not cost
// throughput.
package faultproxy

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy listens on a free port of 127.0.0.1 and forwards every connection to
// its target. Its methods are safe for concurrent use.
//
// A client of a clustered server learns the other nodes' addresses and would
// reconnect around the proxy; dial with nats.IgnoreDiscoveredServers.
type Proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // one way, in nanoseconds
	wg       sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	links map[*link]struct{}
}

// Listen starts a proxy in front of target, a host:port. The target is dialled
// once per connection, so it may be down and may come back.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, links: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is the host:port to dial instead of the target.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is [Proxy.Addr] as a NATS URL.
func (p *Proxy) URL() string { return "nats://" + p.Addr() }

// Cut resets all live connections, dropping what is under way, and resets
// every new one at once. The port stays bound, so that [Proxy.Heal] cannot
// fail because somebody else took it.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for l := range p.links {
		l.reset()
	}
}

// Heal ends a [Proxy.Cut]: new connections are forwarded again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

// Delay sets the latency added to each direction, so the round trip grows by
// 2d. It holds for bytes that arrive from now on. Order and throughput are
// kept: everything is forwarded d after it arrived, however much is under way.
// On Linux a round trip is exact to about 0.2 ms, elsewhere to about 2 ms.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Links is the number of live connections.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close stops the proxy, closes all connections and returns when its last
// goroutine has ended. A closed proxy stays closed.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // only Close closes the listener
		}
		p.wg.Go(func() { p.forward(client) })
	}
}

// forward dials the target for one client and moves bytes both ways until
// either side ends or the link is cut.
func (p *Proxy) forward(client net.Conn) {
	l := newLink(client)
	if !p.add(l) { // before dialling: a cut must not wait for a dead target
		return
	}
	defer p.remove(l)
	server, err := (&net.Dialer{}).DialContext(l.ended, "tcp", p.target)
	if err != nil || !l.join(server) {
		l.reset()
		return
	}
	var pipes sync.WaitGroup
	pipes.Go(func() { l.pipe(server, client, &p.delay) })
	pipes.Go(func() { l.pipe(client, server, &p.delay) })
	pipes.Wait()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		l.reset()
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
