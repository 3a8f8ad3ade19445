package bench

import (
	"fmt"
	"math"
)

// Bar is what a row is expected to reach.
type Bar struct {
	Row   string  `json:"-"`
	Ratio bool    `json:"ratio"` // about the row's ratio, else about its figure
	AtMin bool    `json:"at_least"`
	Limit float64 `json:"limit"`
}

// bars are all of them. A row without one is for information.
func bars() []Bar {
	const (
		ratio, figure   = true, false
		atLeast, atMost = true, false
	)
	return []Bar{
		{"throughput_static_map1", ratio, atLeast, 0.97},
		{"throughput_elastic_map1", ratio, atLeast, 0.97},
		{"throughput_static_map1000", ratio, atLeast, 0.95},
		{"throughput_elastic_map1000", ratio, atLeast, 0.95},
		{"throughput_static_map1000_vs_raw", ratio, atLeast, 0.9},
		{"ordered_rtt10ms", ratio, atLeast, 100},
		{"ordered_rtt10ms_violations", figure, atMost, 0},
		{"ordered_rtt1ms_work2ms", ratio, atLeast, 8},
		{"ordered_rtt1ms_work2ms_violations", figure, atMost, 0},
		{"ordered_naks_violations", figure, atMost, 0},
		{"takeover_after_stop", figure, atMost, 100},
		{"takeover_after_stop", ratio, atMost, 0.1},
		{"rebalance_p50", figure, atMost, 20},
		{"rebalance_p50", ratio, atMost, 0.1},
		{"rebalance_p95", figure, atMost, 100},
		{"handover_overlaps", figure, atMost, 0},
		{"handover_out_of_order", figure, atMost, 0},
		{"handover_lost", figure, atMost, 0},
		{"handover_duplicated", figure, atMost, 0},
		{"handover_map100_overlaps", figure, atMost, 0},
		{"handover_map100_out_of_order", figure, atMost, 0},
		{"handover_map100_lost", figure, atMost, 0},
		{"handover_map100_duplicated", figure, atMost, 0},
		{"selfheal_elastic", figure, atMost, 1000},
		{"selfheal_static_rejoin", figure, atMost, 1000},
		{"leak_goroutines", figure, atMost, 0},
		{"leak_subscriptions", figure, atMost, 0},
		{"leak_kv_consumers", figure, atMost, 0},
		{"assignments_scaling", ratio, atMost, 15},
		{"assignments_10000_ms", figure, atMost, 5},
		{"load_growth_join", figure, atMost, 1.5},
		{"load_growth_heap", figure, atMost, 1.5},
		{"load_growth_goroutines", figure, atMost, 1.5},
		{"load_growth_subscriptions", figure, atMost, 1.5},
	}
}

// reached tells whether a row reaches the bar. A ratio does if the end of its
// interval does: a bar is missed only if that is sure. A figure has to reach it
// by itself. What was not measured reaches nothing.
func (b Bar) reached(row Row) bool {
	low, high := float64(row.Ours), float64(row.Ours)
	if b.Ratio {
		if row.Ratio == nil {
			return false
		}
		low, high = row.Ratio.Low, row.Ratio.High
	}
	if math.IsNaN(low) || math.IsNaN(high) {
		return false
	}
	if b.AtMin {
		return high >= b.Limit
	}
	return low <= b.Limit
}

// text is the bar as the table shows it, with the unit of the row's figure.
func (b Bar) text(unit string) string {
	sign := "≤"
	if b.AtMin {
		sign = "≥"
	}
	if b.Ratio {
		return fmt.Sprintf("%s %g ×", sign, b.Limit)
	}
	return fmt.Sprintf("%s %g%s", sign, b.Limit, spaced(unit))
}

func spaced(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}
