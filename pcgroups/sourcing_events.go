package pcgroups

import (
	"context"
	"slices"
)

// What a session tells of the hop into its group's stream.

// wantsSource tells whether anybody is to be told.
func (o *observer) wantsSource() bool {
	e := &o.events
	return o.log != nil || e.SourceStalled != nil || e.SourceRecovered != nil || e.SourceSkipped != nil
}

func (o *observer) tellSource(what any) {
	switch what := what.(type) {
	case SourceStall:
		if o.log != nil {
			o.log.Warn("consumer group's stream is not filled", "stall", what)
		}
		if o.events.SourceStalled != nil {
			o.events.SourceStalled(what)
		}
	case sourceRecovered:
		if o.log != nil {
			o.log.Info("consumer group's stream is filled again", "after", what.after)
		}
		if o.events.SourceRecovered != nil {
			o.events.SourceRecovered(what.after)
		}
	case SourceSkip:
		if o.log != nil {
			o.log.Error("consumer group's stream missed messages", "skip", what)
		}
		if o.events.SourceSkipped != nil {
			o.events.SourceSkipped(what)
		}
	}
}

// ownsFirst tells whether this session consumes partition 0. Of a group one
// member does, and that is enough to look.
func (l *loop) ownsFirst() bool {
	st := l.session.Status()
	return st.Consuming && slices.Contains(st.Partitions, 0)
}

// watchSource starts to look after the hop, if that is wanted.
func (l *loop) watchSource() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if l.source != nil {
		l.tasks.Go(func() { l.source.run(ctx) })
	}
	return cancel
}
