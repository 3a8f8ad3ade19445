package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// judge sees every execution of a group's handlers. What is a violation is for
// the checker to say; the judge feeds it, ends executions that nobody will end,
// and remembers enough to explain what was found.
//
// A group that is deleted and created again replays its origin, which is what
// creating it is for. Each life is an epoch with a checker of its own, in which
// all of the origin is due once more. To which epoch a delivery belongs is told
// by when its message was stored in the work-queue stream: that is after the
// group was created, by the clock of this very machine.
type judge struct {
	journal *journal
	records *records // what instances got and said; nil in tests without
	group   string
	stream  string // the consumers'
	static  bool
	mixed   bool // the oracle is in the group, too
	excuses bool // what the server gives out too early is counted apart: ours hold it back

	mu        sync.Mutex
	published map[string][]time.Time // by key: when the server had accepted each
	forgotten map[string]int         // members whose consumer is being deleted
	epochs    []*epoch
	bad       []violation
	handled   int // executions settled, in all epochs
	late      int // executions past any deadline, which a busy machine can cause
	slowest   slow
	again     []*execution // every twentieth duplicate that is explained
	earlySeen map[messageID]bool
}

func newJudge(g *group, j *journal) *judge {
	jd := &judge{journal: j, group: g.String(), stream: g.consumerStream(), static: g.static, mixed: len(g.oracles) > 0, excuses: len(g.oracles) > 0,
		published: map[string][]time.Time{}, forgotten: map[string]int{}, earlySeen: map[messageID]bool{}}
	jd.newEpoch(time.Time{})
	return jd
}

// newEpoch begins a life of the group.
func (j *judge) newEpoch(since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := &epoch{since: since, check: checker.New(), keys: map[string]*keyHistory{}, stored: map[uint64]uint64{}, parts: map[int]*keyHistory{}}
	for key, all := range j.published {
		for n := range all {
			e.check.Published(key, uint64(n)+1)
		}
	}
	j.epochs = append(j.epochs, e)
}

// accepted tells that the server has stored a message, the next one of its key.
func (j *judge) accepted(key string, seq uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.published[key] = append(j.published[key], time.Now())
	// To a group that is gone nothing is due any more, but nobody asks it.
	j.epochs[len(j.epochs)-1].check.Published(key, seq)
}

// begin is called by a handler that starts.
func (j *judge) begin(m jetstream.Msg, member, instance string) (*execution, error) {
	key, number, ok := strings.Cut(string(m.Data()), " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("message %q is not of this program", m.Data())
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	x := &execution{judge: j, epoch: j.epochOf(meta.Timestamp), key: key, seq: seq, stored: meta.Sequence.Stream,
		times: meta.NumDelivered, id: messageID{j.stream, meta.Sequence.Stream, meta.Timestamp.UnixNano()}, member: member, instance: instance, begun: time.Now()}
	arrival, _ := pcgroups.ArrivalOf(m)
	x.epoch.stored[x.stored] = arrival.Origin
	k := x.epoch.key(key)
	if j.superseded(x) {
		j.beginSuperseded(x, k)
		return x, nil
	}
	j.endLate(k)
	for _, r := range k.running {
		j.violate("overlap", key, seq, "%d began at %s (delivery %d) while %d was running at %s since %s",
			seq, instance, x.times, r.seq, r.instance, j.journal.offset(r.begun)).of(j, x.id, r.id)
	}
	if k.latest > seq && !k.settled(seq) {
		j.violate("order", key, seq, "%d began at %s (delivery %d) after %d had begun", seq, instance, x.times, k.latest).of(j, x.id)
	}
	if p, ok := m.(*pcgroups.Msg); ok {
		j.beginPartition(x, p.Partition())
	}
	k.latest = max(k.latest, seq)
	k.running = append(k.running, x)
	k.runs[seq] = append(k.runs[seq], x)
	x.end = x.epoch.check.Begin(instance, key, seq)
	return x, nil
}

func (j *judge) epochOf(stored time.Time) *epoch {
	if !j.static {
		for _, e := range slices.Backward(j.epochs) {
			if !stored.Before(e.since) {
				return e
			}
		}
	}
	return j.epochs[len(j.epochs)-1]
}

// endLate ends what runs past the shortest ack deadline: from then on the message
// may rightly be handled elsewhere, too. Handlers are far quicker, unless the
// machine stands still. It also ends what the server has given to another.
func (j *judge) endLate(k *keyHistory) {
	for _, r := range slices.Clone(k.running) {
		if j.forgotten[r.member] > 0 {
			r.finish("the server has forgotten it")
		} else if time.Since(r.begun) > minAckWait*9/10 {
			j.late++
			r.finish("still running close to its deadline")
		} else if j.superseded(r) {
			r.finish("the server has given it out again")
		}
	}
}

// violate notes a violation; mu is held.
func (j *judge) violate(kind, key string, seq uint64, format string, args ...any) *violation {
	text := fmt.Sprintf(format, args...)
	j.bad = append(j.bad, violation{kind: kind, group: j.group, key: key, seq: seq, at: time.Now(), text: text})
	j.journal.note("VIOLATION", "%s in %s: %s", kind, j.group, text)
	return &j.bad[len(j.bad)-1]
}

// of has what instances said of messages remembered for the timeline.
func (v *violation) of(j *judge, ids ...messageID) {
	v.about = ids
	for _, id := range ids {
		j.records.keep(id)
	}
}

// fail notes a violation that is not about a message.
func (j *judge) fail(kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violate(kind, "", 0, format, args...)
}

// worked tells that the handler has done its work. The acknowledgement that it
// sends next lets the next message begin at once, elsewhere.
func (x *execution) worked() {
	x.judge.mu.Lock()
	defer x.judge.mu.Unlock()
	x.finish("")
}

// acknowledged tells that the acknowledgement was sent.
func (x *execution) acknowledged() {
	j := x.judge
	j.mu.Lock()
	defer j.mu.Unlock()
	j.handled++
	for _, first := range x.epoch.key(x.key).runs[x.seq] {
		if first.settled {
			j.explain(first, x)
			break
		}
	}
	// In a later life a message is old from the start.
	if all := j.published[x.key]; x.epoch == j.epochs[0] && x.seq <= uint64(len(all)) {
		if took := time.Since(all[x.seq-1]); took > j.slowest.took {
			j.slowest = slow{took, all[x.seq-1], x}
		}
	}
	x.settled = true
	x.end(true)
}

// explain finds what can have taken the first acknowledgement away; mu is held.
func (j *judge) explain(first, second *execution) {
	if second.begun.Before(first.begun) {
		first, second = second, first // two at once, and the later one was quicker
	}
	e := second.epoch
	if first.stored != second.stored && !j.static {
		e.sourcedTwice++
		if e.sourcedTwice == 1 {
			j.journal.note("sourced twice", "%s key %s: %d is %d and %d of the work-queue stream, and maybe more are", j.group, second.key, second.seq, first.stored, second.stored)
		}
		return
	}
	if first.early || second.early || j.journal.disturbed(first.finished, second.begun, j.group, first.instance) {
		e.explained++
		if e.explained%manyAgain == 0 {
			j.journal.note("many again", "%s key %s: the %d. duplicate that is explained, %d, from %s to %s, stored %d", j.group, second.key, e.explained, second.seq, first.instance, second.instance, second.stored)
			j.again = append(j.again, second)
		}
		return
	}
	e.unexplained++
	j.violate("duplicate", second.key, second.seq, "%d was done at %s until %s and again at %s (delivery %d) from %s, and nothing had happened to its acknowledgement",
		second.seq, first.instance, j.journal.offset(first.finished), second.instance, second.times, j.journal.offset(second.begun)).of(j, first.id, second.id)
}

// forget is called before a member's consumer is deleted. Until the function
// returned is called, nothing that the member's handlers are at keeps anybody
// from handling the same.
func (j *judge) forget(member string) (done func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forgotten[member]++
	return func() {
		j.abandon("its consumer was deleted", func(x *execution) bool { return x.member == member })
		j.mu.Lock()
		defer j.mu.Unlock()
		j.forgotten[member]--
	}
}

// abandon ends the executions for which a handler's end means nothing any more:
// those of an instance that is killed, or of a member whose consumer is deleted.
func (j *judge) abandon(note string, which func(*execution) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.epochs {
		for _, k := range e.keys {
			for _, x := range slices.Clone(k.running) {
				if which(x) {
					x.finish(note)
				}
			}
		}
	}
}
