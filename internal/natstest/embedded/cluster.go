package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
)

// ReadyTimeout bounds the wait for a cluster to be whole. Forming one takes
// half a second, an unlucky election up to nine.
const ReadyTimeout = 30 * time.Second

// Cluster is a JetStream cluster of embedded servers.
type Cluster struct {
	template Options
	nodes    []*Server
}

// RunCluster starts n JetStream nodes and returns when they have a meta leader
// and are all current. Every node is run with the options of template, except
// that its name is node-0, node-1, …, its store is a folder of that name under
// template.StoreDir, and its port is its own. Use an odd n, in practice 3.
func RunCluster(n int, template Options) (*Cluster, error) {
	if n < 2 || template.NoJetStream || template.StoreDir == "" || template.Port != 0 {
		return nil, errors.New("embedded cluster: needs at least two nodes, JetStream, a store directory and free ports")
	}
	// A clustered JetStream node refuses to start without routes, so all
	// route ports must be known before the first node starts.
	ports, release, err := ReservePorts(n)
	if err != nil {
		return nil, fmt.Errorf("embedded cluster: %w", err)
	}
	routes := make([]*url.URL, n)
	for i, port := range ports {
		routes[i] = &url.URL{Scheme: "nats-route", Host: net.JoinHostPort(host, strconv.Itoa(port))}
	}
	c := &Cluster{template: template}
	for i := range n {
		opts := template
		opts.Name = "node-" + strconv.Itoa(i)
		opts.StoreDir = filepath.Join(template.StoreDir, opts.Name)
		opts.Configure = func(o *server.Options) {
			o.Cluster.Name = "embedded"
			o.Cluster.Host = host
			o.Cluster.Port = ports[i]
			o.Routes = slices.Clone(routes)
			if template.Configure != nil {
				template.Configure(o)
			}
		}
		release[i]()
		node, err := Run(opts)
		if err != nil {
			for _, f := range release {
				f() // closing twice is harmless
			}
			c.Shutdown()
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.WaitReady(ReadyTimeout); err != nil {
		c.Shutdown()
		return nil, err
	}
	return c, nil
}

// Len is the number of nodes, stopped ones included.
func (c *Cluster) Len() int { return len(c.nodes) }

// Node is the i-th node, counted from 0.
func (c *Cluster) Node(i int) *Server { return c.nodes[i] }

// URLs are the client URLs of all nodes, stopped ones included.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		urls[i] = n.URL()
	}
	return urls
}

// Connect dials any node of the cluster and fails over to the others. The
// caller closes the connection.
func (c *Cluster) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(strings.Join(c.URLs(), ","), append(DialOptions(c.template), opts...)...)
}

// StopNode stops node i gracefully and returns when it is gone. It does not
// wait for the others to elect new leaders; that is [Cluster.WaitReady].
func (c *Cluster) StopNode(i int) { c.nodes[i].Shutdown() }

// RestartNode starts node i, stopping it first if it runs, on its old ports
// and store. It returns when the cluster is whole again; if a majority is
// still down, when the node accepts connections.
func (c *Cluster) RestartNode(i int) error {
	if err := c.nodes[i].Restart(); err != nil {
		return fmt.Errorf("node %d: %w", i, err)
	}
	if len(c.running()) <= len(c.nodes)/2 {
		return nil
	}
	return c.WaitReady(ReadyTimeout)
}

// Shutdown stops all nodes. They stop at once rather than in turn, or each
// would first wait for the rest to take over what it leads.
func (c *Cluster) Shutdown() {
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(n.Shutdown)
	}
	wg.Wait()
}

// WaitReady returns when the running nodes agree on a meta leader, the leader
// has heard from each of them, and each is current and healthy, with all its
// streams and consumers.
func (c *Cluster) WaitReady(timeout time.Duration) error {
	if err := poll.Until(timeout, c.ready); err != nil {
		return fmt.Errorf("embedded cluster: %w", err)
	}
	return nil
}

func (c *Cluster) ready() error {
	running := c.running()
	var leader *server.Server
	for _, srv := range running {
		switch {
		case !srv.JetStreamIsClustered():
			return fmt.Errorf("%s has not joined", srv.Name())
		case !srv.JetStreamIsCurrent():
			return fmt.Errorf("%s is not current", srv.Name())
		case srv.JetStreamIsLeader() && leader != nil:
			return fmt.Errorf("both %s and %s lead", leader.Name(), srv.Name())
		case srv.JetStreamIsLeader():
			leader = srv
		}
	}
	if leader == nil {
		return errors.New("no meta leader")
	}
	if peers := leader.JetStreamClusterPeers(); len(peers) < len(running) {
		slices.Sort(peers)
		return fmt.Errorf("leader %s knows only %v", leader.Name(), peers)
	}
	for _, srv := range running {
		if h := srv.Healthz(nil); h.Status != "ok" {
			return fmt.Errorf("%s is not healthy: %s", srv.Name(), h.Error)
		}
		if err := formed(srv, len(c.nodes)); err != nil {
			return fmt.Errorf("%s: %w", srv.Name(), err)
		}
	}
	return nil
}

// formed says whether the server knows all n nodes for members of the meta group,
// with nothing of that left to be committed. The leader takes the nodes in one by
// one; a server that is stopped between the entry that takes it in and its commit
// does not campaign when it is back (raft.go switchToCandidate, 2.15.3), and, its
// log being the longer one, votes for nobody who lacks the entry: two such nodes
// of three are without a leader until the third is back.
func formed(srv *server.Server, n int) error {
	const meta = "_meta_"
	status := srv.Raftz(&server.RaftzOptions{GroupFilter: meta})
	if status == nil || len(*status) == 0 {
		return errors.New("no meta group")
	}
	for _, groups := range *status { // of one account, the system's
		switch g := groups[meta]; {
		case g.Size != n:
			return fmt.Errorf("knows %d of %d members", g.Size, n)
		case g.Committed != g.PIndex:
			return fmt.Errorf("entry %d is not committed, only %d", g.PIndex, g.Committed)
		}
	}
	return nil
}

func (c *Cluster) running() []*server.Server {
	var up []*server.Server
	for _, n := range c.nodes {
		if srv := n.Raw(); srv != nil {
			up = append(up, srv)
		}
	}
	return up
}

// StreamLeader is the index of the node that leads the stream (of the default
// account) at this moment; ok is false if no running node does.
func (c *Cluster) StreamLeader(stream string) (node int, ok bool) {
	return c.find(func(srv *server.Server) bool {
		return srv.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream)
	})
}

// ConsumerLeader is [Cluster.StreamLeader] for a consumer of a stream.
func (c *Cluster) ConsumerLeader(stream, consumer string) (node int, ok bool) {
	return c.find(func(srv *server.Server) bool {
		return srv.JetStreamIsConsumerLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream, consumer)
	})
}

func (c *Cluster) find(is func(*server.Server) bool) (int, bool) {
	for i, n := range c.nodes {
		if srv := n.Raw(); srv != nil && is(srv) {
			return i, true
		}
	}
	return -1, false
}

// ReservePorts finds n free ports on 127.0.0.1. Each stays bound until its release
// is called, so that two reservations never meet. They are below those that the
// kernel lends to outgoing connections: one of these, or one to the very port that
// is not listened on yet, would have it for as long as it lives.
func ReservePorts(n int) (ports []int, release []func(), err error) {
	const first, most, tries = 15000, 15000, 1000
	for range tries {
		if len(ports) == n {
			return ports, release, nil
		}
		port := first + rand.IntN(most)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue // it is taken
		}
		ports = append(ports, port)
		release = append(release, func() { _ = l.Close() })
	}
	for _, f := range release {
		f()
	}
	return nil, nil, fmt.Errorf("no %d free ports from %d to %d", n, first, first+most-1)
}
