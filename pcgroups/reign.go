package pcgroups

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A server that has just become the leader of a consumer may deliver a message
// again at once whose handler runs elsewhere. It knows that the message is in
// flight, but takes the time at which it was stored in the stream for the time of
// its delivery (nats-server 2.11 to 2.15, consumer.go: deliverMsg replicates
// pmsg.ts), so that what was in the stream for longer than the ack wait is overdue
// from the start.
//
// Whoever gets such a message leaves it alone until an ack wait has passed since
// the leader came: what was begun before that is over then, or past its deadline.

// reign is what is known of a consumer's leader.
type reign struct {
	age   time.Duration // how long it leads; eternal: it was no other before, or it does not tell
	now   time.Time     // by its clock
	floor uint64        // all messages up to there are settled
}

// eternal is the age of a leader that follows nobody.
const eternal = time.Duration(math.MaxInt64)

// reign asks the consumer's leader. Both times are by its own clock.
func (b *natsBackend) reign(ctx context.Context) (reign, error) {
	info, err := b.info(ctx)
	if err != nil {
		return reign{}, err
	}
	r := reign{age: eternal, now: info.TimeStamp, floor: info.AckFloor.Stream}
	if came := b.server.since(b.js.Conn().ConnectedServerId(), loaded(info)); !came.IsZero() {
		r.age = time.Since(came)
		if last := info.AckFloor.Last; last != nil {
			r.age = max(r.age, info.TimeStamp.Sub(*last)) // it was there then
		}
	}
	if info.Cluster != nil && info.Cluster.LeaderSince != nil {
		r.age = info.TimeStamp.Sub(*info.Cluster.LeaderSince)
	}
	return r, nil
}

// loaded tells whether a server has loaded the consumer from its store since the
// last delivery or the last acknowledgement: it keeps the times of those in memory
// only (nats-server 2.11 to 2.15, consumer.go: ldt and lat).
func loaded(info *jetstream.ConsumerInfo) bool {
	return info.Delivered.Consumer > 0 && info.Delivered.Last == nil || info.AckFloor.Consumer > 0 && info.AckFloor.Last == nil
}

// connectedTo is the server of a connection. One that does not tell since when it
// leads may have been restarted, with a new id, and stored deliveries by the same
// time as others replicate. Whoever joins after that knows no other id; it goes by
// what the server has forgotten.
type connectedTo struct {
	mu     sync.Mutex
	id     string
	loaded bool
	came   time.Time // when it was first seen; zero: it has been there from the beginning
}

func (c *connectedTo) since(id string, loaded bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id != c.id || loaded && !c.loaded {
		c.came = time.Now()
	}
	c.id, c.loaded = id, loaded
	return c.came
}

// tooEarly is how long it takes until a message that is delivered again, stored
// in the stream at a time, may not be another instance's any more; 0: it is not.
// What a server loads from its store has lost the fraction of a second (store.go:
// encodeConsumerState), which makes it overdue up to a second sooner.
func (r reign) tooEarly(stored int64, wait time.Duration) time.Duration {
	if r.age >= wait || r.now.Sub(time.Unix(stored/int64(time.Second), 0)) < wait {
		return 0
	}
	return wait - r.age
}

// newPin tells whether the pin has not been there for an ack wait. A new leader
// knows of no pin, so behind an older one there is no new leader.
func (r *runner) newPin(wait time.Duration) bool {
	return time.Since(time.Unix(0, r.mem.pinned.Load())) < wait
}

// doubtful are the messages not started that were delivered before, and not to us:
// another instance may be at them.
func (b *backlog) doubtful() []renewal {
	var out []renewal
	for _, l := range b.lanes {
		for i := range l.queue {
			if w := &l.queue[i]; w.body != nil && !w.running && (w.hand == nil || w.foreign) && w.deliveries > 1 {
				out = append(out, renewal{l.partition, w.seq, w.body})
			}
		}
	}
	return out
}

// settledElsewhere drops a message that was not started: who was at it has
// acknowledged it.
func (b *backlog) settledElsewhere(partition int, seq uint64) {
	l := b.lane(partition)
	if i, found := l.find(seq); found && l.queue[i].body != nil && !l.queue[i].running {
		b.remove(l, i, true)
		b.offer(l)
	}
}

// early tells whether messages are here that another instance may be at, as a new
// leader has delivered them too early, and when to look again. Before it says by 0
// that this is over, it drops what was settled meanwhile. A look that fails says
// nothing.
func (x *dispatcher) early(ctx context.Context, server lookout) (again time.Duration) {
	x.mu.Lock()
	list := x.log.doubtful()
	x.doubts = x.log.redelivered
	x.mu.Unlock()
	waited, wait := x.waited, time.Duration(0)
	x.waited = false
	for _, d := range list {
		wait = max(wait, x.r.ackWaitOf(deliveries(d.msg)-1))
	}
	if len(list) == 0 || !waited && !x.r.newPin(wait+holdAsk) {
		return 0
	}
	now, err := server.reign(ctx)
	if err != nil {
		if x.waited = x.r.newPin(wait); x.waited {
			again = probeMost
		}
		return again
	}
	for _, d := range list {
		again = max(again, now.tooEarly(storedAt(d.msg.Reply()), x.r.ackWaitOf(deliveries(d.msg)-1)))
	}
	if again > 0 {
		x.waited = true
		return again
	}
	if waited {
		for _, d := range list {
			gone := now.floor >= d.seq
			if !gone {
				gone, err = server.gone(ctx, d.seq)
			}
			if err != nil && x.r.newPin(2*wait+holdAsk) {
				x.waited = true
				return probeMost // the rest is looked at next
			}
			if err == nil && gone {
				x.mu.Lock()
				x.log.settledElsewhere(d.partition, d.seq)
				x.mu.Unlock()
			}
		}
	}
	return 0
}

const (
	// holdLook is how soon is looked again whether a message that is held was settled,
	// each time twice as late up to an eighth of the ack wait, and to holdMost.
	holdLook = 50 * time.Millisecond
	holdMost = time.Second
	// holdAsk is how long one look may take.
	holdAsk = time.Second
)

// hold leaves a message alone for as long as another instance may be at it. It is
// false if it is not to be run here: it was settled, or given back. With one
// message in flight there is nothing else to do meanwhile.
//
// With WithKeepAlive the other may need longer than the ack wait, which only the
// server can tell: it goes by the deadline from here on. So the message is left to it,
// unless that would use up a delivery. A message that nobody else would get is held,
// and then run, even if the session stops.
func (r *runner) hold(msg jetstream.Msg, n, seq uint64) bool {
	if n < 2 || r.reign == nil {
		return true
	}
	wait := r.ackWaitOf(n - 1) // of the handler that another instance may run
	if !r.newPin(wait) {
		return true
	}
	pin := r.mem.pinID()
	if d := r.mem.begun.Load(); d != nil && d.seq == seq && named(d.pin) == pin {
		return true // it was ours the last time, too
	}
	stored := storedAt(msg.Reply())
	last := r.lastDelivery(n)
	ended := r.taken // the drain that closes it waits for us
	if last {
		ended = r.over
	}
	most := min(holdMost, max(min(wait, r.ackWaitOf(n))/8, holdLook))
	held, extended, pause := false, time.Now(), holdLook
	for r.newPin(wait + holdAsk) {
		ctx, cancel := asking(ended, holdAsk)
		now, err := r.reign(ctx)
		cancel()
		next := pause
		if err == nil {
			left := now.tooEarly(stored, wait)
			if now.floor >= seq {
				return false // by whoever was at it
			}
			if left == 0 {
				break
			}
			if r.keepAlive > 0 && r.config.MaxDeliver <= 0 && r.config.MaxAckPending == 1 && left > most {
				return false // it comes again when who is at it does not renew it
			}
			next = min(next, left)
		}
		held = true
		if time.Since(extended) > min(wait, r.ackWaitOf(n))/4 {
			extended = time.Now()
			_ = msg.InProgress() // if it fails the message comes again
		}
		stopped := false
		select {
		case <-time.After(next):
		case <-ended:
			stopped = true
		}
		pause = min(2*pause, most)
		if r.mem.pinID() != pin && !last {
			return false // it is another's by now
		}
		switch in := intake(r.intake.Load()); {
		case in == intakeDrop:
			return false
		case in != intakeRun && !last:
			return r.keeps(msg, n)
		case stopped:
			return false
		}
	}
	if held {
		_ = msg.InProgress() // its handler is to have all of the time
	}
	return true
}
