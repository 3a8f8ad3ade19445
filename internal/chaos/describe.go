package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// audit is the group's own audit and, beside it, the library's, which must find
// the same or say what it can not prove.
func (r *run) audit(ctx context.Context, g *group, missing []unhandled, last uint64) audited {
	a := g.audit(missing, last)
	if g.static || len(a.skipped) > 0 {
		return a
	}
	var found *pcgroups.Audit
	if err := r.insist(ctx, func(ctx context.Context) (err error) {
		found, err = pcgroups.AuditElastic(ctx, r.js, g.stream, g.name, 0, 0, pcgroups.WithArrivals(slices.Values(g.judge.arrivals())))
		return err
	}); err != nil {
		g.judge.fail("audit", "AuditElastic: %v", err)
		return a
	}
	n := 0
	for _, s := range found.Missing {
		n += int(s.Len())
	}
	if n > len(a.notSourced) || n < len(a.notSourced) && len(found.Unproven) == 0 {
		g.judge.fail("audit", "AuditElastic finds %d messages that were not sourced and %d unproven stretches where %d and none were: %+v", n, len(found.Unproven), len(a.notSourced), found)
	}
	return a
}

// arrivals are all messages of the present epoch's work-queue stream that were
// executed.
func (j *judge) arrivals() []pcgroups.Arrival {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.epochs[len(j.epochs)-1]
	var all []pcgroups.Arrival
	for _, seq := range slices.Sorted(maps.Keys(e.stored)) {
		all = append(all, pcgroups.Arrival{Buffered: seq, Origin: e.stored[seq]})
	}
	return all
}

// describe tells how things stand where something is stuck.
func (r *run) describe(ctx context.Context, g *group) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text := ""
	if s, err := r.js.Stream(ctx, g.consumerStream()); err == nil {
		i := s.CachedInfo()
		text = fmt.Sprintf("%s holds %d messages up to %d", i.Config.Name, i.State.Msgs, i.State.LastSeq)
		for _, src := range i.Sources {
			text += fmt.Sprintf(", source %s active %s lag %d", src.Name, src.Active.Round(time.Millisecond), src.Lag)
		}
	}
	for _, m := range g.allMembers() {
		c, err := r.js.Consumer(ctx, g.consumerStream(), g.consumer(m))
		if err != nil {
			text += fmt.Sprintf("; %s: %v", m, err)
			continue
		}
		i := c.CachedInfo()
		text += fmt.Sprintf("; %s: %d pending, %d ack-pending, %d waiting, filters %v", m, i.NumPending, i.NumAckPending, i.NumWaiting, i.Config.FilterSubjects)
	}
	for _, i := range r.fleet.of(g) {
		if s, ok := i.session.(interface{ Status() sessionStatus }); ok {
			text += fmt.Sprintf("; %s: %+v", i.name, s.Status())
		}
	}
	return text
}
