package pcgroups

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keep does for one pull what has to be done while its handlers run, as the
// client sends no pull then and the server goes by pulls alone: it renews the pin,
// extends the ack deadlines of handlers that are to be kept alive, and tells when
// one is overdue. It returns when the runner is cancelled.
func (r *runner) keep(renew func(ctx context.Context, pin string) (held bool)) {
	t := time.NewTimer(r.tick)
	defer t.Stop()
	told := false
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-t.C:
		}
		extend, overdue, next := r.survey(time.Now())
		for _, d := range extend {
			_ = d.InProgress() // if it fails the deadline stays as it was
		}
		if overdue && !told {
			r.report(evOverdue{})
		}
		told = overdue
		if pin := r.pinID(); pin != "" && !overdue && intake(r.intake.Load()) == intakeRun && !renew(r.ctx, pin) {
			r.lost(pin)
		}
		t.Reset(next)
	}
}

// survey looks at the handlers that run: whose message to extend, whether one is
// past its ack deadline, and when to look again.
func (r *runner) survey(now time.Time) (extend []*delivery, overdue bool, next time.Duration) {
	next = r.tick
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, started := range r.active {
		if r.ackWait <= 0 {
			continue // takes no acks, so has no deadline
		}
		if now.Sub(started) < r.keepAlive {
			extend = append(extend, d)
			continue
		}
		switch left := d.until().Sub(now); {
		case left <= 0:
			overdue = true
		case left < next:
			next = left
		}
	}
	return extend, overdue, next
}

// lost notes that the server has taken the pin away.
func (r *runner) lost(pin string) {
	r.mu.Lock()
	was := r.pin == pin
	if was {
		r.pin = ""
	}
	r.mu.Unlock()
	if was {
		r.report(evPinned{})
	}
}

// keepAliveRequest is a pull that renews the pin and can never deliver: no
// message fits into one byte.
type keepAliveRequest struct {
	Expires  time.Duration `json:"expires"`
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes"`
	Group    string        `json:"group"`
	ID       string        `json:"id"`
}

// renew renews the pin by a pull that can not deliver. It tells whether the pin is
// still ours, as far as is known.
func (b *natsBackend) renew(ctx context.Context, pin string) (held bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, _ := json.Marshal(keepAliveRequest{Expires: time.Millisecond, Batch: 1, MaxBytes: 1, Group: PriorityGroup, ID: pin})
	msg, err := b.js.Conn().RequestMsgWithContext(ctx, &nats.Msg{
		Subject: apiPrefix(b.js) + "CONSUMER.MSG.NEXT." + b.consumerStream() + "." + b.consumerName(),
		Data:    request,
	})
	// 423 is a pin that is not the current one; no answer says nothing.
	return err != nil || msg.Header.Get("Status") != "423"
}

// apiPrefix is the subject prefix of the JetStream API, by the client's options.
func apiPrefix(js jetstream.JetStream) string {
	o := js.Options()
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	}
	return jetstream.DefaultAPIPrefix
}
