package bench

import (
	"context"
	"fmt"
	"time"

	orbit "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// assignMembers is the number of members between which the partitions are
// divided.
const assignMembers = 10

// assign measures how long it takes to compute the partitions and the filters of
// all members, for 1,000 and for 10,000 partitions. What grows with the square
// of the partitions would take a hundred times as long.
func (r *run) assign(ctx context.Context) ([]Row, error) {
	small, large := newAssignment(1000, assignMembers), newAssignment(10_000, assignMembers)
	var ours, oracles, times, oracleTimes []float64
	for range r.assignments {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// Small ones are repeated, to be timed as well as large ones.
		a, b := timed(10, small.ours), timed(1, large.ours)
		ours, times = append(ours, b/a), append(times, b/assignMembers)
		a, b = timed(10, small.oracle), timed(1, large.oracle)
		oracles, oracleTimes = append(oracles, b/a), append(oracleTimes, b/assignMembers)
	}
	q, o := estimate(strata{ours}, 50), estimate(strata{oracles}, 50)
	t, ot := estimate(strata{times}, 50), estimate(strata{oracleTimes}, 50)
	many := newAssignment(r.manyMembers, int(r.manyMembers))
	each := timed(1, many.ours) / float64(r.manyMembers)
	const what = "partitions and filters of all %d members (oracle: filters only)"
	return []Row{
		{Name: "assignments_scaling", Ours: Number(q.Value), Other: Number(o.Value), Ratio: &q, Details: []string{
			fmt.Sprintf(what+", time for 10,000 partitions over time for 1,000", assignMembers),
			fmt.Sprintf("ours %.3g [%.3g, %.3g], from %.3g to %.3g, %d times; oracle %.3g", q.Value, q.Low, q.High, q.Min, q.Max, q.N, o.Value),
		}},
		{Name: "assignments_10000_ms", Unit: "ms", Ours: Number(t.Value), Other: Number(ot.Value), Details: []string{
			fmt.Sprintf(what+", 10,000 partitions, per member", assignMembers),
			fmt.Sprintf("ours %.3g ms [%.3g, %.3g], oracle %.3g ms; ours with %d partitions and as many members: %.3g ms per member", t.Value, t.Low, t.High, ot.Value, r.manyMembers, each),
		}},
	}, nil
}

// timed is the milliseconds that one of n calls takes.
func timed(n int, do func()) float64 {
	began := time.Now()
	for range n {
		do()
	}
	return milliseconds(time.Since(began)) / float64(n)
}

// assignment is a group whose filters are computed.
type assignment struct {
	members []string
	mine    pcgroups.ElasticConsumerGroupConfig
	theirs  orbit.ElasticConsumerGroupConfig
}

func newAssignment(partitions uint, members int) assignment {
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprintf("member-%05d", i)
	}
	return assignment{
		members: names,
		mine: pcgroups.ElasticConsumerGroupConfig{MaxMembers: partitions, Members: names,
			PartitioningFilters: []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}},
		theirs: orbit.ElasticConsumerGroupConfig{MaxMembers: partitions, Members: names,
			PartitioningFilters: []orbit.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}},
	}
}

func (a assignment) ours() {
	pcgroups.Assignments(a.mine.MaxMembers, a.members, nil)
	for _, m := range a.members {
		pcgroups.ElasticGetPartitionFilters(a.mine, m)
	}
}

func (a assignment) oracle() {
	for _, m := range a.members {
		orbit.ElasticGetPartitionFilters(a.theirs, m)
	}
}
