package pcgroups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// mute is a server that answers nothing.
type mute struct{ asked chan struct{} }

func (s mute) wait(ctx context.Context) error {
	s.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (s mute) standing(ctx context.Context) (standing, error) { return standing{}, s.wait(ctx) }
func (s mute) barrier(ctx context.Context, _ string) error    { return s.wait(ctx) }
func (s mute) reign(ctx context.Context) (reign, error)       { return reign{}, s.wait(ctx) }
func (s mute) unstick(ctx context.Context, _ jetstream.Msg, _ string, _ time.Duration) (bool, error) {
	return false, s.wait(ctx)
}

// Prevents: a Stop that is held up, by up to 22 s, by a server that does not answer
// what was asked for a message that came again, or for an acknowledgement; and a fault
// told of that is none.
func TestStopDoesNotWaitForAnswers(t *testing.T) {
	config := jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: 30 * time.Second}
	for name, c := range map[string]struct {
		ask  func(*runner, mute, *told)
		then string // what becomes of the message
	}{
		"about the last acknowledgement": {func(r *runner, server mute, log *told) {
			r.deliver(redelivered(log, 1, 1))
			r.doubt()
			r.confirm(server, time.Now())
		}, "ack"},
		"about the leader": {func(r *runner, server mute, log *told) {
			r.reign = server.reign
			r.deliver(redelivered(log, 1, 2))
		}, "nak"},
		"to an acknowledgement that comes again": {func(r *runner, server mute, log *told) {
			r.unstick = server.unstick
			r.deliver(redelivered(log, 1, 1))
			log.list = nil
			r.deliver(redelivered(log, 1, 2))
		}, "ack"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, server, ended := &told{begin: time.Now()}, mute{make(chan struct{})}, make(chan struct{})
				r := newRunner(func(m jetstream.Msg) { _ = m.Ack() }, config, new(memory), 1)
				r.report = func(ev event) {
					if _, pin := ev.(evPinned); !pin {
						t.Errorf("told of %v", ev)
					}
				}
				go func() { defer close(ended); c.ask(r, server, log) }()
				<-server.asked
				begun := time.Now()
				// A real pull ends only when nothing is being delivered.
				r.shut(intakeGiveBack)
				r.withdrawn()
				if name == "about the last acknowledgement" {
					r.drain(pullOf(neverStarted), actDrain{unstarted: intakeGiveBack}, func(event) {}, nil)
				}
				<-ended
				if took := time.Since(begun); took > 100*time.Millisecond {
					t.Errorf("ended after %v", took)
				}
				if len(log.of(c.then, 1)) != 1 {
					t.Errorf("said %v, want one %s", log.list, c.then)
				}
				r.close()
			})
		})
	}
}

// Prevents: a message that nobody ever handles, as its last delivery is let go of by a
// session that stops.
func TestStopRunsWhatIsHeldAtItsLastDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, log, begun := heldRunner(t)
		r.config.MaxDeliver = 2
		time.AfterFunc(time.Second, func() { r.shut(intakeGiveBack); r.withdrawn() })
		r.deliver(redelivered(log, 2, 2))
		if len(*begun) != 1 || (*begun)[0] < reignWait || len(log.of("nak", 2)) > 0 {
			t.Errorf("begun at %v, want once after %v; %v", *begun, reignWait, log.list)
		}
	})
}

// Prevents: a limit that stays raised, as the request that puts it back is not sent or
// its answer not waited for at all; and a Stop that waits for that for long.
func TestLimitIsPutBackAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			stop func(context.CancelFunc)
			want time.Duration
		}{
			{func(cancel context.CancelFunc) { cancel() }, restorePatience},
			{func(context.CancelFunc) { <-time.After(2 * time.Second) }, requestTimeout}, // its time is up
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			own, done := outlive(ctx)
			begun := time.Now()
			c.stop(cancel)
			if own.Err() != nil {
				t.Error("the request is not sent")
			}
			<-own.Done()
			if took := time.Since(begun); took != c.want {
				t.Errorf("waits for %v, want %v", took, c.want)
			}
			done()
			cancel()
		}
	})
}

// Prevents: a Stop that waits for as long as another request of the session does.
func TestUnstickDoesNotWaitForALook(t *testing.T) {
	look := newTurnstile()
	look.enter(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	entered := make(chan bool)
	go func() { entered <- look.enter(ctx) }()
	cancel()
	if <-entered {
		t.Error("it is in while another is")
	}
	look.leave()
	if !look.enter(t.Context()) {
		t.Error("it is not in although nobody else is")
	}
}
