package pcgroups

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// sourceWatchEvery is how often a healthy source is looked at, with one
	// request. A stall takes at least 40 s.
	sourceWatchEvery = 5 * time.Second
	// sourceWatchClosely is how often one is looked at that is suspected.
	sourceWatchClosely = time.Second
	// sourceWatchSeldom is how often one is looked at that can not be: the user
	// may not, or nobody answers.
	sourceWatchSeldom = 5 * time.Minute
	// sourceWatchPatience is for the answers of one look. Without permission
	// none ever comes.
	sourceWatchPatience = 2 * time.Second
	// sourceWatchTries is how many looks may fail before they get seldom.
	sourceWatchTries = 3
)

// sourceWatch watches the way from the origin into an elastic group's work-queue
// stream for a session, and tells of what is wrong: SourceStall, sourceRecovered,
// SourceSkip. Whoever calls run owns it; everything is told from there.
type sourceWatch struct {
	look  func(ctx context.Context, after uint64, deep bool) (sourceSight, error)
	count func(ctx context.Context, from, to uint64) (tally, error)
	// wanted tells whether this session is one that should look. One for each
	// group is enough; if several do, each tells its own program.
	wanted func() bool
	tell   func(what any)

	state  sourceState
	before sourceSight
	failed int
}

// newSourceWatch prepares a watch. The group need not exist yet, and may be made
// anew; its filters are found with the stream.
func newSourceWatch(js jetstream.JetStream, stream, group string, wanted func() bool, tell func(what any)) *sourceWatch {
	h := &hop{js: js, stream: stream, group: group}
	return &sourceWatch{
		look: func(ctx context.Context, after uint64, deep bool) (sourceSight, error) {
			o, _, err := h.look(ctx, after, deep)
			return o, err
		},
		count: h.count, wanted: wanted, tell: tell,
	}
}

// run looks until ctx ends or the connection is closed. It never fails: what can
// not be seen is not told.
func (w *sourceWatch) run(ctx context.Context) {
	// Sessions that were started together do not look together.
	t := time.NewTimer(rand.N(sourceWatchEvery))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		pause := sourceWatchEvery
		if w.wanted() {
			var closed bool
			if pause, closed = w.once(ctx); closed {
				return
			}
		} else {
			w.before = sourceSight{}
		}
		t.Reset(pause)
	}
}

// once takes one look and returns when to take the next.
func (w *sourceWatch) once(ctx context.Context) (pause time.Duration, closed bool) {
	try, cancel := context.WithTimeout(ctx, sourceWatchPatience)
	defer cancel()
	o, err := w.look(try, w.state.high, w.state.wantDeep() || w.before.lag > 0)
	if isClosed(err) || ctx.Err() != nil {
		return 0, true
	}
	for _, news := range w.state.see(o) {
		w.tell(news)
	}
	if err != nil {
		w.before = sourceSight{}
		w.failed++
		if w.failed <= sourceWatchTries {
			return sourceWatchEvery, false
		}
		return min(sourceWatchEvery<<min(w.failed-sourceWatchTries, 10), sourceWatchSeldom), false
	}
	w.failed = 0
	if from, to, arrived, ok := w.state.still(w.before, o); ok {
		w.settle(ctx, from, to, arrived)
	}
	w.before = o
	if w.state.wantDeep() {
		return sourceWatchClosely, false
	}
	return sourceWatchEvery, false
}

// settle compares how many messages arrived with how many the origin has.
func (w *sourceWatch) settle(ctx context.Context, from, to, arrived uint64) {
	ctx, cancel := context.WithTimeout(ctx, sourceWatchPatience)
	defer cancel()
	t, err := w.count(ctx, from, to)
	if err != nil || !t.known {
		return
	}
	if skip, ok := w.state.balance(from, to, arrived, t.n, t.exact); ok {
		w.tell(skip)
	}
}

func isClosed(err error) bool { return errors.Is(err, nats.ErrConnectionClosed) }
