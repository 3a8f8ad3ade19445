package examples

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?s)```.*?```")
	link   = regexp.MustCompile(`\]\(([^)\s#]+)[^)\s]*\)`)
)

// Prevents: a link in the documentation that leads nowhere. Links to the network
// are not followed.
func TestLinksLeadSomewhere(t *testing.T) {
	n := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			// What is built, downloaded or Terraform's own.
			if name == "templates" || name == "bin" || name == "dist" || name == "reports" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			to := filepath.Join(filepath.Dir(path), m[1])
			if strings.HasPrefix(path, "../docs/") {
				to += ".md" // a registry wants its pages without
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s has a link to %s: %v", path, m[1], errors.Unwrap(err))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 30 {
		t.Errorf("%d links were found", n)
	}
}

// Prevents: a guide that was changed in docs/, which the next "make generate"
// undoes, or in templates/ and not written to docs/.
func TestGuidesAreGenerated(t *testing.T) {
	guides, err := filepath.Glob("../templates/guides/*.md")
	if err != nil || len(guides) < 7 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for _, guide := range guides {
		want, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		name := "../docs/guides/" + filepath.Base(guide)
		if have, err := os.ReadFile(name); err != nil || string(have) != string(want) {
			t.Errorf("%s is not what templates/ has (%v): change it there, and run make generate", name, err)
		}
	}
}
