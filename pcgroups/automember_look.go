package pcgroups

import (
	"context"
	"time"
)

// sight looks: first at the configuration, then at the consumers, so that what it
// finds of these was so, or has been made so since, at that revision.
func (a *autoMember) sight(ctx context.Context) (s groupSight, err error) {
	if a.store == nil {
		if a.store, err = openStore(ctx, a.b.js, a.b.fl); err != nil {
			return s, err
		}
	}
	if a.queue == nil {
		if a.queue, err = a.b.js.Stream(ctx, a.b.consumerStream()); err != nil {
			return s, err
		}
	}
	e, err := a.store.get(ctx, a.b.stream, a.b.group)
	if err != nil {
		return s, err
	}
	c, err := decodeElastic(e.value)
	if err != nil {
		return s, err
	}
	s.revision, s.member = e.revision, c.IsInMembership(a.b.member)
	// In case the watch is dead.
	a.update(func(n *memberNews) {
		if s.revision >= n.revision {
			n.learn(s.revision, s.member)
		}
	})
	if len(c.MemberMappings) == 0 {
		s.owners = c.AllPartitionFilters()
		for m, filters := range s.owners {
			if len(filters) == 0 {
				delete(s.owners, m)
			}
		}
	}
	s.consumers, err = a.consumers(ctx, s.owners)
	s.consuming = a.session.consumingSince()
	s.at = time.Now()
	return s, err
}

// consumers lists the consumers of the group's stream. A cluster leaves out of
// the list those whose servers do not answer at the moment, but not of the names.
func (a *autoMember) consumers(ctx context.Context, owners map[string][]string) ([]consumerSight, error) {
	var out []consumerSight
	listed := make(map[string]bool)
	lister := a.queue.ListConsumers(ctx)
	for info := range lister.Info() {
		out = append(out, consumerSight{info.Name, filtersOf(info.Config), effectiveAckWait(info.Config)})
		listed[info.Name] = true
	}
	if err := lister.Err(); err != nil {
		return nil, err
	}
	complete := true
	for m := range owners {
		complete = complete && listed[m]
	}
	if complete {
		return out, nil
	}
	names := a.queue.ConsumerNames(ctx)
	for name := range names.Name() {
		if !listed[name] {
			out = append(out, consumerSight{name: name})
		}
	}
	return out, names.Err()
}
