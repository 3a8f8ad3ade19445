package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// A bar whose row was renamed would never be looked at again.
func TestBarsNameRows(t *testing.T) {
	names := Names()
	for _, b := range bars() {
		if !slices.Contains(names, b.Row) {
			t.Errorf("there is no row %s", b.Row)
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("two rows are called %s", name)
		}
	}
}

// Each line is a way in which a verdict could be wrong: the wrong end of the
// interval, the wrong direction, or a verdict about nothing.
func TestVerdicts(t *testing.T) {
	ratio := func(value, low, high float64) *Estimate { return &Estimate{Value: value, Low: low, High: high} }
	fast := Bar{Row: "r", Ratio: true, AtMin: true, Limit: 0.97}
	short := Bar{Row: "r", Ratio: true, Limit: 0.1}
	few := Bar{Row: "r", Limit: 0}
	for name, tc := range map[string]struct {
		row  Row
		bars []Bar
		want string
	}{
		"no bar":                        {Row{Ratio: ratio(1, 1, 1)}, nil, ""},
		"bar of another row":            {Row{Ratio: ratio(0.1, 0.1, 0.1)}, []Bar{{Row: "other", Ratio: true, AtMin: true, Limit: 1}}, ""},
		"above":                         {Row{Ratio: ratio(1, 0.9, 1.1)}, []Bar{fast}, "met"},
		"upper end above":               {Row{Ratio: ratio(0.9, 0.8, 0.98)}, []Bar{fast}, "met"},
		"all below":                     {Row{Ratio: ratio(0.9, 0.8, 0.96)}, []Bar{fast}, "MISSED"},
		"lower end below":               {Row{Ratio: ratio(0.2, 0.09, 0.3)}, []Bar{short}, "met"},
		"all above":                     {Row{Ratio: ratio(0.2, 0.11, 0.3)}, []Bar{short}, "MISSED"},
		"one violation":                 {Row{Ours: 1}, []Bar{few}, "MISSED"},
		"none":                          {Row{Ours: 0}, []Bar{few}, "met"},
		"less than none":                {Row{Ours: -3}, []Bar{few}, "met"},
		"one of two":                    {Row{Ours: 1, Ratio: ratio(0.01, 0.01, 0.01)}, []Bar{few, short}, "MISSED"},
		"never":                         {Row{Ours: Number(math.Inf(1))}, []Bar{{Row: "r", Limit: 1000}}, "MISSED"},
		"not measured":                  {Row{Ours: Number(math.NaN())}, []Bar{few}, "MISSED"},
		"ratio not measured":            {Row{}, []Bar{fast}, "MISSED"},
		"ratio of something to nothing": {Row{Ratio: ratio(math.NaN(), math.NaN(), math.NaN())}, []Bar{short}, "MISSED"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.row.Name = "r"
			tc.row.judge(tc.bars)
			if tc.row.Verdict != tc.want {
				t.Errorf("got %q, want %q", tc.row.Verdict, tc.want)
			}
		})
	}
}

// JSON has no infinity: a report with an oracle that never recovers could not be
// written at all.
func TestReportWithoutNumbersIsJSON(t *testing.T) {
	r := newReport(Options{}, newPlan(Options{}))
	r.add(Row{Name: "selfheal_elastic", Unit: "ms", Ours: 50, Other: Number(math.Inf(1))})
	r.add(Row{Name: "x", Ours: Number(math.NaN()), Other: Number(math.NaN())})
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) || !strings.Contains(out.String(), `"other": "never"`) {
		t.Errorf("got %s", out.Bytes())
	}
}

// Programs read these lines, so they must stay as they are.
func TestLines(t *testing.T) {
	row := Row{Name: "rebalance_p50", Unit: "ms", Ours: 2.6583, Other: 682.3, Ratio: &Estimate{Value: 0.0038961, Low: 0.003, High: 0.005}, Details: []string{"why"}}
	row.judge(bars())
	var out bytes.Buffer
	row.write(&out)
	if want := "# rebalance_p50: why\nratio rebalance_p50 0.003896\nfigure rebalance_p50 2.66\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	got := strings.Join(row.cells(), "|")
	if want := "rebalance_p50|2.66 ms|682 ms|0.0039 [0.003, 0.005]|≤ 20 ms, ≤ 0.1 ×|met"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
