package pcgroups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// look is a sight of a group of 4 partitions at a second. have are the members
// with their right consumers; further consumers are given as name=filter, or
// name= for one whose filters are not known.
func look(second float64, revision uint64, members string, have string) groupSight {
	c := ElasticConsumerGroupConfig{MaxMembers: 4, Members: strings.Fields(members)}
	s := groupSight{at: atSecond(second), revision: revision, owners: c.AllPartitionFilters(), member: slices.Contains(c.Members, "me"), consuming: atSecond(1)}
	maps.DeleteFunc(s.owners, func(_ string, filters []string) bool { return len(filters) == 0 })
	for _, name := range strings.Fields(have) {
		sight := consumerSight{name: name, filters: s.owners[name], ackWait: time.Second}
		if name, filter, given := strings.Cut(name, "="); given {
			sight.name, sight.filters = name, strings.Fields(filter)
		}
		s.consumers = append(s.consumers, sight)
	}
	return s
}

func atSecond(s float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(s * float64(time.Second)))
}

// TestEvictorTable tells stories of looks, a second or so apart, with evictAfter
// 4 s. The last look decides.
//
// Prevents: a member evicted that is alive, or one that is gone never evicted.
func TestEvictorTable(t *testing.T) {
	const all, rest = "me a b", "me a" // b is gone
	story := func(revision uint64, have string, seconds ...float64) (out []groupSight) {
		for _, s := range seconds {
			out = append(out, look(s, revision, all, have))
		}
		return out
	}
	with := func(looks []groupSight, i int, change func(*groupSight)) []groupSight {
		change(&looks[i])
		return looks
	}
	tests := map[string]struct {
		looks []groupSight
		want  string
		held  string
	}{
		"gone for evictAfter":             {looks: story(1, rest, 10, 11, 12, 13, 14), want: "b"},
		"gone for less":                   {looks: story(1, rest, 10, 11, 12, 13, 13.9)},
		"two gone":                        {looks: story(1, "me", 10, 11, 12, 13, 14), want: "a b"},
		"nobody gone":                     {looks: story(1, all, 10, 11, 12, 13, 14)},
		"one of two for less":             {looks: append(story(1, rest, 10, 11), story(1, "me", 12, 13, 14)...)},
		"back in between":                 {looks: append(append(story(1, rest, 10, 11), story(1, all, 12)...), story(1, rest, 13, 14)...)},
		"the group changed":               {looks: append(story(1, rest, 10, 11), story(2, rest, 12, 13, 14)...)},
		"a look is missing":               {looks: story(1, rest, 10, 11, 13.5, 14)},
		"consuming for less":              {looks: with(story(1, rest, 10, 11, 12, 13, 14), 4, func(s *groupSight) { s.consuming = atSecond(10.5) })},
		"not consuming":                   {looks: with(story(1, rest, 10, 11, 12, 13, 14), 4, func(s *groupSight) { s.consuming = time.Time{} })},
		"another has other filters":       {looks: story(1, "me a=0.>", 10, 11, 12, 13, 14), held: `"a" has not taken over`},
		"another is not known":            {looks: story(1, "me a=", 10, 11, 12, 13, 14), held: `"a" has not taken over`},
		"its partition is held":           {looks: story(1, "me a old=1.>", 10, 11, 12, 13, 14), held: `"old" still holds`},
		"someone may hold anything":       {looks: story(1, "me a tap=", 10, 11, 12, 13, 14), held: `"tap" still holds`},
		"others hold nothing of it":       {looks: story(1, "me a old=9.>", 10, 11, 12, 13, 14), want: "b"},
		"held a moment ago":               {looks: append(story(1, "me a old=1.>", 10), story(1, rest, 11, 12, 13, 14)...)},
		"we are gone ourselves":           {looks: story(1, "a b", 10, 11, 12, 13, 14), held: "this member has no consumer"},
		"another has a longer ack wait":   {looks: with(story(1, rest, 10, 11, 12, 13, 14), 4, func(s *groupSight) { s.consumers[1].ackWait = 2 * time.Second })},
		"the one gone had a longer one":   {looks: append(with(story(1, all, 9), 0, func(s *groupSight) { s.consumers[2].ackWait = 2 * time.Second }), story(1, rest, 10, 11, 12, 13, 14)...)},
		"one gone may not be evicted":     {looks: repeat(5, func(s float64) groupSight { return look(s, 1, "me b x", "me") }), held: `"x" does not run either`},
		"past the cap":                    {looks: repeat(9, func(s float64) groupSight { return look(s, 1, "a b me n z", "a b me n") })},
		"nobody consumes, for evictAfter": {looks: repeat(5, func(s float64) groupSight { return idle(look(s, 1, "a b c d me", "")) })},
		"nobody consumes, for twice that": {looks: repeat(9, func(s float64) groupSight { return idle(look(s, 1, "a b c d me", "")) }), want: "a b c d"},
		"one that waits leaves it to one": {looks: repeat(9, func(s float64) groupSight { return idle(look(s, 1, "a b c d me", "a")) })},
		"no member does nothing":          {looks: repeat(9, func(s float64) groupSight { return idle(look(s, 1, "a b c d", "")) })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := evictor{self: "me", after: 4 * time.Second, may: func(m string) bool { return m != "x" }}
			var j judgement
			for i, s := range tt.looks {
				j = e.see(s)
				if i < len(tt.looks)-1 && j.evict != nil {
					t.Fatalf("look %d evicts %v", i, j.evict)
				}
				if j.next <= 0 || j.next > e.every() {
					t.Fatalf("the next look is in %v", j.next)
				}
			}
			if got := strings.Join(j.evict, " "); got != tt.want || !strings.Contains(j.held, tt.held) || tt.held == "" && j.held != "" {
				t.Errorf("evicts %q, held by %q", got, j.held)
			}
		})
	}
}

func repeat(n int, look func(second float64) groupSight) (out []groupSight) {
	for i := range n {
		out = append(out, look(float64(10+i)))
	}
	return out
}

func idle(s groupSight) groupSight { s.consuming = time.Time{}; return s }

// The look that evicts must not be a whole period late.
func TestEvictorLooksWhenItIsTime(t *testing.T) {
	e := evictor{self: "me", after: 4 * time.Second, may: func(string) bool { return true }}
	for second := 10.25; second < 14; second++ {
		e.see(look(second, 1, "me a b", "me a"))
	}
	if j := e.see(look(14, 1, "me a b", "me a")); j.next != 250*time.Millisecond {
		t.Errorf("the next look is in %v", j.next)
	}
}

// TestEvictorTwin compares the evictor with a twin that remembers every look and
// goes through all of them again each time.
//
// Prevents: a memory that is not cleared, or cleared too much, in some order of
// crashes, returns, changes and missed looks that nobody thought of.
func TestEvictorTwin(t *testing.T) {
	evicted := 0
	rapid.Check(t, func(t *rapid.T) {
		e := evictor{self: "me", after: 4 * time.Second, may: func(m string) bool { return m != "x" }}
		var history []groupSight
		now, revision, since := 100.0, uint64(1), 100.0
		members := []string{"a", "b", "me"}
		gone := map[string]bool{}
		extra, consuming := "", true
		for range rapid.IntRange(5, 60).Draw(t, "looks") {
			now += rapid.SampledFrom([]float64{1, 1, 1, 1, 1, 0.5, 2, 2.1}).Draw(t, "step")
			switch m := rapid.SampledFrom([]string{"a", "b", "c", "d", "x", "me"}).Draw(t, "who"); rapid.IntRange(0, 24).Draw(t, "what") {
			case 1:
				gone[m] = true
			case 2:
				gone[m] = false
			case 3:
				members, revision = toggle(members, m), revision+1
			case 4:
				extra = rapid.SampledFrom([]string{"", "old=1.>", "old=9.>", "tap=", "a=0.x"}).Draw(t, "extra")
			case 5:
				since = now - 0.5
			case 6:
				consuming = !consuming
			case 7:
				history = append(history, groupSight{}) // a look failed
				e.blind()
			}
			var have []string
			for _, m := range members {
				if !gone[m] && !strings.HasPrefix(extra, m+"=") {
					have = append(have, m)
				}
			}
			s := look(now, revision, strings.Join(members, " "), strings.Join(append(have, extra), " "))
			s.consuming = atSecond(since)
			if !consuming {
				s = idle(s)
			}
			for i := range s.consumers {
				if s.consumers[i].name == "b" {
					s.consumers[i].ackWait = 2 * time.Second
				}
			}
			history = append(history, s)
			got, want := e.see(s).evict, twinEvicts(history, e.after)
			if !slices.Equal(got, want) {
				t.Fatalf("look %d evicts %q, the twin %q: %s", len(history), got, want, fmt.Sprintf("%+v", history))
			}
			if len(got) > 0 {
				evicted++
				members, revision = slices.DeleteFunc(members, func(m string) bool { return slices.Contains(got, m) }), revision+1
			}
		}
	})
	if evicted == 0 {
		t.Error("nobody was ever evicted")
	}
}

func toggle(members []string, m string) []string {
	if i := slices.Index(members, m); i >= 0 {
		return slices.Delete(slices.Clone(members), i, i+1)
	}
	return sortedSet(append(slices.Clone(members), m))
}

// twinEvicts is the rules as the documentation has them. A zero sight is a look
// that failed.
func twinEvicts(history []groupSight, after time.Duration) []string {
	now := history[len(history)-1]
	gone := twinGone(now)
	patience := after
	for m := range now.owners {
		for i := len(history) - 1; i >= 0; i-- {
			if history[i].at.IsZero() {
				continue
			}
			if _, owns := history[i].owners[m]; !owns {
				break
			}
			if c := slices.IndexFunc(history[i].consumers, func(c consumerSight) bool { return c.name == m }); c >= 0 {
				patience = max(patience, 3*history[i].consumers[c].ackWait)
				break
			}
		}
	}
	_, owns := now.owners["me"]
	switch {
	case len(gone) == 0:
		return nil
	case !now.consuming.IsZero():
		if now.at.Sub(now.consuming) < patience {
			return nil
		}
	case now.member && !owns && len(gone) == len(now.owners):
		patience *= 2
	default:
		return nil
	}
	for i := len(history) - 1; i >= 0; i-- {
		s := history[i]
		if s.at.IsZero() || s.revision != now.revision || i < len(history)-1 && history[i+1].at.Sub(s.at) > after/2 {
			return nil
		}
		for _, m := range gone {
			if !slices.Contains(twinGone(s), m) {
				return nil
			}
		}
		if now.at.Sub(s.at) >= patience {
			return gone
		}
	}
	return nil
}

// twinGone is who is gone in one sight, if nothing speaks against it.
func twinGone(s groupSight) (gone []string) {
	holder := map[string]string{} // of a partition, as configured
	for m, filters := range s.owners {
		for _, f := range filters {
			holder[f[:1]] = m
		}
		if !slices.ContainsFunc(s.consumers, func(c consumerSight) bool { return c.name == m }) {
			gone = append(gone, m)
		}
	}
	slices.Sort(gone)
	if slices.Contains(gone, "me") || slices.Contains(gone, "x") {
		return nil
	}
	for _, c := range s.consumers {
		if want, owns := s.owners[c.name]; owns && !sameFilters(c.filters, want) {
			return nil
		} else if owns {
			continue
		}
		for p, m := range holder {
			if slices.Contains(gone, m) && (len(c.filters) == 0 || strings.HasPrefix(c.filters[0], p)) {
				return nil
			}
		}
	}
	return gone
}

// Prevents: two who disagree about a member moving its partitions all the time.
func TestComebackBacksOff(t *testing.T) {
	c := comeback{after: 4 * time.Second}
	now := 0.0
	drop := func(after float64) float64 {
		now += after
		c.see(atSecond(now), false)
		c.see(atSecond(now+0.1), false) // told again
		wait := c.due.Sub(atSecond(now)).Seconds()
		now += wait
		c.see(atSecond(now), true)
		if !c.due.IsZero() {
			t.Fatal("it is added although it is there")
		}
		return wait
	}
	for i, want := range []float64{0, 4, 8, 16, 32, 32} {
		if got := drop(1); got != want {
			t.Errorf("drop %d: %v s, want %v", i, got, want)
		}
	}
	if got := drop(63.9); got != 32 {
		t.Errorf("forgotten too soon: %v s", got)
	}
	if got := drop(65); got != 0 {
		t.Errorf("not forgotten: %v s", got)
	}
}
