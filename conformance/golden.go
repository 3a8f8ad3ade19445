package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// String is the transcript as a golden file holds it. Reads, pulls and ack
// requests of a step stand behind what changes state, once each and sorted.
func (t transcript) String() string {
	var b strings.Builder
	for _, s := range t {
		outcome := "ok"
		if s.refused {
			outcome = "refused"
		}
		fmt.Fprintf(&b, "== %s: %s\n", s.name, outcome)
		for _, e := range slices.Concat(s.ordered(), s.set(kindPull), s.set(kindAck), s.set(kindRead)) {
			b.WriteString(e.String())
		}
	}
	return b.String()
}

// parseTranscript reads a golden file. Lines that start with # are comments.
func parseTranscript(text string) (transcript, error) {
	var t transcript
	for n, l := range strings.Split(text, "\n") {
		bad := fmt.Errorf("%w: golden, line %d: %q", ErrHarness, n+1, l)
		switch {
		case l == "", strings.HasPrefix(l, "#"):
		case strings.HasPrefix(l, "== "):
			name, outcome, ok := strings.Cut(l[3:], ": ")
			if !ok {
				return nil, bad
			}
			t = append(t, step{name: name, refused: outcome == "refused"})
		case len(t) == 0:
			return nil, bad
		case strings.HasPrefix(l, "  "):
			s := &t[len(t)-1]
			if len(s.entries) == 0 {
				return nil, bad
			}
			e := &s.entries[len(s.entries)-1]
			if body, ok := strings.CutPrefix(l, "  | "); ok {
				e.body = body
			} else {
				e.header = append(e.header, l[2:])
			}
		default:
			kind, subject, ok := strings.Cut(l, " ")
			if !ok {
				return nil, bad
			}
			s := &t[len(t)-1]
			s.entries = append(s.entries, entry{kind: kind, subject: subject})
		}
	}
	return t, nil
}

// goldenDir holds one file for each wire case. They are recorded from the
// reference, never from anything else.
const goldenDir = "testdata/wire"

func goldenFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "wire/"), "/", "_") + ".txt"
}

func readGolden(name string) (transcript, error) {
	text, err := fs.ReadFile(testdata, goldenDir+"/"+goldenFile(name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	return parseTranscript(string(text))
}

func writeGolden(name string, t transcript) error {
	text := fmt.Sprintf("# %s: what orbit.go/pcgroups %s sends. Recorded; see README.md.\n%s", name, OracleVersion, inOrder(t))
	return os.WriteFile(filepath.Join(goldenDir, goldenFile(name)), []byte(text), 0o644)
}

var membersList = regexp.MustCompile(`"members":\[[^\]]*\]`)

// inOrder puts the members of elastic groups that the transcript writes in order:
// the reference writes them in a random one.
func inOrder(t transcript) transcript {
	out := slices.Clone(t)
	for i, s := range out {
		out[i].entries = slices.Clone(s.entries)
		for j, e := range s.entries {
			if e.kind == kindPublish && strings.HasPrefix(e.subject, "$KV."+elasticBucket+".") {
				out[i].entries[j].body = membersList.ReplaceAllStringFunc(e.body, sortList)
			}
		}
	}
	return out
}

func sortList(text string) string {
	key, list, _ := strings.Cut(text, ":")
	var names []string
	if json.Unmarshal([]byte(list), &names) != nil {
		return text
	}
	slices.Sort(names)
	return key + ":" + mustJSON(names)
}
