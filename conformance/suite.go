package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Suite is what to run.
type Suite struct {
	Lab *Lab
	// Subjects are the implementations under test. Each plays every wire case, and
	// every live case together with each of the Partners.
	Subjects []Implementation
	// Partners are who the subjects have to get along with. The first is the
	// control, which also plays with itself alone.
	Partners []Implementation
	// Select, if set, picks cases by name.
	Select func(name string) bool
	// Parallel is how many cases run at once; 0 is a number that fits the machine.
	Parallel int
	// Log, if set, is told of every result as it comes. It is called by one
	// goroutine at a time.
	Log func(Result)
}

// job is a case with who plays it.
type job struct {
	Case
	by []Implementation
}

// jobs are all cases in order, with everyone who plays them.
func (s Suite) jobs() []job {
	var out []job
	for _, c := range wireCases() {
		for _, i := range s.everyone() {
			out = append(out, job{c, []Implementation{i}})
		}
	}
	for _, c := range liveCases(s.Subjects, s.Partners) {
		out = append(out, job{c, c.roles})
	}
	return out
}

// everyone is who plays the wire cases: the control shows that a golden still is
// what the reference sends.
func (s Suite) everyone() []Implementation {
	out := s.Subjects
	if len(s.Partners) > 0 && !has(out, s.Partners[0]) {
		out = append([]Implementation{s.Partners[0]}, out...)
	}
	return out
}

func has(list []Implementation, i Implementation) bool {
	for _, o := range list {
		if o.ID() == i.ID() {
			return true
		}
	}
	return false
}

// Run plays the cases and returns their results in the order of the list. The
// error is about the suite itself.
func (s Suite) Run(ctx context.Context) ([]Result, error) {
	known, err := loadDivergences()
	if err != nil {
		return nil, err
	}
	var jobs []job
	all := true
	for _, j := range s.jobs() {
		if s.Select != nil && !s.Select(j.Name) {
			all = false
			continue
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil, errors.New("no case was selected; `bin/conformance -v` prints their names")
	}
	results := make([]Result, len(jobs))
	parallel := s.Parallel
	if parallel == 0 {
		parallel = 4 * runtime.GOMAXPROCS(0) // they mostly wait for timers
	}
	var wg sync.WaitGroup
	var logging sync.Mutex
	slots := make(chan struct{}, parallel)
	for i, j := range jobs {
		// Servers of a cluster vote; those of a busy machine vote late. A case with
		// a cluster has the machine to itself.
		weight := 1
		if j.Nodes > 1 {
			weight = parallel
		}
		for range weight {
			slots <- struct{}{}
		}
		wg.Go(func() {
			defer func() {
				for range weight {
					<-slots
				}
			}()
			results[i] = s.play(ctx, j, known)
			if s.Log != nil {
				logging.Lock()
				defer logging.Unlock()
				s.Log(results[i])
			}
		})
	}
	wg.Wait()
	if all {
		for _, d := range known.stale(results, s.everyone()) {
			results = append(results, Result{Case: "list of divergences", Implementations: []string{d.impl}, Status: Fail,
				Differences: []Difference{{Implementation: d.impl, Text: fmt.Sprintf("stale: %v matches nothing", d)}}})
		}
	}
	return results, nil
}

func (s Suite) play(ctx context.Context, j job, known divergences) Result {
	began := time.Now()
	r := Result{Case: j.Name}
	for _, i := range j.by {
		r.Implementations = append(r.Implementations, i.ID())
	}
	if why := s.gate(j); why != "" {
		r.Status, r.Note = Unsupported, why
		return r
	}
	found, cut, err := s.findings(ctx, j)
	r.Took = time.Since(began)
	switch {
	case errors.Is(err, ErrUnsupported):
		r.Status, r.Note = Unsupported, err.Error()
		return r
	case err != nil:
		r.Status, r.Note = HarnessError, err.Error()
		return r
	}
	if !j.gated(s.Lab) {
		known.apply(&r, found, cut)
	} else {
		for _, f := range found {
			r.Differences = append(r.Differences, Difference{Implementation: f.impl, Text: f.text})
		}
	}
	switch {
	case len(r.Differences) > 0:
		r.Status = Fail
	case len(r.Known) > 0:
		r.Status = Known
	default:
		r.Status = Pass
	}
	return r
}

// gated tells whether the server lacks what the case needs, so that all there is
// to see is that this is refused.
func (c Case) gated(l *Lab) bool { return c.WholeSubject && !l.wholeSubject() }

// gate tells why a case can not be played, if it can not.
func (s Suite) gate(j job) string {
	for _, i := range j.by {
		if m := i.missing(j.Needs); len(m) > 0 {
			return fmt.Sprintf("%s has no %s", i.ID(), strings.Join(m, ", "))
		}
	}
	switch {
	case j.Nodes > 1 && !s.Lab.clusters:
		return "no cluster of released servers is run"
	case j.gated(s.Lab) && j.onOldServer == nil:
		return "nats-server " + s.Lab.Version + " can not partition by the whole subject"
	}
	return ""
}

// findings plays a case. cut says that it could not be played to its end.
func (s Suite) findings(ctx context.Context, j job) (out []finding, cut bool, err error) {
	if j.live != nil {
		out, err = playLive(ctx, s.Lab, j.Case)
		return out, len(out) > 0, err
	}
	texts, cut, err := checkWire(ctx, s.Lab, j.Case, j.by[0])
	for _, t := range texts {
		out = append(out, finding{j.by[0].ID(), t})
	}
	return out, cut, err
}
