package natstest

import (
	"strings"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/faultproxy"
)

// Proxy is a TCP proxy that can cut the link (Cut, Heal) or make it slow
// (Delay). See [faultproxy.Proxy].
type Proxy = faultproxy.Proxy

// StartProxy runs a proxy in front of target, a host:port or a server's URL,
// and closes it when the test ends. The target may restart meanwhile. Dial it
// with [Server.ConnectVia], or with its URL.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	if _, hostPort, isURL := strings.Cut(target, "://"); isURL {
		target = hostPort
	}
	p, err := faultproxy.Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
