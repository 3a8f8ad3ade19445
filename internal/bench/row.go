package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Number is a measured value. One that is not a number was not measured, and an
// infinite one is a time after which nothing had happened.
type Number float64

// MarshalJSON writes null for what was not measured and "never" for what did not
// happen, as JSON has no numbers for them.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, 0):
		return []byte(`"never"`), nil
	default:
		return json.Marshal(f)
	}
}

// String writes three or four digits, as many as mean something.
func (n Number) String() string {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return "-"
	case math.IsInf(f, 0):
		return "never"
	case f == math.Trunc(f) || math.Abs(f) >= 1000:
		return strconv.FormatFloat(f, 'f', 0, 64)
	default:
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
}

// Row is one result.
type Row struct {
	Name string `json:"name"`
	// Unit is that of Ours and Other.
	Unit string `json:"unit,omitempty"`
	Ours Number `json:"ours"`
	// Other is what Than reached, which is the oracle if nothing is said.
	Other Number `json:"other"`
	Than  string `json:"than,omitempty"`
	// Ratio is the row's ratio, of Ours to Other if nothing else is said.
	Ratio *Estimate `json:"ratio,omitempty"`
	// Details are sentences about how the result came about.
	Details []string `json:"details,omitempty"`
	// Bars are what is expected, and Verdict is what came of it: "met",
	// "MISSED", or nothing if nothing is expected.
	Bars    []Bar  `json:"bars,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// judge adds the bars to a row.
func (row *Row) judge(all []Bar) {
	for _, b := range all {
		if b.Row != row.Name {
			continue
		}
		row.Bars = append(row.Bars, b)
		if row.Verdict == "" {
			row.Verdict = "met"
		}
		if !b.reached(*row) {
			row.Verdict = "MISSED"
		}
	}
}

// write prints the lines of one result: for people, beginning with #, and for
// programs.
func (row *Row) write(out io.Writer) {
	for _, d := range row.Details {
		fmt.Fprintf(out, "# %s: %s\n", row.Name, d)
	}
	if row.Ratio != nil {
		fmt.Fprintf(out, "ratio %s %.4g\n", row.Name, row.Ratio.Value)
	}
	if !math.IsNaN(float64(row.Ours)) {
		fmt.Fprintf(out, "figure %s %s\n", row.Name, row.Ours)
	}
}

// cells are the row's cells in the table.
func (row *Row) cells() []string {
	than := ""
	if row.Than != "" {
		than = row.Than + " "
	}
	ratio := "-"
	if r := row.Ratio; r != nil {
		ratio = fmt.Sprintf("%.3g [%.3g, %.3g]", r.Value, r.Low, r.High)
	}
	var bars []string
	for _, b := range row.Bars {
		bars = append(bars, b.text(row.Unit))
	}
	return []string{row.Name, row.Ours.String() + row.unitOf(row.Ours), than + row.Other.String() + row.unitOf(row.Other),
		ratio, strings.Join(bars, ", "), row.Verdict}
}

func (row *Row) unitOf(n Number) string {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return ""
	}
	return spaced(row.Unit)
}
