package pcgroups

import "github.com/nats-io/nats.go/jetstream"

// What is given back when a pull ends, with one message in flight or in no order.

// keeps tells whether a message that came when nothing more is to be started is run
// all the same, as nobody else would get it. Else it is given back.
func (r *runner) keeps(msg jetstream.Msg, n uint64) bool {
	last := r.lastDelivery(n)
	if !r.inARow() {
		if !last {
			_ = msg.Nak() // if that fails it comes back after its ack deadline
		}
		return last
	}
	r.row = append(r.row, msg)
	if last {
		r.runRow()
	}
	return false
}

// inARow tells whether what comes can only be handled as it comes: what is at its
// last delivery has to run, and with AckAll its acknowledgement takes along what came
// before it. So that waits for the next at its last delivery, or for the last of all.
func (r *runner) inARow() bool {
	return r.config.AckPolicy == jetstream.AckAllPolicy && r.config.MaxDeliver > 0
}

// runRow runs what came, up to one whose handler fails: nothing behind that may be
// acknowledged.
func (r *runner) runRow() {
	row := r.row
	r.row = nil
	for i, msg := range row {
		if r.failed.Load() {
			r.row = row[i:]
			return
		}
		n, seq := replyInfo(msg.Reply())
		if !r.lastDelivery(n) || r.hold(msg, n, seq) {
			r.run(msg, n, seq)
		}
	}
}

// lastCame is called when the pull has ended: no delivery comes any more.
func (r *runner) lastCame() {
	if r.par != nil {
		r.par.lastCame()
		return
	}
	for _, msg := range r.row {
		if n, _ := replyInfo(msg.Reply()); !r.lastDelivery(n) {
			_ = msg.Nak() // if that fails it comes back after its ack deadline
		}
	}
	r.row = nil
}
