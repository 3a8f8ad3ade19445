package pcgroups

import (
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// The dumb model that backlogs are tried against: one pinned consumer of a
// work-queue stream, the connections to its instances, and the time. It knows
// what is true. Times are in milliseconds.

const modelWait = 1000 // the consumer's ack wait

type modelServer struct {
	now        int64
	maxDeliver int
	maxPending int // 0: no limit

	stored    []*modelMsg // by sequence, from 1
	delivered uint64      // up to there
	pending   map[uint64]*modelMsg
	pin       *instance
	pinID     int
}

// modelMsg is a message of the stream and all that ever happened to it.
type modelMsg struct {
	spot
	deliveries uint64
	deadline   int64 // when the server takes it back
	naked      bool  // it was given back: the deadline is when it comes again
	acked      bool  // the server has heard of it
	gaveUp     bool  // by the server

	handled  bool   // a handler acknowledged it
	refused  bool   // a handler gave its last delivery back
	started  uint64 // of which delivery a handler was started last
	lost     bool   // the last delivery did not reach its instance
	runs     *modelHand
	outOf    bool // it was started out of turn, as nobody else would get it
	readable bool // it is in the stream
}

// over tells whether the rest of the partition may go on.
func (m *modelMsg) over(s *modelServer) bool {
	return m.handled || m.acked || m.gaveUp ||
		s.maxDeliver > 0 && m.deliveries >= uint64(s.maxDeliver) && (m.refused || m.deadline <= s.now)
}

// modelHand is a delivery whose handler was started.
type modelHand struct {
	fakeHand
	spot
	at         *instance
	msg        *modelMsg
	deliveries uint64
	again      bool // a redelivery of what some handler has acknowledged
	returned   bool
}

// wire is a delivery on its way.
type wire struct {
	msg        *modelMsg
	deliveries uint64
	pin        int
}

// said is an acknowledgement on its way.
type said struct {
	seq   uint64
	what  string // ack, nak or progress
	delay int64
}

func (s *modelServer) publish(partition int) {
	seq := uint64(len(s.stored)) + 1
	s.stored = append(s.stored, &modelMsg{spot: spot{partition, seq}, readable: true})
}

// canDeliver is what the server would deliver next, if it may.
func (s *modelServer) canDeliver() *modelMsg {
	if s.pin == nil {
		return nil
	}
	for _, seq := range sortedKeys(s.pending) {
		if m := s.pending[seq]; m.deadline <= s.now {
			return m
		}
	}
	if s.delivered < uint64(len(s.stored)) && (s.maxPending == 0 || len(s.pending) < s.maxPending) {
		return s.stored[s.delivered]
	}
	return nil
}

func (s *modelServer) deliver() {
	m := s.canDeliver()
	if s.maxDeliver > 0 && m.deliveries >= uint64(s.maxDeliver) {
		m.gaveUp = true
		delete(s.pending, m.seq)
		return
	}
	m.deliveries++
	m.deadline, m.naked, m.lost = s.now+modelWait, false, false
	s.pending[m.seq] = m
	s.delivered = max(s.delivered, m.seq)
	s.pin.wires = append(s.pin.wires, wire{m, m.deliveries, s.pinID})
}

// hear takes an acknowledgement in. It fails if a message is acknowledged that
// nobody has handled.
func (s *modelServer) hear(a said) error {
	m := s.pending[a.seq]
	switch {
	case a.what == "ack" && !s.stored[a.seq-1].handled:
		return fmt.Errorf("%v is lost: it was acknowledged, but not handled", s.stored[a.seq-1].spot)
	case a.what == "ack":
		// After the last deadline, too.
		s.stored[a.seq-1].acked, s.stored[a.seq-1].readable = true, false
		delete(s.pending, a.seq)
	case m == nil:
	case a.what == "nak":
		m.naked, m.deadline = true, s.now+a.delay
	case a.what == "progress" && !m.naked && m.deadline > s.now:
		m.deadline = s.now + modelWait
	}
	return nil
}

// floor is up to where all that was delivered is settled.
func (s *modelServer) floor() uint64 {
	if len(s.pending) == 0 {
		return s.delivered
	}
	return slices.Min(sortedKeys(s.pending)) - 1
}

// next is the first message of a partition that the stream has after a sequence and
// the floor.
func (s *modelServer) next(partition int, after uint64) uint64 {
	for _, m := range s.stored[max(s.floor(), after):] {
		if m.partition == partition && m.readable {
			return m.seq
		}
	}
	return 0
}

func sortedKeys(m map[uint64]*modelMsg) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// instance does with its backlog what a dispatcher does, one step at a time.
type instance struct {
	name     string
	s        *modelServer
	b        *backlog
	limit    int  // of bodies; 0: the server sees to it
	lazy     bool // it does not renew in time
	pin      int
	cut      bool // the connection was lost, which is yet to be noticed
	stopping bool // its pull is about to end
	closing  bool // it has ended
	since    int64
	passing  bool

	wires []wire
	says  []said
	runs  map[spot]*modelHand
	open  []*modelHand // handler returned, but did not settle

	fences int
	asked  *modelAnswer
}

// modelAnswer is what the server said of the consumer, on its way.
type modelAnswer struct {
	fences, inFlight int
	delivered        uint64
}

func (x *instance) say(a said) { x.says = append(x.says, a) }

// receive takes in the delivery that comes next.
func (x *instance) receive() {
	w := x.wires[0]
	x.wires = x.wires[1:]
	if w.pin != x.pin {
		x.pin = w.pin
		x.unpinned()
		x.fence()
	}
	if x.cut {
		x.cut = false
		x.fence()
	}
	last := x.s.maxDeliver > 0 && w.deliveries >= uint64(x.s.maxDeliver)
	if x.closing && !last {
		x.say(said{seq: w.msg.seq, what: "nak"})
		return
	}
	var body jetstream.Msg = &fakeBody{spot: w.msg.spot, deliveries: w.deliveries}
	if i, _ := x.b.lane(w.msg.partition).find(w.msg.seq); i > 0 && x.limit > 0 && x.b.bodies >= x.limit && !last {
		body = nil
	}
	if !x.b.arrive(w.msg.partition, w.msg.seq, w.deliveries, body, x.s.now+modelWait) {
		x.say(said{seq: w.msg.seq, what: "ack"})
	}
}

func (x *instance) fence() { x.b.fence(); x.fences++ }

func (x *instance) unpinned() {
	var back []given
	if !x.stopping {
		back = x.b.giveBack()
	}
	x.b.unpinned()
	x.nakAll(back)
}

func (x *instance) nakAll(back []given) {
	for _, g := range back {
		if g.until > x.s.now {
			x.say(said{seq: g.msg.(*fakeBody).seq, what: "nak"})
		}
	}
}

// stop takes the pull back. Where deliveries are limited nothing is given back
// before it has ended.
func (x *instance) stop() {
	if x.s.maxDeliver == 0 {
		x.close()
		return
	}
	x.stopping = true
	x.b.pause()
}

// close takes note that the pull has ended.
func (x *instance) close() {
	x.stopping, x.closing, x.since = false, true, x.s.now
	back := x.b.giveBack()
	x.b.close()
	x.nakAll(back)
}

// mayPass tells whether what is left has waited long enough for its turn.
func (x *instance) mayPass() bool {
	return x.closing && !x.passing && x.s.now-x.since >= modelWait
}

func (x *instance) pass() {
	x.passing = true
	x.b.pass()
}

// start runs the next handler, and tells what of the order it breaks.
func (x *instance) start() error {
	l, w, body := x.b.start(x.s.now)
	if body == nil {
		return nil
	}
	m := x.s.stored[w.seq-1]
	h := &modelHand{spot: m.spot, at: x, msg: m, deliveries: w.deliveries, again: m.handled, fakeHand: fakeHand{end: w.until}}
	w.take(h)
	x.runs[m.spot] = h
	m.started = max(m.started, w.deliveries)
	// At its last delivery a message is run although its time is up, or in the end
	// although an earlier one is not settled elsewhere, as nobody else gets it.
	m.outOf = m.outOf || x.passing && l.queue[0].seq != w.seq || m.deadline <= x.s.now
	if err := x.inOrder(h); err != nil {
		return err
	}
	if !h.again {
		m.runs = h
	}
	if w.until-x.s.now < modelWait*9/10 {
		h.end = x.s.now + modelWait
		x.say(said{seq: w.seq, what: "progress"})
	}
	return nil
}

// inOrder checks that nothing earlier of the partition is unsettled and nothing of
// it runs anywhere. What is handled again, as its acknowledgement was lost, says
// nothing, nor does what is run out of turn.
func (x *instance) inOrder(h *modelHand) error {
	for _, m := range x.s.stored {
		if m.partition != h.partition || m == h.msg && m.runs == nil || h.again || h.msg.outOf || m.outOf {
			continue
		}
		if m.runs != nil && (m.runs.at == x || !m.runs.left) { // another instance can not know whether a handler goes on after it has settled
			return fmt.Errorf("%v starts at %s while %v runs at %s", h.spot, x.name, m.spot, m.runs.at.name)
		}
		if m.seq < h.seq && m.deliveries > 0 && !m.over(x.s) {
			return fmt.Errorf("%v starts at %s before %v is settled", h.spot, x.name, m.spot)
		}
	}
	return nil
}

// settle acknowledges a message or gives it back, while its handler runs or later.
func (x *instance) settle(h *modelHand, what string, delay int64) {
	h.left = true
	x.say(said{h.seq, what, delay})
	switch {
	case what == "ack":
		h.msg.handled = true
		if h.returned {
			x.b.settle(h.partition, h.seq)
		}
	case x.s.maxDeliver > 0 && h.deliveries >= uint64(x.s.maxDeliver):
		h.msg.refused = true
	}
	if what == "nak" && h.returned {
		x.b.nak(h.partition, h.seq, x.s.now+max(delay, 1))
	}
}

// finish has a handler return, after it has done that.
func (x *instance) finish(h *modelHand, what string, delay int64) {
	if what != "" && !h.left {
		x.settle(h, what, delay)
	}
	h.returned = true
	delete(x.runs, h.spot)
	if h.msg.runs == h {
		h.msg.runs = nil
	}
	x.b.finish(x.b.lane(h.partition), h.seq, what == "ack")
	switch what {
	case "nak":
		x.b.nak(h.partition, h.seq, x.s.now+max(delay, 1))
	case "":
		x.open = append(x.open, h)
	}
}

// renew extends what waits, by a request that the server answers in order.
func (x *instance) renew() error {
	list := x.b.renewals(x.s.now, x.s.now+modelWait*2/3)
	if err := x.flush(); err != nil {
		return err
	}
	for _, r := range list {
		if err := x.s.hear(said{seq: r.seq, what: "progress"}); err != nil {
			return err
		}
		x.b.renew(r, x.s.now+modelWait)
	}
	return nil
}

// flush has the server hear all that was said.
func (x *instance) flush() error {
	for _, a := range x.says {
		if err := x.s.hear(a); err != nil {
			return err
		}
	}
	x.says = nil
	return nil
}

func (x *instance) ask() {
	x.asked = &modelAnswer{x.fences, len(x.s.pending), x.s.delivered}
}

func (x *instance) answer() {
	a := x.asked
	x.asked = nil
	if a.fences == x.fences && x.b.fenced {
		x.b.unfence(x.s.now, a.inFlight, a.delivered)
	}
}

func (x *instance) clear() {
	for _, p := range x.b.candidates(3, 0) {
		if x.s.next(p.partition, p.after) >= p.seq {
			x.b.clear(p)
		}
	}
}

// holds sees to what holds its partition for too long.
func (x *instance) holds() {
	for _, h := range x.b.overdue(x.s.now, modelWait/4) {
		if h.given {
			continue
		}
		if x.s.floor() >= h.seq || !x.s.stored[h.seq-1].readable ||
			x.b.doubt(h.partition, h.seq, x.b.inFlight(x.s.now, x.s.delivered, h) > len(x.s.pending)) > 1 {
			x.b.release(h.partition, h.seq)
		}
	}
}

// lose cuts the connection: what is on its way either way is lost.
func (x *instance) lose() {
	x.miss()
	x.says, x.cut, x.asked = nil, true, nil
}

// miss has what is on its way to an instance not reach it.
func (x *instance) miss() {
	for _, w := range x.wires {
		w.msg.lost = w.msg.lost || w.deliveries == w.msg.deliveries
	}
	x.wires = nil
}

// forget has what waits in an instance be lost with it.
func (x *instance) forget() {
	for _, l := range x.b.lanes {
		for i := range l.queue {
			x.s.stored[l.queue[i].seq-1].lost = true
		}
	}
}
