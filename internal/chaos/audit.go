package chaos

import (
	"context"
	"math"
	"slices"
	"time"
)

// unhandled is a message that was published and of which no execution settled.
type unhandled struct {
	key       string
	seq       uint64
	published time.Time
	begun     bool // there was an execution
}

// audited is what became of a group's messages in the end.
type audited struct {
	lost       []unhandled
	notSourced []unhandled
	// skipped are sequences of the consumers' stream that nobody executed.
	skipped []uint64
	stuck   int // neither lost nor handled
}

// unhandled are the messages of the present epoch that nobody has handled.
func (j *judge) unhandled() []unhandled {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.epochs[len(j.epochs)-1]
	var out []unhandled
	for key, all := range j.published {
		k := e.key(key)
		for n, at := range all {
			if seq := uint64(n) + 1; !k.settled(seq) {
				out = append(out, unhandled{key, seq, at, len(k.runs[seq]) > 0})
			}
		}
	}
	slices.SortFunc(out, func(a, b unhandled) int { return a.published.Compare(b.published) })
	return out
}

// skipped are the sequences up to the last one of the consumers' stream that were
// never executed in the present epoch.
func (j *judge) skipped(last uint64) []uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.epochs[len(j.epochs)-1]
	var out []uint64
	for seq := uint64(1); seq <= last; seq++ {
		if _, ok := e.stored[seq]; !ok {
			out = append(out, seq)
		}
	}
	return out
}

// audit tells the losses of the group from what the server never sourced.
//
// It takes no consumer and no trust: every message of a work-queue stream has a
// sequence, and there are no holes. If all sequences up to the last one were
// executed, then the stream never held anything else, and what is missing from
// the origin was never sourced. For each sequence that was not, one message is
// lost by the group.
func (g *group) audit(missing []unhandled, last uint64) audited {
	var a audited
	if g.static {
		a.lost = missing
		return a
	}
	a.skipped = g.judge.skipped(last)
	spare := len(a.skipped)
	for _, m := range missing {
		switch {
		case m.begun:
			a.lost = append(a.lost, m)
		case spare > 0: // which one it is can not be told, but how many are
			spare--
			a.lost = append(a.lost, m)
		default:
			a.notSourced = append(a.notSourced, m)
		}
	}
	return a
}

// stallPatience is how long sourcing may stand still: the server waits 30 s for
// an answer that nobody gives and 10 s more, and that twice if it is unlucky.
const stallPatience = 150 * time.Second

// settle waits until all groups have handled everything.
func (r *run) settle(ctx context.Context) (map[*group]audited, error) {
	r.traffic.stop()
	if err := r.cluster.waitHealthy(ctx); err != nil {
		return nil, err
	}
	if err := r.fleet.mend(ctx); err != nil {
		return nil, err
	}
	// Oracle instances may have been dead for long, without a word.
	for at, s := range r.fleet.seats {
		if !s.oracle {
			continue
		}
		if err := r.fleet.at[at].leave(ctx); err != nil {
			return nil, err
		}
		if err := r.seatAgain(ctx, at, ackWaits[0]); err != nil {
			return nil, err
		}
	}
	results := map[*group]audited{}
	for _, g := range r.groups {
		a, err := r.settleGroup(ctx, g)
		if err != nil {
			return nil, err
		}
		results[g] = a
	}
	return results, nil
}

func (r *run) settleGroup(ctx context.Context, g *group) (audited, error) {
	moved, asked := time.Now(), time.Now()
	var oldest unhandled // what is published meanwhile is no progress
	fewest := math.MaxInt
	for {
		if err := ctx.Err(); err != nil {
			return audited{}, err
		}
		missing := g.judge.unhandled()
		state, err := r.stored(ctx, g)
		if err == nil && len(missing) == 0 && (g.static || state.Msgs == 0) {
			return r.audit(ctx, g, nil, state.LastSeq), nil
		}
		// Sourcing keeps the order, so it is through when it has brought the last
		// message. If that is one of those left out, one more is published.
		if err == nil && !g.static && state.Msgs == 0 && g.judge.handledLast() {
			return r.audit(ctx, g, missing, state.LastSeq), nil
		}
		if n := len(missing); n > 0 && (missing[0] != oldest || n < fewest) {
			oldest, fewest, moved = missing[0], n, time.Now()
		}
		if time.Since(moved) > stallPatience {
			// They are not lost, but nobody handles them, which is as bad.
			g.judge.fail("stuck", "%d messages were not handled and nothing happened for %s, the oldest published at %s with key %s; %s", len(missing), stallPatience,
				r.journal.offset(oldest.published), oldest.key, r.describe(ctx, g))
			return audited{stuck: len(missing)}, nil
		}
		if !g.static && time.Since(moved) > 5*time.Second && time.Since(asked) > 5*time.Second {
			asked = time.Now()
			r.traffic.onceMore(ctx, r.js, g)
		}
		_ = pause(ctx, 200*time.Millisecond)
	}
}

// handledLast tells whether the message that was published last was handled.
func (j *judge) handledLast() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.epochs[len(j.epochs)-1]
	var key string
	var last time.Time
	for name, all := range j.published {
		if at := all[len(all)-1]; at.After(last) {
			key, last = name, at
		}
	}
	return key != "" && e.key(key).settled(uint64(len(j.published[key])))
}
