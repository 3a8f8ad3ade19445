package chaos

import (
	"fmt"
	"time"
)

// A server that has just become a consumer's leader knows of a message in flight
// that it was delivered, but not when: what the leader tells the others as the
// time of the delivery is the time at which the message was stored in the stream
// (nats-server 2.11 to 2.15, consumer.go: deliverMsg hands pmsg.ts to
// updateDelivered). So what had waited in the stream for longer than AckWait is
// overdue for the new leader from the start, and setLeader's checkPending has it
// delivered again at once, although its handler may only just have begun.
//
// That is the server's doing and not the group's violation. It is counted apart,
// if all of it can be proven.

// soonest is how long after a delivery the next one is never due. It is less than
// the shortest ack deadline by what a slow link and a busy machine can make of it.
const soonest = minAckWait - time.Second

// early looks for a proof that the server has given out a message again that was
// delivered as the n-th before, without reason:
//
//   - an instance got it as the n-th delivery, and an instance got it again from
//     the same consumer, as a later one, sooner than any ack deadline ends;
//   - in between nobody gave it back, terminated or acknowledged it, by what all
//     instances sent;
//   - it had been in the stream for longer than the shortest ack deadline, which
//     makes it overdue for a new leader; and there may have been a new leader.
func (r *records) early(j *journal, id messageID, n uint64) (proof string, ok bool) {
	if r == nil {
		return "", false
	}
	all := r.about(id)
	if r.missing() > 0 {
		return "", false // a Nak may be what is missing
	}
	var first *record
	for i := range all {
		e := &all[i]
		switch {
		case first == nil:
			if e.what == got && e.deliveries == n {
				first = e
			}
		case e.what == givenBack, e.what == terminated, e.what == acknowledged:
			return "", false
		case e.what == got && e.deliveries > n && e.consumer == first.consumer:
			stored := time.Unix(0, id.stored)
			if e.at.Sub(first.at) >= soonest || e.at.Sub(stored) < minAckWait {
				return "", false
			}
			if !j.leaderMoved(id.stream, e.consumer, first.at, e.at) {
				return "", false
			}
			return fmt.Sprintf("the server had delivered it to %s at %s and did so again to %s %s later, although nobody had given it back; it is in the stream since %s, and its consumer's leader had changed",
				first.instance, j.offset(first.at), e.instance, e.at.Sub(first.at).Round(time.Millisecond), j.offset(stored)), true
		}
	}
	return "", false
}

// superseded tells whether the server has given out the message of an execution
// again without reason, and counts that once for each message.
func (j *judge) superseded(x *execution) bool {
	if !j.excuses {
		return false
	}
	proof, ok := j.records.early(j.journal, x.id, x.times)
	if !ok {
		return false
	}
	x.early = true
	if !j.earlySeen[x.id] {
		j.earlySeen[x.id] = true
		x.epoch.early++
		j.journal.note(givenOutEarly, "%s key %s: %d (stored %d): %s", j.group, x.key, x.seq, x.stored, proof)
	}
	return true
}

// beginSuperseded begins an execution of what the server has given to another
// meanwhile. Nobody is kept waiting by it, and it is in nobody's way. It counts as
// an execution when it settles.
func (j *judge) beginSuperseded(x *execution, k *keyHistory) {
	x.finished, x.note = x.begun, "the server had given it out again"
	k.runs[x.seq] = append(k.runs[x.seq], x)
	x.end = func(settled bool) {
		if settled {
			x.epoch.check.Begin(x.instance, x.key, x.seq)(true)
		}
	}
}

// givenOutEarly is the journal's name for it.
const givenOutEarly = "given out early"
