package bench

import (
	"fmt"
	"sync"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// owners watches that every partition gets to the member it is meant for.
type owners struct {
	subjects  []string       // one for each partition
	partition map[string]int // by subject

	mu      sync.Mutex
	want    []string // by partition
	had     []bool   // the owner has had a message
	pending []bool   // a message is on its way
	left    int
	done    chan struct{} // closed when nothing is left
}

// newOwners finds a subject for each partition.
func newOwners(g group) (*owners, error) {
	n := int(g.partitions)
	o := &owners{subjects: make([]string, n), partition: map[string]int{}, pending: make([]bool, n)}
	// A hash fills the last of n partitions after about n ln n keys.
	for i := 0; len(o.partition) < n; i++ {
		if i == 1000*n {
			return nil, fmt.Errorf("no key was found for %d partitions", n-len(o.partition))
		}
		subject := fmt.Sprintf("%s.key%d", g.stream, i)
		p, err := pcgroups.PartitionFor(subject, g.filter(), []int{1}, g.partitions)
		if err != nil {
			return nil, err
		}
		if o.subjects[p] == "" {
			o.subjects[p], o.partition[subject] = subject, p
		}
	}
	return o, nil
}

// expect begins to watch for these owners.
func (o *owners) expect(members map[string][]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want, o.had, o.left, o.done = make([]string, len(o.subjects)), make([]bool, len(o.subjects)), len(o.subjects), make(chan struct{})
	for m, partitions := range members {
		for _, p := range partitions {
			o.want[p] = m
		}
	}
}

// handled is told by every handler.
func (o *owners) handled(subject, member string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.partition[subject]
	o.pending[p] = false
	if o.had[p] || o.want[p] != member {
		return
	}
	o.had[p] = true
	if o.left--; o.left == 0 {
		close(o.done)
	}
}

// silent are the subjects to publish to: no message waits there, and the owner
// has not had one. The caller publishes.
func (o *owners) silent() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for p, subject := range o.subjects {
		if !o.had[p] && !o.pending[p] {
			o.pending[p] = true
			out = append(out, subject)
		}
	}
	return out
}

func (o *owners) all() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.done
}

func (o *owners) missing() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}
