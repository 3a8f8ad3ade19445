package bench

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// The plot's measures, in its own units.
const (
	plotWidth, plotHeight = 760, 492
	plotLeft, plotRight   = 78, 736
	plotTop, plotBottom   = 92, 366
)

// plotStyle gives the plot a ground of its own, so that it can be read on any
// page, and darkens it where the reader's system is dark.
const plotStyle = `
.ground{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}
text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:13px;fill:#1f2328}
.title{font-size:16px;font-weight:600}.small{font-size:11px;fill:#59636e}.times{font-size:12px;font-weight:600;fill:#0550ae}
polyline{fill:none;stroke-width:2.5;stroke-linejoin:round}
.ours{stroke:#0969da;fill:#0969da}.oracle{stroke:#bc4c00;fill:#bc4c00}.raw{stroke:#6e7781;fill:#6e7781}
polyline.ours,polyline.oracle,polyline.raw{fill:none}polyline.raw,line.raw{stroke-dasharray:6 4}line{stroke-width:2.5}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117}.grid{stroke:#30363d}text{fill:#e6edf3}.small{fill:#9198a1}.times{fill:#79c0ff}
.ours{stroke:#58a6ff;fill:#58a6ff}.oracle{stroke:#f0883e;fill:#f0883e}.raw{stroke:#9198a1;fill:#9198a1}
polyline.ours,polyline.oracle,polyline.raw{fill:none}}
`

// curve is one line of the plot. The last one is on top.
type curve struct {
	class, label string
	rate         func(Point) float64
}

func curves() []curve {
	return []curve{
		{"raw", "raw consumer, unordered", func(p Point) float64 { return p.Raw }},
		{"oracle", "orbit.go, 1 in flight", func(p Point) float64 { return p.Oracle }},
		{"ours", "pcgroups, 1,000 in flight", func(p Point) float64 { return p.Ours }},
	}
}

// WriteSVG draws rate against round trip.
func (r *Report) WriteSVG(w io.Writer) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range r.ByRTT {
		for _, c := range curves() {
			low, high = math.Min(low, c.rate(p)), math.Max(high, c.rate(p))
		}
	}
	if len(r.ByRTT) < 2 || math.IsNaN(low) || low <= 0 || math.IsInf(high, 0) {
		return errors.New("there is nothing to plot: at least two round trips with rates above 0 are needed")
	}
	// Whole decades, so that slopes can be compared with the grid.
	s := scale{first: math.Floor(math.Log10(low)), last: math.Ceil(math.Log10(high) + 0.1), points: len(r.ByRTT)}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		plotWidth, plotHeight, plotWidth, plotHeight)
	const title = "Messages a second in strict order, by distance from the server"
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", title, html.EscapeString(r.plotInWords()), plotStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d" rx="6"/>`+"\n", plotWidth, plotHeight)
	text(&b, plotLeft, 30, "title", "start", title)
	r.plotLegend(&b)
	r.plotAxes(&b, s)
	for _, c := range curves() {
		r.plotCurve(&b, s, c)
	}
	for i, p := range r.ByRTT {
		text(&b, s.x(i), s.y(max(p.Ours, p.Raw, p.Oracle))-10, "times", "middle", "×"+times(p.Ours/p.Oracle))
	}
	for i, line := range []string{
		fmt.Sprintf("One member of %d partitions, %d-byte messages, a handler that only acknowledges. × is pcgroups over orbit.go,", orderedPartitions, payloadSize),
		fmt.Sprintf("pcgroups with WithConcurrency(%d). Raw is a pinned consumer with 1,000 in flight: no order once one is redelivered.", orderedPartitions),
		r.plotCaption(),
	} {
		text(&b, 20, plotBottom+78+16*float64(i), "small", "start", line)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// scale places points: evenly from left to right, as a round trip of 0 has no
// logarithm, and by the logarithm from bottom to top.
type scale struct {
	first, last float64 // decades
	points      int
}

func (s scale) x(i int) float64 {
	const margin = 34
	return plotLeft + margin + float64(i)*(plotRight-plotLeft-2*margin)/float64(s.points-1)
}

func (s scale) y(rate float64) float64 {
	return plotBottom - (math.Log10(rate)-s.first)/(s.last-s.first)*(plotBottom-plotTop)
}

func (r *Report) plotLegend(b *strings.Builder) {
	x := float64(plotLeft)
	for _, c := range slices.Backward(curves()) {
		fmt.Fprintf(b, `<line class="%s" x1="%.0f" y1="52" x2="%.0f" y2="52"/>`+"\n", c.class, x, x+22)
		text(b, x+27, 56, "small", "start", c.label)
		x += 222
	}
}

func (r *Report) plotAxes(b *strings.Builder, s scale) {
	for d := s.first; d <= s.last; d++ {
		y := s.y(math.Pow(10, d))
		fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f" style="stroke-width:1"/>`+"\n", plotLeft, y, plotRight, y)
		text(b, plotLeft-8, y+4, "", "end", thousands(math.Pow(10, d)))
	}
	for i, p := range r.ByRTT {
		text(b, s.x(i), plotBottom+20, "", "middle", fmt.Sprintf("%g", milliseconds(p.Added)))
		text(b, s.x(i), plotBottom+35, "small", "middle", fmt.Sprintf("(%s)", tenths(milliseconds(p.Measured))))
	}
	text(b, (plotLeft+plotRight)/2, plotBottom+53, "", "middle", "added round trip in ms (as measured)")
	fmt.Fprintf(b, `<text x="20" y="%d" text-anchor="middle" transform="rotate(-90 20 %d)">messages a second</text>`+"\n",
		(plotTop+plotBottom)/2, (plotTop+plotBottom)/2)
}

func (r *Report) plotCurve(b *strings.Builder, s scale, c curve) {
	var at []string
	for i, p := range r.ByRTT {
		at = append(at, fmt.Sprintf("%.1f,%.1f", s.x(i), s.y(c.rate(p))))
	}
	fmt.Fprintf(b, `<polyline class="%s" points="%s"/>`+"\n", c.class, strings.Join(at, " "))
	for i, p := range r.ByRTT {
		fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="3.5"><title>%.0f msg/s</title></circle>`+"\n", c.class, s.x(i), s.y(c.rate(p)), c.rate(p))
	}
}

// plotInWords is the plot for who can not see it.
func (r *Report) plotInWords() string {
	var parts []string
	for _, p := range r.ByRTT {
		parts = append(parts, fmt.Sprintf("%g ms added: pcgroups %.0f, orbit.go %.0f, pinned consumer %.0f msg/s", milliseconds(p.Added), p.Ours, p.Oracle, p.Raw))
	}
	return strings.Join(parts, "; ")
}

func (r *Report) plotCaption() string {
	caption := fmt.Sprintf("orbit.go/pcgroups %s, nats-server %s, nats.go %s, %s on %s, %d CPUs for all, %s",
		r.Versions.Oracle, r.Versions.Server, r.Versions.Client, r.Go, r.Platform, r.CPUs, r.Began.Format(time.DateOnly))
	if r.Quick {
		caption += " (a quick run)"
	}
	return caption
}

func text(b *strings.Builder, x, y float64, class, anchor, s string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, class, html.EscapeString(s))
}

// times is a ratio with as many digits as mean something.
func times(ratio float64) string {
	if ratio < 10 {
		return fmt.Sprintf("%.1f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

// tenths is a time with as many digits as mean something.
func tenths(ms float64) string {
	if ms < 1 {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

// thousands writes a power of ten as people read it.
func thousands(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
