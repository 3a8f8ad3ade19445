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
// extends the ack deadlines of handlers that are to be kept alive, ends the
// context of one that is overdue, and tells. It returns when the runner is closed.
func (r *runner) keep(renew func(timeout time.Duration, pin string) (held bool)) {
	period := max(r.config.PinnedTTL/3, time.Millisecond)
	tick := period
	if r.acks {
		tick = min(tick, max(effectiveAckWait(r.config)/3, 10*time.Millisecond))
	}
	t := time.NewTimer(tick)
	defer t.Stop()
	renewed := time.Now()
	told := false
	for {
		select {
		case <-r.over:
			return
		case <-t.C:
		}
		overdue, next := r.survey(time.Now(), tick)
		if overdue && !told {
			r.report(evOverdue{})
		}
		told = overdue
		pin := r.mem.pinID()
		if pin != "" && !overdue && intake(r.intake.Load()) == intakeRun && time.Since(renewed) >= period-tick/2 {
			renewed = time.Now()
			if !renew(min(tick, time.Second), pin) {
				r.lost(pin)
			}
		}
		t.Reset(next)
	}
}

// survey looks at the handlers that run: it extends their deadlines, or ends the
// context of one whose deadline is past, and returns when to look again.
func (r *runner) survey(now time.Time, tick time.Duration) (overdue bool, next time.Duration) {
	next = tick
	if !r.acks {
		return false, next
	}
	for _, d := range r.running() {
		if now.Sub(r.made)-d.begun < r.keepAlive && r.connected() && !d.settled.Load() {
			_ = d.InProgress() // if it fails the deadline stays as it was
		}
		left := d.until().Sub(now)
		if left <= 0 {
			d.end(context.DeadlineExceeded)
			overdue = true
			continue
		}
		next = min(next, left)
	}
	return overdue, next
}

// lost notes that the server has taken the pin away.
func (r *runner) lost(pin string) {
	if p := r.mem.pin.Load(); p != nil && *p == pin && r.mem.pin.CompareAndSwap(p, nil) {
		r.unpinned()
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
func (b *natsBackend) renew(timeout time.Duration, pin string) (held bool) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
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

func (b *natsBackend) connected() bool { return b.js.Conn().IsConnected() }
