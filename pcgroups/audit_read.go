package pcgroups

import (
	"context"
	"iter"

	"github.com/nats-io/nats.go/jetstream"
)

// auditWalk is up to how many messages of a stretch are counted one by one before a
// consumer counts them.
const auditWalk = 256

// auditor reads both streams for a ledger.
type auditor struct {
	*hop
	ledger
	out    *Audit
	origin *jetstream.StreamInfo
	ahead  struct { // the newest answer to "what comes next in the origin"
		from uint64
		to   uint64 // the message; 0: none
		set  bool
	}
}

func auditElastic(ctx context.Context, js jetstream.JetStream, stream, group string, asked SequenceRange, o auditOptions) (*Audit, error) {
	if asked.Last != 0 && asked.Last < asked.First {
		return nil, badField("to", "the range ends at %d, before its beginning at %d", asked.Last, asked.First)
	}
	c, err := readElastic(ctx, js, stream, group)
	if err != nil {
		return nil, err
	}
	a := &auditor{hop: newHop(js, stream, group, c), out: new(Audit)}
	a.patient = true
	queue, err := a.info(ctx, a.queue())
	if err != nil {
		return nil, err
	}
	if !isGroupStream(stream, c, queue.Config) {
		return nil, foreignStream(stream, group)
	}
	if a.origin, err = a.info(ctx, stream); err != nil {
		return nil, err
	}
	a.begin(asked, queue.Config, o.most)
	if err := a.scan(ctx, queue.State.LastSeq, o.arrivals); err != nil {
		return nil, err
	}
	if err := a.finish(ctx); err != nil {
		return nil, err
	}
	return a.out, nil
}

// begin sets the ledger to where sourcing began.
func (a *auditor) begin(asked SequenceRange, queue jetstream.StreamConfig, most int) {
	st := a.origin.State
	r := SequenceRange{max(asked.First, 1), st.LastSeq}
	if asked.Last != 0 {
		r.Last = min(asked.Last, st.LastSeq)
	}
	a.out.Range = r
	if st.FirstSeq > 1 {
		a.out.Gone = r.cut(SequenceRange{1, st.FirstSeq - 1})
	}
	a.within, a.most = r, most
	a.last = max(queue.FirstSeq, 1) - 1
	// Somebody may have set where to start, now or before anything was sourced.
	src := queue.Sources[0]
	a.unknown = src.OptStartTime != nil || src.OptStartSeq > 0
}

// scan goes through what is in the work-queue stream, and what handlers saw.
func (a *auditor) scan(ctx context.Context, last uint64, seen iter.Seq[Arrival]) error {
	if seen == nil {
		seen = func(func(Arrival) bool) {}
	}
	nextSeen, stop := iter.Pull(seen)
	defer stop()
	handled, more := nextSeen()
	for at := a.last + 1; at <= last; {
		m, err := a.get(ctx, a.queue(), getRequest{Seq: at, NextFor: ">"})
		if err != nil {
			return err
		}
		if m == nil || m.Sequence > last {
			break
		}
		for ; more && handled.Buffered <= m.Sequence; handled, more = nextSeen() {
			if err := a.enter(ctx, handled); err != nil {
				return err
			}
		}
		if m.origin > 0 && m.Sequence > a.last {
			if err := a.enter(ctx, Arrival{Buffered: m.Sequence, Origin: m.origin}); err != nil {
				return err
			}
		}
		at = m.Sequence + 1
		if a.high >= a.within.Last && len(a.missing) == 0 {
			return nil // nothing later can change the result
		}
	}
	for ; more; handled, more = nextSeen() {
		if err := a.enter(ctx, handled); err != nil {
			return err
		}
	}
	return nil
}

// enter takes in an arrival, unless it has been.
func (a *auditor) enter(ctx context.Context, arrival Arrival) error {
	if arrival.Buffered <= a.last || arrival.Origin == 0 {
		return nil
	}
	g, ok := a.arrive(arrival)
	if arrival.Origin == a.high {
		a.out.Checkpoint = arrival
	}
	if ok {
		return a.close(ctx, g)
	}
	return nil
}

// close finds out what did not arrive of a gap.
func (a *auditor) close(ctx context.Context, g gap) error {
	if a.full() {
		a.truncate(max(g.First, a.within.First))
		return nil
	}
	if g.unseen == 0 && !g.begins {
		// What was before the first arrival may have gone before the group was
		// created.
		return a.list(ctx, g.cut(a.within), a.whole() && g.First > 1)
	}
	t, err := a.tally(ctx, g.SequenceRange)
	if err == nil {
		a.span(g, t)
	}
	return err
}

// truncate ends the audit before a sequence; later arrivals are still of interest
// for what is missing before it.
func (a *auditor) truncate(next uint64) {
	a.out.Next = next
	a.within.Last = next - 1
}

// list enters what the origin has in a stretch of which nothing arrived.
func (a *auditor) list(ctx context.Context, r SequenceRange, expires bool) error {
	for at := r.First; at <= r.Last; at++ {
		next, err := a.after(ctx, at)
		if err != nil {
			return err
		}
		if next == 0 || next > r.Last {
			next = r.Last + 1
		}
		if expires && next > at {
			a.expire(SequenceRange{at, next - 1})
		}
		if next > r.Last {
			return nil
		}
		if a.full() {
			a.truncate(next)
			return nil
		}
		a.missed(next)
		at = next
	}
	return nil
}

// expire notes sequences that are not in the origin, and were not sourced.
func (a *auditor) expire(r SequenceRange) {
	if r.Len() > 0 && len(a.out.Expired) < a.most {
		a.out.Expired = append(a.out.Expired, r)
	}
}

// after is the first message of the group in the origin at or after a sequence, 0
// if there is none.
func (a *auditor) after(ctx context.Context, seq uint64) (uint64, error) {
	if k := a.ahead; k.set && seq >= k.from && (k.to == 0 || seq <= k.to) {
		return k.to, nil
	}
	m, err := a.next(ctx, seq)
	if err != nil {
		return 0, err
	}
	a.ahead.from, a.ahead.to, a.ahead.set = seq, 0, true
	if m != nil {
		a.ahead.to = m.Sequence
	}
	return a.ahead.to, nil
}

// tally counts the group's messages in a stretch of the origin: a few by reading
// them, many by asking for their number.
func (a *auditor) tally(ctx context.Context, r SequenceRange) (tally, error) {
	st := a.origin.State
	exact := st.FirstSeq <= r.First && st.NumDeleted == 0 && a.origin.Config.Retention == jetstream.LimitsPolicy
	if a.whole() && exact {
		return tally{n: r.Len(), exact: true, known: true}, nil
	}
	var n uint64
	for at := max(r.First, st.FirstSeq); n < auditWalk; n++ {
		next, err := a.after(ctx, at)
		if err != nil {
			return tally{}, err
		}
		if next == 0 || next > r.Last {
			return tally{n: n, exact: exact, known: true}, nil
		}
		at = next + 1
	}
	return a.count(ctx, r.First, r.Last)
}

// finish looks at what comes after the newest arrival.
func (a *auditor) finish(ctx context.Context) error {
	place, err := a.info(ctx, a.queue())
	if err != nil {
		return err
	}
	// What the place counts has been stored when the second answer is given.
	length, err := a.info(ctx, a.queue())
	if err != nil {
		return err
	}
	seq, last := a.recorded(place), length.State.LastSeq
	if seq >= a.high && seq > 0 && seq == a.recorded(length) && last == place.State.LastSeq {
		a.out.Checkpoint = Arrival{Buffered: last, Origin: seq}
	}
	a.out.PlaceLost = keepsPlace(place) && place.State.LastSeq > 0 && (seq == 0 || seq < a.high)
	if g, ok := a.end(last, seq); ok {
		if err := a.close(ctx, g); err != nil {
			return err
		}
	}
	a.out.Sourced = a.high
	rest := a.within.cut(SequenceRange{a.high + 1, a.within.Last})
	switch {
	case rest.Len() == 0 || a.out.Next != 0:
	case seq == 0 && a.unseen > 0 || a.out.PlaceLost:
		// They may have arrived, and been consumed.
		a.spans = append(a.spans, AuditSpan{SequenceRange: rest})
	default:
		next, err := a.after(ctx, rest.First)
		if err != nil {
			return err
		}
		if first := a.origin.State.FirstSeq; a.whole() && first > rest.First {
			a.expire(rest.cut(SequenceRange{rest.First, first - 1}))
		}
		if next != 0 && next <= rest.Last {
			a.out.Waiting = SequenceRange{next, rest.Last}
		}
	}
	a.out.Missing, a.out.Unproven, a.out.Repeated = a.missing, a.spans, a.repeated
	return nil
}
