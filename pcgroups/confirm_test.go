package pcgroups

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fakeConfirmer has the consumer stand as a test says.
type fakeConfirmer struct {
	now     standing
	deaf    int // so many questions are not answered
	repeats atomic.Int32
}

func (f *fakeConfirmer) standing(context.Context) (standing, error) {
	if f.deaf > 0 {
		f.deaf--
		return standing{}, errors.New("no leader")
	}
	return f.now, nil
}

func (f *fakeConfirmer) barrier(context.Context, string) error { f.repeats.Add(1); return nil }

// Prevents: a member that stands still for an ack wait after its consumer's leader
// changed, as an acknowledgement was lost with the old one; and an acknowledgement
// repeated that is of another message, of another instance's, or of another
// consumer, from which it would take a message that nobody has handled.
func TestConfirmsTheLastAcknowledgement(t *testing.T) {
	made := time.Now()
	lost := standing{created: made, delivered: 7, waiting: true}
	for name, c := range map[string]struct {
		server *fakeConfirmer
		want   int32
	}{
		"lost":                         {&fakeConfirmer{now: lost}, 1},
		"lost, and no leader for long": {&fakeConfirmer{now: lost, deaf: 10}, 1},
		"arrived":                      {&fakeConfirmer{now: standing{created: made, delivered: 7}}, 0},
		"of a message before":          {&fakeConfirmer{now: standing{created: made, delivered: 8, waiting: true}}, 0},
		"to a consumer that is gone":   {&fakeConfirmer{now: standing{created: made.Add(1), delivered: 7, waiting: true}}, 0},
		"when nobody answers":          {&fakeConfirmer{now: lost, deaf: 1000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(func(m jetstream.Msg) { _ = m.Ack() }, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1, AckWait: 5 * time.Second}, new(memory), 1)
				r.deliver(&fakeMsg{log: new(told), partition: 1, seq: 7, deliveries: 1, pin: "p"})
				ended := make(chan struct{})
				go func() { defer close(ended); r.confirm(c.server, made) }()
				r.doubt()
				<-time.After(10 * time.Second)
				if got := c.server.repeats.Load(); got != c.want {
					t.Errorf("repeated %d times, want %d", got, c.want)
				}
				r.close()
				<-ended
			})
		})
	}
}
