package pcgroups

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// recount tells whether a backlog's counters and lists are what its queues say.
func recount(b *backlog) error {
	size, bodies, running := 0, 0, 0
	waits := make(map[*lane]int)
	for _, l := range b.ready {
		waits[l]++
	}
	for p, l := range b.lanes {
		if l.partition != p {
			return fmt.Errorf("partition %d is kept as %d", l.partition, p)
		}
		if waits[l] > 1 || (waits[l] == 1) != l.queued {
			return fmt.Errorf("partition %d: queued is %v, but it waits %d times", p, l.queued, waits[l])
		}
		if !l.queued && b.next(l) >= 0 {
			return fmt.Errorf("partition %d could run, but does not wait for it", p)
		}
		here := 0
		for i := range l.queue {
			w := &l.queue[i]
			if i > 0 && l.queue[i-1].seq >= w.seq {
				return fmt.Errorf("partition %d: %d before %d", p, l.queue[i-1].seq, w.seq)
			}
			if w.body != nil {
				bodies++
			}
			if w.running {
				here++
			}
			size++
		}
		if here > 1 || (here == 1) != l.busy {
			return fmt.Errorf("partition %d: %d run, but busy is %v", p, here, l.busy)
		}
		running += here
	}
	if size != b.size || bodies != b.bodies || running != b.running {
		return fmt.Errorf("size %d, bodies %d, running %d; but counted %d, %d, %d", size, bodies, running, b.size, b.bodies, b.running)
	}
	if b.most > 0 && running > b.most {
		return errors.New("too many run")
	}
	return nil
}

// backlogInWords shows what is in a backlog, a line for each partition.
func backlogInWords(b *backlog) []string {
	out := []string{fmt.Sprintf("%d unsettled, %d to start, %d running", b.size, b.bodies, b.running)}
	if b.fenced {
		out[0] += ", fenced"
	}
	for _, p := range slices.Sorted(maps.Keys(b.lanes)) {
		l := b.lanes[p]
		line := fmt.Sprintf("partition %d, mark %d:", p, l.mark)
		for i := range l.queue {
			w := &l.queue[i]
			line += fmt.Sprintf(" %d(%s)", w.seq, stateInWords(w))
		}
		if len(l.queue) == 0 {
			line += " empty"
		}
		if l.blind {
			line += ", mark not trusted"
		}
		for _, seq := range slices.Sorted(maps.Keys(l.gaveUp)) {
			line += fmt.Sprintf(", gave up %d", seq)
		}
		if l.cleared > 0 {
			line += fmt.Sprintf(", cleared up to %d", l.cleared)
		}
		out = append(out, line)
	}
	return out
}

func stateInWords(w *waiting) string {
	var words []string
	switch {
	case w.running && w.body != nil:
		words = append(words, "running, and again")
	case w.running:
		words = append(words, "running")
	case w.body != nil:
		words = append(words, "waits")
	case w.naked != 0:
		words = append(words, "given back")
	case w.hand != nil:
		words = append(words, "unsettled")
	default:
		words = append(words, "no body")
	}
	if w.away {
		words = append(words, "away")
	}
	return strings.Join(words, ", ")
}
