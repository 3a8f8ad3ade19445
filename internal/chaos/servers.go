package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// hitServers carries out a fault of the servers. It returns when the cluster is
// whole again, so that a majority is up at any time and knows everything: what
// is lost is not lost by the servers' rules.
func (r *run) hitServers(ctx context.Context, s step) error {
	over := r.journal.disturb("", "")
	defer over()
	switch s.kind {
	case killServer, restartServer:
		n := r.victim(ctx, s.pick)
		down := time.Duration(float64(200*time.Millisecond) + s.size*float64(4*time.Second))
		r.journal.fault(s.kind, "%s for %s; it led %s", n.config.Name, down.Round(time.Millisecond), r.ledBy(ctx, n.config.Name))
		if s.kind == killServer {
			n.kill()
		} else {
			n.terminate()
		}
		if err := pause(ctx, down); err != nil {
			return err
		}
		if err := n.start(ctx); err != nil {
			return err
		}
		r.journal.note("server started", "%s", n.config.Name)
	case stepDownMeta:
		r.journal.fault(s.kind, "steps down")
		if err := r.cluster.stepDownMeta(); err != nil {
			r.journal.note("no answer", "%v", err)
		}
	case stepDownStream:
		streams := r.streams()
		stream := streams[s.pick%uint64(len(streams))]
		r.journal.fault(s.kind, "of %s steps down", stream)
		r.stepDown("STREAM.LEADER.STEPDOWN." + stream)
	case stepDownConsum:
		g, member := r.member(s.pick, func(*group) bool { return true })
		r.journal.fault(s.kind, "of %s member %s steps down", g, member)
		r.stepDown("CONSUMER.LEADER.STEPDOWN." + g.consumerStream() + "." + g.consumer(member))
	}
	if err := r.cluster.waitHealthy(ctx); err != nil {
		return fmt.Errorf("the cluster does not come back after %q: %w", s.kind, err)
	}
	r.journal.note("healthy", "after %s", s.kind)
	// While sourcing stands still, elastic groups have nothing to do, and faults
	// find nothing. But one time in four that is what is hit.
	if (s.pick>>40)%4 != 0 {
		r.awaitSourcing(ctx)
	}
	return ctx.Err()
}

// sourcingPatience is how long a fault of the servers waits for sourcing, which
// takes 41 s if the server is unlucky once.
const sourcingPatience = 50 * time.Second

// awaitSourcing waits until the work-queue streams hear from their origins.
func (r *run) awaitSourcing(ctx context.Context) {
	began := time.Now()
	_ = await(ctx, sourcingPatience, func() error {
		for _, g := range r.groups {
			if g.static {
				continue
			}
			once, cancel := context.WithTimeout(ctx, 2*time.Second)
			s, err := r.js.Stream(once, g.consumerStream())
			cancel()
			if err != nil {
				_ = pause(ctx, 100*time.Millisecond)
				return err // it may be replaced just now
			}
			// The server speaks up every second even if there is nothing to source.
			for _, src := range s.CachedInfo().Sources {
				if src.Active < 0 || src.Active > 3*time.Second {
					_ = pause(ctx, 100*time.Millisecond)
					return fmt.Errorf("%s does not hear from %s", g.consumerStream(), g.stream)
				}
			}
		}
		return nil
	})
	if took := time.Since(began); took > 2*time.Second {
		r.journal.note("sourcing again", "after %s", took.Round(100*time.Millisecond))
	}
}

// victim is a server: any, or half the time the leader of some stream.
func (r *run) victim(ctx context.Context, pick uint64) *node {
	n := r.cluster.nodes[pick%nodes]
	streams := r.streams()
	if name := streams[(pick>>8)%uint64(len(streams))]; (pick>>32)%2 == 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if s, err := r.js.Stream(ctx, name); err == nil && s.CachedInfo().Cluster != nil {
			for _, other := range r.cluster.nodes {
				if other.config.Name == s.CachedInfo().Cluster.Leader {
					n = other
				}
			}
		}
	}
	return n
}

// stepDown asks a leader to hand over. There may be none, or no such consumer:
// then nothing happens.
func (r *run) stepDown(api string) {
	answer, err := r.conn.Request("$JS.API."+api, nil, 5*time.Second)
	if err != nil {
		r.journal.note("no answer", "%s: %v", api, err)
		return
	}
	var resp struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer.Data, &resp) == nil && resp.Error != nil {
		r.journal.note("refused", "%s: %s", api, resp.Error)
	}
}

// streams are all that the groups need: origins, work queues and buckets.
func (r *run) streams() []string {
	streams := []string{"KV_" + pcgroups.StaticBucket, "KV_" + pcgroups.ElasticBucket}
	for _, g := range r.groups {
		streams = append(streams, g.stream)
		if !g.static {
			streams = append(streams, g.consumerStream())
		}
	}
	return streams
}

// ledBy are the streams that a server leads, for the timeline.
func (r *run) ledBy(ctx context.Context, server string) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var led []string
	for _, name := range r.streams() {
		if s, err := r.js.Stream(ctx, name); err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader == server {
			led = append(led, name)
		}
	}
	return led
}
