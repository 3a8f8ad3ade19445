// Package examples holds what the documentation shows. Its tests keep the two the
// same.
package examples

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var shown = regexp.MustCompile("<!-- examples/(\\S+) -->\n```(\\w+)\n((?s:.*?))```\n")

var marked = regexp.MustCompile(`(?s)(?://|#) snippet:\n(.*?)\n[\t ]*(?://|#) end\n`)

// snippet returns the marked part of a file, not indented.
func snippet(t *testing.T, text string) string {
	m := marked.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no snippet in the example")
	}
	first := m[1]
	indent := first[:len(first)-len(strings.TrimLeft(first, "\t "))]
	lines := strings.Split(m[1], "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(lines, "\n")
}

// Prevents: an example in the README that was not compiled or planned. Each is
// the marked part of a file that is, named in a comment above it. PCGROUPS_UPDATE=1
// copies the files into the README.
func TestReadmeShowsTheExamples(t *testing.T) {
	const path = "../README.md"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	fresh := shown.ReplaceAllStringFunc(string(readme), func(block string) string {
		n++
		m := shown.FindStringSubmatch(block)
		text, err := os.ReadFile(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("<!-- examples/%s -->\n```%s\n%s\n```\n", m[1], m[2], snippet(t, string(text)))
	})
	if n != 2 {
		t.Errorf("%d examples in the README, want one in HCL and one in Go", n)
	}
	if fresh == string(readme) {
		return
	}
	if os.Getenv("PCGROUPS_UPDATE") == "" {
		t.Error("the README does not show the examples as they are; run this test with PCGROUPS_UPDATE=1")
		return
	}
	if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}
