// Command orbit-v0.1.0 is an adapter of the conformance suite for the reference's
// first release, whose wire format is another. It is a module of its own, as one
// module can not hold two versions, and uses nothing of the suite: it is also the
// example of an adapter written from conformance/README.md alone.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/pcgroups"
)

type request struct {
	ID            int                      `json:"id"`
	Op            string                   `json:"op"`
	URL           string                   `json:"url"`
	Flavour       string                   `json:"flavour"`
	Stream        string                   `json:"stream"`
	Group         string                   `json:"group"`
	Member        string                   `json:"member"`
	MaxMembers    uint                     `json:"max_members"`
	Filters       []string                 `json:"filters"`
	Partitioning  []partitioningFilter     `json:"partitioning_filters"`
	MaxMsgs       int64                    `json:"max_buffered_msgs"`
	MaxBytes      int64                    `json:"max_buffered_bytes"`
	Members       []string                 `json:"members"`
	Mappings      []pcgroups.MemberMapping `json:"member_mappings"`
	Session       string                   `json:"session"`
	AckWait       time.Duration            `json:"ack_wait_ns"`
	AckPolicy     string                   `json:"ack_policy"`
	MaxAckPending int                      `json:"max_ack_pending"`
	Work          time.Duration            `json:"work_ns"`
}

type partitioningFilter struct {
	Filter    string `json:"filter"`
	Wildcards []int  `json:"partitioning_wildcards"`
}

// errUnsupported is answered with the code "unsupported".
var errUnsupported = errors.New("not in this version")

type adapter struct {
	nc *nats.Conn
	js jetstream.JetStream

	writing  sync.Mutex
	out      *json.Encoder
	mu       sync.Mutex
	sessions map[string]pcgroups.ConsumerGroupConsumeContext
}

func main() {
	a := &adapter{out: json.NewEncoder(os.Stdout), sessions: map[string]pcgroups.ConsumerGroupConsumeContext{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		result, err := a.do(context.Background(), r)
		switch {
		case errors.Is(err, errUnsupported):
			a.write(map[string]any{"id": r.ID, "fault": map[string]string{"code": "unsupported", "message": err.Error()}})
		case err != nil:
			a.write(map[string]any{"id": r.ID, "fault": map[string]string{"message": err.Error()}})
		default:
			a.write(map[string]any{"id": r.ID, "result": result})
		}
	}
}

func (a *adapter) write(v any) {
	a.writing.Lock()
	defer a.writing.Unlock()
	_ = a.out.Encode(v) // the suite has gone, and so will this program
}

func (a *adapter) do(ctx context.Context, r request) (map[string]any, error) {
	static := r.Flavour == "static"
	names := func(list []string, err error) (map[string]any, error) { return map[string]any{"names": list}, err }
	switch r.Op {
	case "hello":
		return map[string]any{"hello": map[string]any{
			"protocol": 1, "name": "orbit", "version": "v0.1.0", "language": "go",
			"features": []string{"static", "elastic", "mappings", "step_down", "ack_policies", "get"},
		}}, nil
	case "connect":
		var err error
		if a.nc, err = nats.Connect(r.URL); err != nil {
			return nil, err
		}
		a.js, err = jetstream.New(a.nc)
		return nil, err
	case "create":
		return nil, a.create(ctx, r)
	case "get":
		var config any
		var err error
		if static {
			config, err = pcgroups.GetStaticConsumerGroupConfig(ctx, a.js, r.Stream, r.Group)
		} else {
			config, err = pcgroups.GetElasticConsumerGroupConfig(ctx, a.js, r.Stream, r.Group)
		}
		return map[string]any{"config": config}, err
	case "list":
		if static {
			return names(pcgroups.ListStaticConsumerGroups(ctx, a.js, r.Stream))
		}
		return names(pcgroups.ListElasticConsumerGroups(ctx, a.js, r.Stream))
	case "delete":
		if static {
			return nil, pcgroups.DeleteStatic(ctx, a.js, r.Stream, r.Group)
		}
		return nil, pcgroups.DeleteElastic(ctx, a.js, r.Stream, r.Group)
	case "add_members":
		return names(pcgroups.AddMembers(ctx, a.js, r.Stream, r.Group, r.Members))
	case "delete_members":
		return names(pcgroups.DeleteMembers(ctx, a.js, r.Stream, r.Group, r.Members))
	case "set_member_mappings":
		return nil, pcgroups.SetMemberMappings(ctx, a.js, r.Stream, r.Group, r.Mappings)
	case "delete_member_mappings":
		return nil, pcgroups.DeleteMemberMappings(ctx, a.js, r.Stream, r.Group)
	case "active_members":
		if static {
			return names(pcgroups.ListStaticActiveMembers(ctx, a.js, r.Stream, r.Group))
		}
		return names(pcgroups.ListElasticActiveMembers(ctx, a.js, r.Stream, r.Group))
	case "is_member_and_active":
		member, active, err := pcgroups.ElasticIsInMembershipAndActive(ctx, a.js, r.Stream, r.Group, r.Member)
		return map[string]any{"member": member, "active": active}, err
	case "step_down":
		if static {
			return nil, pcgroups.StaticMemberStepDown(ctx, a.js, r.Stream, r.Group, r.Member)
		}
		return nil, pcgroups.ElasticMemberStepDown(ctx, a.js, r.Stream, r.Group, r.Member)
	case "consume":
		return nil, a.consume(ctx, r)
	case "stop":
		a.mu.Lock()
		defer a.mu.Unlock()
		s := a.sessions[r.Session]
		if s == nil {
			return nil, errors.New("no such session")
		}
		s.Stop()
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s", errUnsupported, r.Op)
}

// create makes a group. This version knows one filter for each group, and has no
// word for none.
func (a *adapter) create(ctx context.Context, r request) error {
	if r.Flavour == "static" {
		filter := ""
		switch len(r.Filters) {
		case 0:
		case 1:
			filter = r.Filters[0]
		default:
			return fmt.Errorf("%w: several filters", errUnsupported)
		}
		_, err := pcgroups.CreateStatic(ctx, a.js, r.Stream, r.Group, r.MaxMembers, filter, r.Members, r.Mappings)
		return err
	}
	if len(r.Partitioning) != 1 {
		return fmt.Errorf("%w: other than one filter", errUnsupported)
	}
	f := r.Partitioning[0]
	_, err := pcgroups.CreateElastic(ctx, a.js, r.Stream, r.Group, r.MaxMembers, f.Filter, f.Wildcards, r.MaxMsgs, r.MaxBytes)
	return err
}

func (a *adapter) consume(ctx context.Context, r request) error {
	config := jetstream.ConsumerConfig{AckWait: r.AckWait, MaxAckPending: r.MaxAckPending, AckPolicy: jetstream.AckExplicitPolicy}
	switch r.AckPolicy {
	case "all":
		config.AckPolicy = jetstream.AckAllPolicy
	case "none":
		config.AckPolicy = jetstream.AckNonePolicy
	}
	consume := pcgroups.ElasticConsume
	if r.Flavour == "static" {
		consume = pcgroups.StaticConsume
	}
	s, err := consume(ctx, a.js, r.Stream, r.Group, r.Member, a.handler(r), config)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[r.Session] = s
	go func() {
		reason := ""
		if err := <-s.Done(); err != nil {
			reason = err.Error()
		}
		a.write(map[string]any{"event": "ended", "session": r.Session, "error": reason, "time_ns": time.Now().UnixNano()})
	}()
	return nil
}

func (a *adapter) handler(r request) func(jetstream.Msg) {
	return func(m jetstream.Msg) {
		e := map[string]any{"event": "message", "session": r.Session, "subject": m.Subject(), "data": string(m.Data()),
			"pin": m.Headers().Get("Nats-Pin-Id"), "time_ns": time.Now().UnixNano()}
		a.write(e)
		if r.Work > 0 {
			<-time.After(r.Work)
		}
		e["event"], e["time_ns"] = "done", time.Now().UnixNano()
		if r.AckPolicy != "none" {
			if err := m.Ack(); err != nil {
				e["error"] = err.Error()
			}
		}
		a.write(e)
	}
}
