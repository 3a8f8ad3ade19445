package demo

import (
	"slices"
	"strings"
)

// The first and the last words of the one warning that is expected: that the
// provider comes from a folder, not from a registry.
const noticeBegins, noticeEnds = "Warning: Provider development overrides are in effect\n", "releases.\n"

// withoutNotice removes that warning, the longest and least of all that is said.
func withoutNotice(said string) string {
	before, rest, found := strings.Cut(said, noticeBegins)
	_, after, ends := strings.Cut(rest, noticeEnds)
	if !found || !ends {
		return said
	}
	return strings.TrimLeft(before+after, "\n")
}

// condense keeps of an apply what a newcomer wants to read: what the plan
// changes, and what became of it. What it does not know by sight it leaves as it
// is, and output with an unexpected warning it leaves alone altogether.
func condense(said string) []string {
	lines := strings.Split(strings.TrimSpace(withoutNotice(said)), "\n")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  # ") })
	warned := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Warning: ") })
	if start < 0 || warned {
		return lines
	}
	var kept []string
	inOutputs := false // which repeat the assignments that the plan has shown
	for _, line := range joinLists(lines[start:]) {
		switch {
		case line == "Outputs:" || line == "Changes to Outputs:":
			inOutputs = true
		case line == "" || inOutputs && !isStatus(line):
		default:
			inOutputs = false
			kept = append(kept, strings.TrimPrefix(line, "  "))
		}
	}
	return kept
}

// isStatus tells the lines on what is being done from those of outputs.
func isStatus(line string) bool {
	if strings.HasPrefix(line, " ") || strings.Contains(line, " = ") {
		return false
	}
	return strings.Contains(line, ": ") || strings.Contains(line, " complete!")
}

// joinLists writes lists of plain values in one line each. Terraform writes
// every element in a line of its own, which for partitions fills the screen.
func joinLists(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); i++ {
		end, elements := plainList(lines, i)
		if end == i {
			out = append(out, lines[i])
			continue
		}
		closing := strings.TrimSpace(lines[end])
		out = append(out, lines[i]+strings.Join(elements, " ")+strings.TrimSuffix(closing, ","))
		i = end
	}
	return out
}

// plainList tells where the list that begins in line i ends, and what is in it;
// i if none does that consists of plain values only.
func plainList(lines []string, i int) (end int, elements []string) {
	if !strings.HasSuffix(lines[i], "[") {
		return i, nil
	}
	// Where the whole list is new or gone, its elements need no sign each.
	sign := changeSign(lines[i])
	for j := i + 1; j < len(lines); j++ {
		element := strings.TrimSuffix(strings.TrimSpace(lines[j]), " -> null")
		switch {
		case strings.HasPrefix(element, "]"):
			return j, elements
		case strings.ContainsAny(element, "[{}="):
			return i, nil
		case strings.HasPrefix(element, "# ("):
			element = "…"
		case sign == "+" || sign == "-":
			element = strings.TrimPrefix(element, sign+" ")
		}
		element = strings.TrimSuffix(element, ",")
		elements = append(elements, strings.ReplaceAll(element, " ", ""))
	}
	return i, nil
}

// changeSign is the +, - or ~ in front of a line of a plan.
func changeSign(line string) string {
	sign, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return sign
}
