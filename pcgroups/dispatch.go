package pcgroups

import (
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// unlimited is how many messages are kept for a consumer whose MaxAckPending
// sets no bound.
const unlimited = 1000

// dispatcher runs the handlers of a consumer that has more than one message in
// flight: one for each partition at a time, several partitions at once, as the
// backlog says. Its workers are started when there is something to run, and sleep
// when there is not: a new goroutine for each burst would have to grow its stack
// again for each, which took a tenth of the time of a message. What else a backlog
// needs done is in tend.go.
type dispatcher struct {
	r     *runner
	probe chan struct{}      // asks tend to look whether other instances have messages
	cuts  <-chan nats.Status // tells that the connection was lost

	clock  anchor // deliver's own, as what follows
	behind behind
	order  uint64 // of the newest delivery

	enough time.Duration // see quickEnough

	mu      sync.Mutex
	log     *backlog
	runs    []*delivery // whose handler runs
	workers int         // that are awake
	asleep  int         // others
	roused  int         // of those awake, the ones that sleep on for now
	rouse   *sync.Cond  // there is something to run, or nothing any more
	quick   int         // how many handlers in a row were
	never   bool        // deliver runs no handler any more
	seen    bool        // a message
	fences  int         // how often the fence went up
	waited  bool        // the fence is kept up for what a new leader has delivered too early; tend's own
	doubts  int         // how many had come when that was looked at; tend's own
	blind   bool        // which message is the first of a partition can not be learnt
	alone   bool        // the pin was lost behind the fence
	closed  time.Time   // when the pull had ended, with messages left
	limit   int         // how many bodies are kept at most; 0: the server sees to that
	room    *sync.Cond  // a delivery waits for it
}

func newDispatcher(r *runner, most int) *dispatcher {
	x := &dispatcher{r: r, probe: make(chan struct{}, 1)}
	var marks map[int]uint64
	if m := r.mem.marks.Load(); m != nil {
		marks = *m
	}
	x.log = newBacklog(max(most, 1), r.config.MaxDeliver, marks)
	if r.config.MaxAckPending <= 0 {
		x.limit = unlimited
	}
	x.enough = quickEnough(effectiveAckWait(r.config))
	x.room, x.rouse = sync.NewCond(&x.mu), sync.NewCond(&x.mu)
	return x
}

// deliver takes a message in, or gives it back. It came just now, unless at says
// when.
func (x *dispatcher) deliver(msg jetstream.Msg, c counts, at time.Time) {
	if at.IsZero() {
		at = x.clock.now()
	}
	if c.seq == 0 {
		return // nothing that could be acknowledged
	}
	// What was on its way when the connection broke, or for which the client had no
	// room, comes again after its ack deadline, and this one may be a later one.
	cut := x.skipped(c.order)
	select {
	case <-x.cuts:
		cut = true
	default:
	}
	if cut {
		x.fence()
	}
	n, until := c.deliveries, x.reckon(at, x.r.ackWaitOf(c.deliveries)).UnixNano()
	partition, body := leadingPartition(msg.Subject()), msg
	x.mu.Lock()
	if x.limit > 0 && x.log.bodies >= x.limit {
		// The first of a partition is always taken, as others wait for it.
		if i, _ := x.log.lane(partition).find(c.seq); i > 0 && !x.await(n) {
			body = nil // it comes again
		}
	}
	switch intake(x.r.intake.Load()) {
	case intakeDrop:
		x.mu.Unlock()
		return
	case intakeGiveBack, intakeStale:
		if !x.log.paused && !x.r.lastDelivery(n) {
			x.mu.Unlock()
			x.nakAll([]given{{msg, until}})
			return
		}
	}
	if !x.seen {
		x.seen = true
		x.look() // the fence is up; without a pin nothing else would say so
	}
	fresh := x.log.arrive(partition, c.seq, n, body, until)
	if x.mayRunHere(msg) {
		x.runHere(at)
	}
	x.dispatch()
	x.mu.Unlock()
	if !fresh {
		_ = msg.Ack() // the acknowledgement was lost on its way
	}
}

// skipped tells whether deliveries before this one did not come here.
func (x *dispatcher) skipped(order uint64) bool {
	last := x.order
	x.order = order
	return last != 0 && order > last+1
}

// await waits until there is room for another message. It is false if there will
// be none, as nothing that is here can run before a message comes again, which it
// could not while this one waits. One that does not come again is always taken.
func (x *dispatcher) await(deliveries uint64) bool {
	for x.log.bodies >= x.limit && intake(x.r.intake.Load()) == intakeRun {
		if x.log.running == 0 && !x.log.may() {
			return x.r.lastDelivery(deliveries)
		}
		x.room.Wait()
	}
	return true
}

// dispatch wakes a worker if there is something for it to do, or starts one. x.mu
// is held, as in what follows.
func (x *dispatcher) dispatch() {
	for idle := x.workers - x.log.running; x.log.may() && idle < len(x.log.ready) && x.workers < x.log.most; idle++ {
		x.workers++
		if x.asleep == 0 {
			go x.work()
			continue
		}
		x.asleep--
		x.roused++
		x.rouse.Signal()
	}
}

// settled takes note that a message was settled after its handler had returned.
func (x *dispatcher) settled(d *delivery) {
	x.mu.Lock()
	var over *evGivenUp
	if again := d.again.Load(); again != 0 {
		over = x.nak(d, again)
	} else {
		x.log.settle(d.lane.partition, d.seq)
	}
	x.dispatch()
	x.roomier()
	x.mu.Unlock()
	x.tell(over)
}

// nak takes note that a message was given back by its newest handler. An earlier
// one may say so late.
func (x *dispatcher) nak(d *delivery, again int64) *evGivenUp {
	if x.log.holder(d.lane.partition, d.seq) != hand(d) {
		return nil
	}
	if n, over := x.log.nak(d.lane.partition, d.seq, again); over {
		return &evGivenUp{d.lane.partition, d.seq, n}
	}
	return nil
}

// tell tells the session of a message given up. x.mu is not held: the session
// may be waiting for it.
func (x *dispatcher) tell(over *evGivenUp) {
	if over != nil {
		x.r.report(*over)
	}
}

// running are the deliveries whose handler runs.
func (x *dispatcher) running() []*delivery {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.runs)
}

// working tells whether a worker is awake.
func (x *dispatcher) working() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.workers > 0
}
