package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap samples. Twice as many change the ends of
// an interval by less than they differ from run to run.
const resamples = 4000

// Estimate is a statistic of measured values and how far it can be trusted.
type Estimate struct {
	Value float64 `json:"value"`
	// Low and High are the ends of the 95 % bootstrap interval of Value.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Min and Max are the extremes of the N values it was computed from; both 0
	// if it does not come from one list of values.
	Min float64 `json:"min,omitempty"`
	Max float64 `json:"max,omitempty"`
	N   int     `json:"n"`
}

// order is the order in which sides take two turns each: all of them, then all of
// them backwards (ABBA), so that something which steadily becomes faster or slower
// meanwhile adds the same to each. Which side begins alternates with n, so that
// it is ABBABAABABBA and so on.
func order(sides, n int) []int {
	out := make([]int, 0, 2*sides)
	for i := range sides {
		out = append(out, i)
	}
	if n%2 == 1 {
		slices.Reverse(out)
	}
	for i := range sides {
		out = append(out, out[sides-1-i])
	}
	return out
}

// median of no values is not a number.
func median(values []float64) float64 { return percentile(values, 50) }

// percentile interpolates between the two values nearest to it.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := p / 100 * float64(len(sorted)-1)
	lower := int(at)
	if lower+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(lower)
	if part == 0 {
		return sorted[lower] // not 0 times what may be infinite
	}
	return sorted[lower]*(1-part) + sorted[lower+1]*part
}

// strata are values that were measured in as many different situations, such as
// a member being added and being dropped. How many there are of each was decided
// by the benchmark, not by chance.
type strata [][]float64

// all are the values of all situations.
func (s strata) all() []float64 { return slices.Concat(s...) }

// resample draws as many values of each situation as there are.
func (s strata) resample(rng *rand.Rand) []float64 {
	var out []float64
	for _, values := range s {
		for range values {
			out = append(out, values[rng.IntN(len(values))])
		}
	}
	return out
}

// estimate is a percentile of values, such as the ratios of all rounds.
func estimate(s strata, p float64) Estimate {
	values := s.all()
	e := Estimate{Value: percentile(values, p), N: len(values)}
	if e.N == 0 {
		e.Low, e.High = math.NaN(), math.NaN()
		return e
	}
	e.Min, e.Max = slices.Min(values), slices.Max(values)
	e.Low, e.High = interval(func(rng *rand.Rand) float64 {
		return percentile(s.resample(rng), p)
	})
	return e
}

// estimateRatio is the ratio of the same percentile of values that have nothing
// to do with each other, such as times of ours and of the oracle. Each is
// resampled by itself.
func estimateRatio(over, under strata, p float64) Estimate {
	a, b := over.all(), under.all()
	e := Estimate{Value: percentile(a, p) / percentile(b, p), N: min(len(a), len(b))}
	if e.N == 0 {
		e.Low, e.High = math.NaN(), math.NaN()
		return e
	}
	e.Low, e.High = interval(func(rng *rand.Rand) float64 {
		return percentile(over.resample(rng), p) / percentile(under.resample(rng), p)
	})
	return e
}

// interval is the 95 % bootstrap interval of a statistic. Its seed is fixed: the
// same values always give the same interval.
func interval(again func(*rand.Rand) float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	results := make([]float64, resamples)
	for i := range results {
		results[i] = again(rng)
	}
	return percentile(results, 2.5), percentile(results, 97.5)
}

// ratios divides round by round, leaving out the first round, in which caches
// are cold and memory is still being claimed.
func ratios(over, under []float64) []float64 {
	var out []float64
	for i := 1; i < min(len(over), len(under)); i++ {
		out = append(out, over[i]/under[i])
	}
	return out
}
