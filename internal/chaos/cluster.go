package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	nodes = 3
	// patience bounds every wait for what takes a second or ten. An unlucky
	// election takes nine, and the machine may be busy.
	patience = 60 * time.Second
)

// cluster is three server processes.
type cluster struct {
	nodes []*node
	sys   *nats.Conn // as the system account
}

func startCluster(ctx context.Context, dir string) (*cluster, error) {
	ports, err := freePorts(3 * nodes)
	if err != nil {
		return nil, err
	}
	var routes []string
	for i := range nodes {
		routes = append(routes, fmt.Sprintf("%s:%d", host, ports[3*i+1]))
	}
	c := &cluster{}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		c.nodes = append(c.nodes, &node{config: nodeConfig{
			Name: name, Dir: filepath.Join(dir, name), Client: ports[3*i], Route: ports[3*i+1], Monitor: ports[3*i+2], Routes: routes,
		}})
	}
	errs := make([]error, nodes)
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = n.start(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.close()
		return nil, err
	}
	if c.sys, err = c.connect("system", nats.UserInfo("sys", "sys")); err == nil {
		err = c.waitHealthy(ctx)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) close() {
	if c.sys != nil {
		c.sys.Close()
	}
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(n.kill)
	}
	wg.Wait()
}

// connect dials any node, with reconnects without end. The caller closes it.
func (c *cluster) connect(name string, opts ...nats.Option) (*nats.Conn, error) {
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, "nats://"+n.config.addr())
	}
	return dial(name, urls, opts...)
}

func dial(name string, urls []string, opts ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(strings.Join(urls, ","), append([]nats.Option{
		nats.Name(name), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(false),
		nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else they are printed
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connecting %s: %w", name, err)
	}
	return nc, nil
}

// waitHealthy waits until there is a meta leader that all nodes agree on and
// every stream and consumer of every node is caught up.
func (c *cluster) waitHealthy(ctx context.Context) error {
	return await(ctx, 2*patience, func() error {
		leader := ""
		for _, n := range c.nodes {
			if _, err := n.monitor("/healthz"); err != nil {
				return err
			}
			body, err := n.monitor("/jsz")
			if err != nil {
				return err
			}
			var js struct {
				Meta struct {
					Leader string `json:"leader"`
				} `json:"meta_cluster"`
			}
			if err := json.Unmarshal(body, &js); err != nil {
				return err
			}
			if l := js.Meta.Leader; l == "" || leader != "" && l != leader {
				return fmt.Errorf("%s takes %q for the meta leader, another node %q", n.config.Name, l, leader)
			}
			leader = js.Meta.Leader
		}
		return nil
	})
}

// stepDownMeta has the meta leader hand over.
func (c *cluster) stepDownMeta() error {
	_, err := c.sys.Request("$JS.API.META.LEADER.STEPDOWN", nil, 5*time.Second)
	return err
}

// freePorts finds ports below those that the kernel lends to outgoing
// connections, which could take one while its server is down.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range 1000 {
		port := 15000 + rand.IntN(15000)
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		if err != nil {
			continue
		}
		defer l.Close() // all stay taken until all are found
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free ports between 15000 and 30000")
}
