package bench

import (
	"context"
	"fmt"
	"time"
)

// PlotRow is the row that the plot shows in full.
const PlotRow = "ordered_by_rtt"

// Point is what a member handled a second at one distance from its server.
type Point struct {
	Added    time.Duration `json:"added_rtt_ns"`
	Measured time.Duration `json:"measured_rtt_ns"`
	// Ours has many messages in flight and keeps their order, Oracle has one in
	// flight to keep it, Raw has many and keeps none.
	Ours   float64 `json:"ours"`
	Oracle float64 `json:"oracle"`
	Raw    float64 `json:"raw"`
}

// byRTT measures how the rates fall as members get farther from their server. Each
// point is one ABBA only: it is for the eye.
func (r *run) byRTT(ctx context.Context) ([]Row, error) {
	l, err := openLab()
	if err != nil {
		return nil, err
	}
	defer l.close()
	g := group{flavour: static, stream: "BENCH", partitions: orderedPartitions, members: []string{"m1"}}
	if err := l.createStream(ctx, g); err != nil {
		return nil, err
	}
	all := orderedContenders(r.rttWindow, nil)
	c := contest{run: r, lab: l, group: g, warmUp: r.warmUp, backlog: int((r.rttWindow + r.warmUp).Seconds() * 200_000), ackWait: orderedAckWait,
		contenders: []contender{all[orderedOurs], all[orderedOracle1], all[orderedRaw]}}
	if err := l.fill(ctx, g, c.backlog); err != nil {
		return nil, err
	}
	row := Row{Name: PlotRow, Unit: "msg/s", Than: all[orderedOracle1].label, Details: []string{
		fmt.Sprintf("one member of %d partitions that only acknowledges; @ is MaxAckPending; at the longest round trip", orderedPartitions)}}
	var points []Point
	for n, rtt := range r.rtts {
		trip, err := l.farAway(rtt)
		if err != nil {
			return nil, err
		}
		sums := make([]sample, len(c.contenders))
		if err := c.abba(ctx, n, sums); err != nil {
			return nil, fmt.Errorf("at %s: %w", rtt, err)
		}
		p := Point{Added: rtt, Measured: trip, Ours: sums[0].rate(), Oracle: sums[1].rate(), Raw: sums[2].rate()}
		points = append(points, p)
		line := fmt.Sprintf("%s added, round trip %.3g ms:%s, ours/oracle %.3g", rtt, milliseconds(trip), c.line(sums), p.Ours/p.Oracle)
		r.say("  %s", line)
		row.Details = append(row.Details, line)
		row.Ours, row.Other = Number(p.Ours), Number(p.Oracle)
	}
	r.points = points
	return []Row{row}, nil
}
