package bench

import (
	"bytes"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// A rebalance is over when each partition got to its new owner. A message that the
// owner before still took must not count, and has to be followed by another one:
// otherwise the time is too short, or the partition is waited for in vain.
func TestOwners(t *testing.T) {
	g := group{flavour: elastic, stream: "S", partitions: 3}
	o, err := newOwners(g)
	if err != nil {
		t.Fatal(err)
	}
	for p, subject := range o.subjects {
		if got, err := pcgroups.PartitionFor(subject, g.filter(), []int{1}, g.partitions); err != nil || got != p {
			t.Errorf("the subject of partition %d is of %d, %v", p, got, err)
		}
	}
	o.expect(map[string][]int{"a": {0, 2}, "b": {1}})
	if got := o.silent(); len(got) != 3 {
		t.Errorf("to publish: %v", got)
	}
	if got := o.silent(); got != nil {
		t.Errorf("published twice: %v", got)
	}
	o.handled(o.subjects[0], "a")
	o.handled(o.subjects[1], "a") // the owner before
	o.handled(o.subjects[2], "a")
	if got := o.silent(); !slices.Equal(got, o.subjects[1:2]) || o.missing() != 1 {
		t.Errorf("to publish: %v, %d missing", got, o.missing())
	}
	select {
	case <-o.all():
		t.Error("all have owners already")
	default:
	}
	o.handled(o.subjects[1], "b")
	o.handled(o.subjects[1], "b")
	<-o.all()
}

// Under the mean distance of samples an object is seen only by chance. If the
// estimate did not make up for it, small objects, which sessions are made of,
// would count for nothing.
func TestHeapIsEstimated(t *testing.T) {
	defer profileHeap()()
	before, _ := heap()
	kept := make([]*[100]byte, 20_000)
	for i := range kept {
		kept[i] = new([100]byte)
	}
	after, _ := heap()
	// Each takes 112 bytes, and the list 160,000 in all.
	if got, want := after-before, 20_000.0*112+160_000; got < 0.8*want || got > 1.2*want {
		t.Errorf("%.0f bytes, not about %.0f", got, want)
	}
	runtime.KeepAlive(kept)
}

// The server shares the process. If its goroutines were not told apart, a
// session's would be those of both.
func TestGoroutinesOfTheServerAreToldApart(t *testing.T) {
	others, servers := goroutines()
	l, err := openLab()
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	moreOthers, moreServers := goroutines()
	// The client has a few, the server has many.
	if got := moreServers - servers; got < 10 {
		t.Errorf("%g goroutines of the server", got)
	}
	if got := moreOthers - others; got < 2 || got > 8 {
		t.Errorf("%g goroutines of one connection", got)
	}
}

// The rows about load take minutes of a busy machine. They must not be part of
// every run, and -run must reach them.
func TestLoadIsAskedFor(t *testing.T) {
	for _, e := range experiments() {
		if load := strings.HasPrefix(e.rows[0], "load_"); e.asked != load {
			t.Errorf("%s: asked is %t", e.rows[0], e.asked)
		}
		if e.selects(nil, e.rows[0]) == e.asked {
			t.Errorf("%s takes place by default: %t", e.rows[0], !e.asked)
		}
		if !e.selects(regexp.MustCompile(`^`+e.rows[0]+`$`), e.rows[0]) {
			t.Errorf("%s can not be selected", e.rows[0])
		}
	}
}

// A quick run with other sizes than the rows are named after would have rows
// without names, or figures under wrong ones.
func TestLoadRowsAreOfTheSizesMeasured(t *testing.T) {
	for _, quick := range []bool{false, true} {
		if p := newPlan(Options{Quick: quick}); !slices.Equal(p.load, loadMembers) {
			t.Errorf("quick %t: sizes %v, rows of %v", quick, p.load, loadMembers)
		}
	}
	var out bytes.Buffer
	r := newReport(Options{}, newPlan(Options{}))
	for _, name := range loadRows() {
		r.add(Row{Name: name, Ours: 1, Other: Number(nan)}).write(&out)
	}
	if n := strings.Count(out.String(), "figure load_"); n != len(loadRows()) {
		t.Errorf("%d figures for %d rows", n, len(loadRows()))
	}
}
