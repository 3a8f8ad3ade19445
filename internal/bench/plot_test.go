package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

func plotted(t *testing.T, points []Point) string {
	t.Helper()
	r := newReport(Options{}, newPlan(Options{}))
	r.ByRTT = points
	var out bytes.Buffer
	if err := r.WriteSVG(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A plot that is no XML, or whose points lie outside of it, is a blank picture in
// the README. The rates are the extremes that were seen.
func TestPlotIsComplete(t *testing.T) {
	svg := plotted(t, []Point{
		{Ours: 132_098, Oracle: 16_918, Raw: 150_000},
		{Added: 20 * time.Millisecond, Measured: 20*time.Millisecond + 300*time.Microsecond, Ours: 9_000, Oracle: 9.5, Raw: 9_001},
	})
	d := xml.NewDecoder(strings.NewReader(svg))
	circles := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "circle" {
			continue
		}
		circles++
		for _, a := range e.Attr {
			at, err := strconv.ParseFloat(a.Value, 64)
			switch {
			case a.Name.Local == "cx" && (err != nil || at < plotLeft || at > plotRight),
				a.Name.Local == "cy" && (err != nil || at < plotTop || at > plotBottom):
				t.Errorf("a point is at %s=%s", a.Name.Local, a.Value)
			}
		}
	}
	if circles != 6 {
		t.Errorf("%d points are drawn, not 6", circles)
	}
	for _, want := range []string{"×7.8", "×947", "100,000", "(20.3)", "prefers-color-scheme:dark", "messages a second"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}

// The logarithm of nothing would put "NaN" or "-Inf" into the file, which draws
// nothing and reports nothing.
func TestPlotRefusesWhatHasNoLogarithm(t *testing.T) {
	for name, points := range map[string][]Point{
		"nothing":   nil,
		"one":       {{Ours: 1, Oracle: 1, Raw: 1}},
		"zero rate": {{Ours: 1, Oracle: 1, Raw: 1}, {Ours: 1, Raw: 1}},
	} {
		r := newReport(Options{}, newPlan(Options{}))
		r.ByRTT = points
		if err := r.WriteSVG(io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
