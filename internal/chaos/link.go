package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/faultproxy"
)

// link is the network between one instance and all servers.
type link struct{ proxies []*faultproxy.Proxy }

func newLink(c *cluster) (*link, error) {
	l := &link{}
	for _, n := range c.nodes {
		p, err := faultproxy.Listen(n.config.addr())
		if err != nil {
			l.close()
			return nil, err
		}
		l.proxies = append(l.proxies, p)
	}
	return l, nil
}

func (l *link) each(do func(*faultproxy.Proxy)) {
	for _, p := range l.proxies {
		do(p)
	}
}

func (l *link) cut()                  { l.each((*faultproxy.Proxy).Cut) }
func (l *link) heal()                 { l.each((*faultproxy.Proxy).Heal) }
func (l *link) close()                { l.each((*faultproxy.Proxy).Close) }
func (l *link) delay(d time.Duration) { l.each(func(p *faultproxy.Proxy) { p.Delay(d) }) }
func (l *link) urls() (urls []string) {
	l.each(func(p *faultproxy.Proxy) { urls = append(urls, p.URL()) })
	return
}

// dial connects an instance of that name; what it gets and says is recorded.
func (l *link) dial(n string, r *records) (*nats.Conn, error) {
	urls := l.urls()
	rand.Shuffle(len(urls), func(i, k int) { urls[i], urls[k] = urls[k], urls[i] })
	return dial(n, urls, nats.IgnoreDiscoveredServers(), nats.SetCustomDialer(tapDialer{r, n}))
}
