package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// If a side had its turns earlier than the other on average, a machine that gets
// slower while it is measured (its clock falls as it gets hot) would favour it.
func TestOrderIsBalanced(t *testing.T) {
	for _, sides := range []int{1, 2, 3} {
		for round := range 4 {
			turns := order(sides, round)
			if len(turns) != 2*sides {
				t.Fatalf("%d sides, round %d: %v", sides, round, turns)
			}
			positions := make([]int, sides) // sum, by side
			for at, side := range turns {
				positions[side] += at
			}
			for side, sum := range positions {
				if sum != 2*sides-1 {
					t.Errorf("%d sides, round %d: %v has side %d at positions that add up to %d, not %d", sides, round, turns, side, sum, 2*sides-1)
				}
			}
		}
	}
}

// If the same side began every round, it would always pay for what follows the
// pause between rounds, which the order within a round does not balance.
func TestOrderAlternates(t *testing.T) {
	got := fmt.Sprint(order(2, 0), order(2, 1), order(2, 2))
	if want := "[0 1 1 0] [1 0 0 1] [0 1 1 0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An even number of values has no middle one: taking either makes the median of
// two groups of times (the oracle's fast and slow flips) that of one of them.
// And the caller's values must stay in their order, by which rounds are paired.
func TestPercentile(t *testing.T) {
	values := []float64{9, 1, 5, 3}
	for _, tc := range []struct{ p, want float64 }{{0, 1}, {50, 4}, {100, 9}, {95, 8.4}} {
		if got := percentile(values, tc.p); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("percentile %g is %g, want %g", tc.p, got, tc.want)
		}
	}
	if !slices.Equal(values, []float64{9, 1, 5, 3}) {
		t.Errorf("the values were rearranged: %v", values)
	}
	if got := median([]float64{7}); got != 7 {
		t.Errorf("the median of one value is %g", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %g", got)
	}
}

// The first round is slower for whoever is not warm. Counting it, or pairing a
// round with another one, makes a ratio of things that have nothing in common.
func TestRatiosPairRoundsAndDropTheFirst(t *testing.T) {
	got := ratios([]float64{1, 20, 30}, []float64{100, 10, 60})
	if !slices.Equal(got, []float64{2, 0.5}) {
		t.Errorf("got %v", got)
	}
}

// A report that changes when the same values are computed again can not be
// compared with another one.
func TestIntervalIsReproducible(t *testing.T) {
	values := []float64{0.9, 1.1, 1, 0.95, 1.2, 0.8, 1.05, 0.99, 1.01}
	if a, b := estimate(strata{values}, 50), estimate(strata{values}, 50); a != b {
		t.Errorf("%+v, then %+v", a, b)
	}
}

// An interval that is too narrow calls bars missed that are not, one that is too
// wide calls none. Of 95 % intervals of samples of a known distribution, about
// 95 % must hold its median; a bootstrap of nine values may fall a little short.
func TestIntervalCoversTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const trials = 200
	covered := 0
	for range trials {
		values := make([]float64, 9)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		e := estimate(strata{values}, 50)
		if e.Low > e.Value || e.Value > e.High || e.Min > e.Low || e.High > e.Max {
			t.Fatalf("out of order: %+v", e)
		}
		if e.Low <= 0 && 0 <= e.High {
			covered++
		}
	}
	if covered < trials*88/100 || covered == trials {
		t.Errorf("%d of %d intervals hold the true median", covered, trials)
	}
}

// The interval of a ratio must contain what comes from its denominator: ours may
// be measured to the microsecond and the ratio still be uncertain.
func TestEstimateRatioIncludesBothSpreads(t *testing.T) {
	e := estimateRatio(strata{{2, 2, 2, 2, 2}}, strata{{1, 2, 4, 8, 16}}, 50)
	if e.Value != 0.5 || e.Low > 0.25 || e.High < 1 {
		t.Errorf("got %+v", e)
	}
	if e := estimateRatio(nil, strata{{1}}, 50); !math.IsNaN(e.Value) || !math.IsNaN(e.Low) {
		t.Errorf("a ratio of nothing is %+v", e)
	}
}

// The oracle adds in 440 ms and drops in 3 ms, so that its median lies between
// the two. If the numbers of adds and drops were left to chance, the interval of
// the median would reach from one to the other and say nothing.
func TestStrataKeepTheirNumbers(t *testing.T) {
	e := estimate(strata{{440, 441, 442, 443}, {3, 3, 4, 700}}, 50)
	if e.Value != 440.5 || e.Low < 220 {
		t.Errorf("got %+v", e)
	}
}
