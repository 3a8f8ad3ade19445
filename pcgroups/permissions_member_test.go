package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/poll"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// memberLife is what a member does in its life, as a user with some permissions:
// it joins, consumes, is relieved by its standby, follows a change of the group
// and sees its end.
type memberLife struct {
	*fixture
	kind    string
	many    bool // messages in flight
	js      jetstream.JetStream
	seen    *violations
	patient time.Duration // with a step, since something was refused

	failures  []string // the steps that did not go as they should
	recovered natstest.Recorder[string]
	troubles  []string // what was recovered before the group was deleted
}

func (l *memberLife) failed(step string, err error) bool {
	if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("%s: %v", step, err))
	}
	return err != nil
}

// step is the time for a step. As long as nothing was refused it is only the
// machine that is busy, so that is waited for; what was refused does not come.
func (l *memberLife) step() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	go func() {
		_ = poll.Until(patience, func() error {
			if ctx.Err() == nil && l.seen.Len() == 0 {
				return errors.New("nothing was refused")
			}
			return nil
		})
		select {
		case <-time.After(l.patient):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// until waits for a condition that nothing announces.
func (l *memberLife) until(cond func() error) (err error) {
	ctx, cancel := l.step()
	defer cancel()
	missing := poll.Until(2*patience, func() error {
		if err = cond(); err != nil && ctx.Err() == nil {
			return err
		}
		return nil // it is so, or the time is up
	})
	return errors.Join(err, missing)
}

func (l *memberLife) consume(h func(jetstream.Msg)) (pcgroups.Session, error) {
	c := strict(10 * time.Second)
	opts := []pcgroups.ConsumeOption{pcgroups.WithEvents(pcgroups.Events{Recovered: func(err error) { l.recovered.Add(err.Error()) }})}
	if l.many {
		c.MaxAckPending = 1000
		opts = append(opts, pcgroups.WithConcurrency(4))
	}
	join := pcgroups.ElasticConsume
	if l.kind == "static" {
		join = pcgroups.StaticConsume
	}
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), l.patient)
		s, err := join(ctx, l.js, "ORDERS", "workers", "m1", h, c, opts...)
		cancel()
		if err == nil {
			l.t.Cleanup(func() { s.Stop(); <-s.Closed() })
			return s, nil
		}
		// Again, if only the machine was busy.
		if l.seen.Len() > 0 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > patience {
			return nil, err
		}
	}
}

// handled waits for so many handled messages in all.
func (l *memberLife) handled(n int) error {
	ctx, cancel := l.step()
	defer cancel()
	return l.check.WaitHandled(ctx, n)
}

// run lives. It ends early where nothing can come of the rest.
func (l *memberLife) run() {
	l.t.Helper()
	first := l.handler("m1", 0)
	blocked, release := make(chan struct{}), make(chan struct{})
	var block atomic.Bool
	a, err := l.consume(func(m jetstream.Msg) {
		if block.CompareAndSwap(true, false) {
			close(blocked)
			<-release
		}
		first(m)
	})
	if l.failed("join", err) {
		close(release)
		return
	}
	l.publish(4, 2)
	if l.failed("consume", l.handled(8)) {
		close(release)
		return
	}
	b, err := l.consume(l.handler("m1", 0))
	if l.failed("join as standby", err) {
		close(release)
		return
	}
	done := 8
	if l.many {
		// One message is in the hands of the first instance when the second one is
		// pinned: only those of its partition wait for it.
		block.Store(true)
		l.publish(1, 1)
		<-blocked
		if l.kind == "elastic" {
			must(l.t, pcgroups.ElasticMemberStepDown(l.ctx(), l.fixture.js, "ORDERS", "workers", "m1"))
		} else {
			must(l.t, pcgroups.StaticMemberStepDown(l.ctx(), l.fixture.js, "ORDERS", "workers", "m1"))
		}
		l.publish(4, 1)
		done += 5
		if l.kind == "elastic" { // a static member can not tell what is before a message
			l.failed("go on beside another instance", l.handled(done-3))
		}
	}
	close(release)
	if l.failed("consume further", l.handled(done)) {
		return
	}
	a.Stop()
	must(l.t, a.Wait(l.ctx()))
	l.publish(4, 1)
	l.failed("take over", l.handled(done+4))
	l.end(b)
}

// end changes the group and deletes it.
func (l *memberLife) end(b pcgroups.Session) {
	js := l.fixture.js
	if l.kind == "elastic" {
		_, err := pcgroups.AddMembers(l.ctx(), js, "ORDERS", "workers", []string{"m0"})
		must(l.t, err)
		l.failed("follow a change", l.until(func() error {
			if st := b.Status(); len(st.Partitions) != 1 || !st.Consuming {
				return fmt.Errorf("%+v", st)
			}
			return nil
		}))
		l.troubles = l.recovered.All() // that the consumer goes with the group is one
		must(l.t, pcgroups.DeleteElastic(l.ctx(), js, "ORDERS", "workers"))
	} else {
		l.troubles = l.recovered.All()
		// Not by DeleteStatic, which deletes the consumers itself.
		kv, err := js.KeyValue(l.ctx(), pcgroups.StaticBucket)
		must(l.t, err)
		must(l.t, kv.Delete(l.ctx(), "ORDERS.workers"))
	}
	ctx, cancel := l.step()
	defer cancel()
	l.failed("end with the group", b.Wait(ctx))
	l.failed("leave nothing behind", l.until(func() error {
		var left []string
		for _, stream := range []string{"ORDERS", "KV_" + pcgroups.ElasticBucket, "KV_" + pcgroups.StaticBucket} {
			if s, err := js.Stream(l.ctx(), stream); err == nil {
				for name := range s.ConsumerNames(l.ctx()).Name() {
					left = append(left, stream+" > "+name)
				}
			}
		}
		if len(left) != 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	}))
}

// newLife prepares a group and a client with these permissions.
func newLife(t *testing.T, kind string, many bool, p *server.Permissions, prefix string, seen *violations) *memberLife {
	t.Helper()
	f := newFixture(t, withUser(p)...)
	if kind == "elastic" {
		f.elastic(2, "m1")
	} else {
		f.static(2, "m1")
	}
	return &memberLife{fixture: f, kind: kind, many: many, js: f.restricted(prefix, seen), seen: seen, patient: patience}
}

var memberUsers = map[string]string{"elastic": elasticMember, "static": staticMember}

// Prevents: a member with exactly the documented permissions that can not do its
// work, or does it more slowly because something is refused; and a documented
// permission without a use.
func TestMemberPermissions(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for kind, user := range memberUsers {
		p := documented(t, user)
		for _, many := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, many in flight %t", kind, many), func(t *testing.T) {
				t.Parallel()
				var seen violations
				l := newLife(t, kind, many, p, inbox(t, p), &seen)
				l.run()
				sameStrings(t, "failures", l.failures)
				sameStrings(t, "refused", seen.All())
				sameStrings(t, "recovered", l.troubles)
			})
		}
	}
}

// needless are the permissions without which all goes on, in some other way; the
// guide says so.
var needless = []string{
	"$JS.API.INFO",                  // a server that is too old is not noticed
	"$JS.API.STREAM.MSG.GET.ORDERS", // a removed message is noticed later
}

// Prevents: a permission in the guide that is more than a member needs. Without
// any one of them something that the member does is refused, and but for those
// named above the user is told or sees that something does not work.
func TestMemberPermissionsAreAllNeeded(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	for kind, user := range memberUsers {
		p := documented(t, user)
		prefix := inbox(t, p)
		for _, permission := range slices.Concat(p.Publish.Allow, p.Subscribe.Allow) {
			t.Run(kind+" without "+permission, func(t *testing.T) {
				t.Parallel()
				var seen violations
				// With messages in flight the last to stop is not the one that is pinned.
				many := !strings.Contains(permission, ".UNPIN.")
				l := newLife(t, kind, many, without(p, permission), prefix, &seen)
				l.patient = 2 * time.Second
				l.run()
				told := len(l.failures) + l.recovered.Len()
				if slices.Contains(needless, permission) {
					return
				}
				_ = poll.Until(patience, func() error { // the client tells of it in its own time
					if !seen.of(permission) {
						return errors.New("not refused")
					}
					return nil
				})
				if !seen.of(permission) || told == 0 {
					t.Errorf("nothing is wrong without it; refused: %q; failed: %q", seen.All(), l.failures)
				}
				for _, f := range l.failures {
					if strings.HasPrefix(f, "join: ") && !strings.Contains(f, "Permissions Violation") {
						t.Errorf("the error does not tell what was refused: %s", f)
					}
				}
			})
		}
	}
}
