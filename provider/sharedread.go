package provider

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// sharingWindow is how old the configuration of a group may be that is told to
// one more of its members. A refresh reads every member by itself, ten at a time,
// and all of those of one group read the same: a thousand would be two thousand
// requests.
const sharingWindow = time.Second

// sharedReads are the reads that the members of a group share. What this provider
// writes to a group ends the sharing, so that nobody reads what was true before a
// write of his own; what others write may be seen the window later, as it would
// be if the read had come first.
type sharedReads struct {
	mu     sync.Mutex
	groups map[[2]string]*sharedRead
}

// sharedRead is one read. Its fields may be read when done is closed.
type sharedRead struct {
	cancel  context.CancelFunc
	waiting int // callers that want the answer
	done    chan struct{}
	at      time.Time // when it began
	config  *pcgroups.ElasticConsumerGroupConfig
	err     error
}

// usable tells whether one more caller may have the answer. Failures are told to
// those who wait for them only.
func (r *sharedRead) usable(now time.Time) bool {
	select {
	case <-r.done:
		return r.err == nil && now.Sub(r.at) < sharingWindow
	default:
		return now.Sub(r.at) < sharingWindow && r.waiting > 0
	}
}

// get reads the group's configuration, which the caller must not change.
func (s *sharedReads) get(ctx context.Context, js jetstream.JetStream, group groupRef) (*pcgroups.ElasticConsumerGroupConfig, error) {
	r := s.join(js, group)
	defer s.leave(r)
	select {
	case <-r.done:
		return r.config, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *sharedReads) join(js jetstream.JetStream, group groupRef) *sharedRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := [2]string{group.stream, group.name}, time.Now()
	if r := s.groups[key]; r != nil && r.usable(now) {
		r.waiting++
		return r
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &sharedRead{cancel: cancel, waiting: 1, done: make(chan struct{}), at: now}
	if s.groups == nil {
		s.groups = make(map[[2]string]*sharedRead)
	}
	s.groups[key] = r
	go func() {
		defer cancel()
		defer close(r.done)
		r.config, r.err = pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
	}()
	return r
}

// leave ends a read that nobody waits for any more.
func (s *sharedReads) leave(r *sharedRead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
	}
}

// forget is called before and after everything that this provider writes to a
// group: a read that began in between may have seen either.
func (s *sharedReads) forget(group groupRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, [2]string{group.stream, group.name})
}
