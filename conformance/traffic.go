package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// keys of the live cases; they fall into all partitions of every group there.
var keys = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}

// publish sends each key so many further messages, numbered from 1.
func (p *play) publish(each int) {
	for range each {
		for _, k := range keys {
			if p.over() {
				return
			}
			p.sent[k]++
			_, err := p.js.Publish(p.ctx, "orders."+k, fmt.Appendf(nil, "%s:%d", k, p.sent[k]))
			p.harness(err)
		}
	}
}

// delivery is one start of a handler.
type delivery struct {
	by   *actor
	key  string
	seq  int
	at   int64
	pin  string
	done bool
}

// deliveries are all starts so far, in the order of the actors' clock, which is
// one, as all run on this machine.
func (p *play) deliveries() []delivery {
	var out []delivery
	for _, a := range p.actors {
		open := map[string]int{}
		for _, e := range a.events.list() {
			key, seq, _ := strings.Cut(e.Data, ":")
			n, _ := strconv.Atoi(seq) // what publish wrote
			switch e.Event {
			case EventMessage:
				if e.Subject != "orders."+key {
					p.wrong(a, "subject %q of message %q is not the one it was published with", e.Subject, e.Data)
				}
				open[e.Data] = len(out)
				out = append(out, delivery{by: a, key: key, seq: n, at: e.TimeNs, pin: e.Pinned})
			case EventDone:
				if i, ok := open[e.Data]; ok {
					out[i].done = true
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b delivery) int { return int(a.at - b.at) })
	return out
}

func (p *play) total() int {
	n := 0
	for _, s := range p.sent {
		n += s
	}
	return n
}

// allHandled waits until every message published so far was handled by someone.
func (p *play) allHandled() {
	if p.over() {
		return
	}
	if n := p.handledSoon(p.total()); n < p.total() && !p.excuse() {
		p.blame("%d of %d messages were handled within %v; consumers: %s", n, p.total(), patience, p.consumers())
	}
}

// consumers tells how the members' consumers stand, to explain a failure.
func (p *play) consumers() string {
	on, _ := memberOn(p.flavour)
	s, err := p.js.Stream(p.ctx, on)
	if err != nil {
		return err.Error()
	}
	var out []string
	list := s.ListConsumers(p.ctx)
	for i := range list.Info() {
		pin := ""
		for _, g := range i.PriorityGroups {
			pin = g.PinnedClientID
		}
		out = append(out, fmt.Sprintf("%s (pin %q, %d waiting pulls, %d pending, %d unacknowledged, %d redelivered)",
			i.Name, pin, i.NumWaiting, i.NumPending, i.NumAckPending, i.NumRedelivered))
	}
	return strings.Join(out, ", ")
}

// handledSoon waits until n distinct messages were handled, and tells how many
// were in the end.
func (p *play) handledSoon(n int) int {
	got := 0
	_ = p.eventually(func() error { // what is missing is told by the count
		seen := map[string]bool{}
		for _, d := range p.deliveries() {
			if d.done {
				seen[d.key+":"+strconv.Itoa(d.seq)] = true
			}
		}
		if got = len(seen); got < n {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	return got
}

// phase publishes, waits until all is handled and checks that the owners of the
// partitions did it, each message once.
func (p *play) phase(assigned map[string][]int) {
	if p.over() {
		return
	}
	before := len(p.deliveries())
	p.publish(3)
	p.allHandled()
	if p.over() {
		return
	}
	owner := map[int]string{}
	for m, parts := range assigned {
		for _, n := range parts {
			owner[n] = m
		}
	}
	seen := map[string]*actor{}
	for i, d := range p.deliveries() {
		id := fmt.Sprintf("%s:%d", d.key, d.seq)
		if want := owner[p.partition(d.key)]; i >= before && d.by.member != want {
			p.wrong(d.by, "handled message %s, which belongs to %s", id, want)
		}
		if first := seen[id]; first != nil {
			p.wrong(d.by, "handled message %s, which %s had handled", id, first.name)
		}
		seen[id] = d.by
	}
}

// verify checks what must hold at the end of every case: messages with the same
// key began in order. A message may be delivered again, but no later one may
// begin before an earlier one did.
func (p *play) verify() {
	last := map[string]int{}
	for _, d := range p.deliveries() {
		if d.seq > last[d.key]+1 {
			p.wrong(d.by, "message %s:%d began before %s:%d", d.key, d.seq, d.key, last[d.key]+1)
		}
		last[d.key] = max(last[d.key], d.seq)
	}
	for _, a := range p.actors {
		if a.stopped {
			continue
		}
		for _, e := range a.events.list() {
			if e.Event == EventEnded {
				p.wrong(a, "its session ended, although nothing was to end it: %q", e.Error)
			}
		}
	}
}

// ends waits for the end of an actor's session.
func (p *play) ends(a *actor) (reason string) {
	if p.over() {
		return ""
	}
	a.stopped = true
	var ended bool
	a.events.wait(p.ctx, patience, func(all []Event) bool {
		for _, e := range all {
			if e.Event == EventEnded {
				reason, ended = e.Error, true
			}
		}
		return ended
	})
	if !ended {
		p.wrong(a, "its session did not end within %v", patience)
	}
	return reason
}

// leaves stops an instance and waits for its end, which must be a normal one.
func (p *play) leaves(a *actor) {
	a.stopped = true
	p.ask(a, Request{Op: OpStop, Session: session})
	if reason := p.ends(a); reason != "" {
		p.wrong(a, "its session ended with an error after stop: %s", reason)
	}
}

// crashes ends an instance without a word.
func (p *play) crashes(a *actor) {
	a.stopped = true
	if p.over() {
		return
	}
	p.harness(a.peer.Close())
}
