package natstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/release"
)

// releaseReady bounds the wait for a cluster of processes to be whole: an unlucky
// election takes nine seconds, and what a killed one has missed must be caught up.
const releaseReady = 60 * time.Second

// ReleaseCluster is a JetStream cluster of released servers that belongs to a test.
// They are processes, so that killing one is a kill -9, which the servers of
// [Cluster] can not have.
type ReleaseCluster struct {
	t     testing.TB
	nodes []*release.Server
}

// StartReleaseCluster runs n servers, in practice 3, of a released version, named
// node-0, node-1, …, and stops them when the test ends. It returns when the cluster
// is whole.
func StartReleaseCluster(t testing.TB, version string, n int) *ReleaseCluster {
	t.Helper()
	bin, err := release.Build(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	ports, free, err := embedded.ReservePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	routes := make([]string, n)
	for i, port := range ports {
		routes[i] = "nats-route://127.0.0.1:" + strconv.Itoa(port)
	}
	c := &ReleaseCluster{t: t}
	for i := range n {
		free[i]()
		name := fmt.Sprint("node-", i)
		srv, err := release.Run(t.Context(), bin, t.TempDir(), "-n", name, "-m", "-1",
			"--cluster_name", "released", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		if err != nil {
			for _, f := range free {
				f() // closing twice is harmless
			}
			t.Fatal(err)
		}
		t.Cleanup(srv.Kill) // in order would be in turn, each waiting for the rest
		c.nodes = append(c.nodes, srv)
	}
	c.WaitReady()
	return c
}

// Connect dials any node, fails over to the others and closes the connection when
// the test ends.
func (c *ReleaseCluster) Connect(opts ...nats.Option) *nats.Conn {
	c.t.Helper()
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, n.URL)
	}
	return connect(c.t, func(opts ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(strings.Join(urls, ","), append(embedded.DialOptions(embedded.Options{}), opts...)...)
	}, opts)
}

// JetStream is a JetStream context on a connection of its own.
func (c *ReleaseCluster) JetStream(opts ...nats.Option) jetstream.JetStream {
	c.t.Helper()
	return newJetStream(c.t, c.Connect(opts...))
}

// Kill ends node i at once: nothing is written that it has not written yet, and
// nothing that it leads is handed over.
func (c *ReleaseCluster) Kill(i int) { c.nodes[i].Kill() }

// Restart starts node i, which was killed, and returns when the cluster is whole
// again, all streams and consumers included.
func (c *ReleaseCluster) Restart(i int) {
	c.t.Helper()
	if err := c.nodes[i].Restart(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.WaitReady()
}

// WaitReady waits until all nodes are healthy, agree on a meta leader, and that
// has heard from each of them, and that each knows them all.
func (c *ReleaseCluster) WaitReady() {
	c.t.Helper()
	Eventually(c.t, releaseReady, c.ready)
}

func (c *ReleaseCluster) ready() error {
	leader, current := "", 0
	for i, n := range c.nodes {
		var health struct{ Error string }
		if err := monitor(n.MonitorURL+"/healthz", &health); err != nil {
			return fmt.Errorf("node-%d: %w %s", i, err, health.Error)
		}
		var js struct {
			Meta struct {
				Leader   string
				Replicas []struct{ Current, Offline bool }
			} `json:"meta_cluster"`
		}
		if err := monitor(n.MonitorURL+"/jsz", &js); err != nil {
			return fmt.Errorf("node-%d: %w", i, err)
		}
		if l := js.Meta.Leader; l == "" || leader != "" && l != leader {
			return fmt.Errorf("node-%d takes %q for the meta leader, another node %q", i, l, leader)
		}
		leader = js.Meta.Leader
		if err := formed(n.MonitorURL, len(c.nodes)); err != nil {
			return fmt.Errorf("node-%d: %w", i, err)
		}
		for _, r := range js.Meta.Replicas { // only the leader tells
			if r.Current && !r.Offline {
				current++
			}
		}
	}
	if current < len(c.nodes)-1 {
		return fmt.Errorf("%s has heard from %d others", leader, current)
	}
	return nil
}

// formed says whether the server knows all n nodes for members of the meta group,
// with nothing of that left to be committed. For the reason see its twin in
// package embedded: a cluster whose node is killed before may be without a leader
// until that is back.
func formed(url string, n int) error {
	var status map[string]map[string]struct{ Size, Committed, PIndex int }
	if err := monitor(url+"/raftz?group=_meta_", &status); err != nil {
		return err
	}
	switch g := status["$SYS"]["_meta_"]; {
	case g.Size != n:
		return fmt.Errorf("knows %d of %d members of the meta group", g.Size, n)
	case g.Committed != g.PIndex:
		return fmt.Errorf("entry %d of the meta group is not committed, only %d", g.PIndex, g.Committed)
	}
	return nil
}

// monitorClient keeps no connections, whose goroutines would outlive the test.
var monitorClient = http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func monitor(url string, into any) error {
	resp, err := monitorClient.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(resp.Body).Decode(into)
	if resp.StatusCode != http.StatusOK {
		return errors.Join(errors.New(resp.Status), err)
	}
	return err
}
