package demo

import (
	"fmt"
	"slices"
	"strings"
)

// owners is the first table of who owns what.
func (r report) owners(o ownership) {
	r.strips([]row{{"partition", numbers(len(o.owner))}, {"owner", o.owner}})
	r.gap()
	for _, m := range o.members() {
		r.line("%-10s owns %s", m, ranges(o.partitions(m)))
	}
}

// change is the table of who owned what, who does now, and what moved.
func (r report) change(before, after ownership) {
	list := moves(before, after)
	marks := make([]string, len(after.owner))
	for _, m := range list {
		marks[m.partition] = "*"
	}
	r.strips([]row{{"partition", numbers(len(after.owner))}, {"before", before.owner}, {"after", after.owner}, {"moves", marks}})
	r.gap()
	everyone := append(before.members(), after.members()...)
	slices.Sort(everyone)
	for _, m := range slices.Compact(everyone) {
		r.line("%-10s %s", m, strings.Join(deeds(m, before, list), ", "))
	}
}

// row is one row of a table with a narrow column for every partition.
type row struct {
	head  string
	cells []string
}

func (r report) strips(rows []row) {
	width := 0
	for _, row := range rows {
		for _, cell := range row.cells {
			width = max(width, len(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for _, cell := range row.cells {
			fmt.Fprintf(&b, " %*s", width, cell)
		}
		r.line("%-10s%s", row.head, strings.TrimRight(b.String(), " "))
	}
}

// deeds tells what a member keeps, gives away and takes over.
func deeds(member string, before ownership, list []move) []string {
	kept := before.partitions(member)
	given, taken := make(map[string][]int), make(map[string][]int)
	var peers []string
	for _, m := range list {
		switch member {
		case m.from:
			given[m.to] = append(given[m.to], m.partition)
			kept = slices.DeleteFunc(kept, func(p int) bool { return p == m.partition })
			peers = append(peers, m.to)
		case m.to:
			taken[m.from] = append(taken[m.from], m.partition)
			peers = append(peers, m.from)
		}
	}
	var said []string
	if len(kept) > 0 {
		said = append(said, "keeps "+ranges(kept))
	}
	slices.Sort(peers)
	for _, peer := range slices.Compact(peers) {
		if list := given[peer]; len(list) > 0 {
			said = append(said, fmt.Sprintf("gives %s to %s", ranges(list), named(peer)))
		}
		if list := taken[peer]; len(list) > 0 {
			said = append(said, fmt.Sprintf("takes %s from %s", ranges(list), named(peer)))
		}
	}
	return said
}

func named(member string) string {
	if member == "" {
		return "nobody"
	}
	return member
}

// numbers are 0, 1, … n-1.
func numbers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return list
}

// ranges writes 0 1 2 5 as "0-2 5".
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, " ")
}
