package main

import (
	"strings"
	"testing"
)

// stream turns "ACTION TEST OUTPUT" lines into the events of one package.
func stream(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		name, output, _ := strings.Cut(rest, " ")
		b.WriteString(`{"Action":"` + action + `","Package":"p"`)
		if name != "" {
			b.WriteString(`,"Test":"` + name + `"`)
		}
		if output != "" {
			b.WriteString(`,"Output":"` + output + `\n"`)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// Prevents: a green run in which no acceptance test, or not every one, was
// run. Each case is a way in which "go test" itself would succeed or in which
// a plain count of its lines would be wrong.
func TestTally(t *testing.T) {
	for _, test := range []struct {
		name   string
		events string
		line   string
		reason string // in the verdict; empty = good
	}{
		{"good", stream("run TestAccA", "output TestAccA --- PASS: TestAccA (0.1s)", "pass TestAccA", "pass"), "acceptance: 1 passed, 0 failed, 0 skipped", ""},
		{"nothing ran", stream("pass"), "acceptance: 0 passed, 0 failed, 0 skipped", "no test whose name begins with TestAcc"},
		{"empty output", "", "acceptance: 0 passed, 0 failed, 0 skipped", "no test whose name begins with TestAcc"},
		{"only unit tests", stream("run TestUnit", "pass TestUnit"), "acceptance: 0 passed, 0 failed, 0 skipped", "no test whose name"},
		{"skipped for want of TF_ACC", stream("run TestAccA", "skip TestAccA", "pass"), "acceptance: 0 passed, 0 failed, 1 skipped", "skipped, which counts as failed here: TestAccA"},
		{"one skipped among good ones", stream("run TestAccA", "pass TestAccA", "run TestAccB", "skip TestAccB"), "acceptance: 1 passed, 0 failed, 1 skipped", "TestAccB"},
		{"failed", stream("run TestAccA", "fail TestAccA", "fail"), "acceptance: 0 passed, 1 failed, 0 skipped", "failed: TestAccA"},
		{"subtests do not count", stream("run TestAccA", "run TestAccA/x", "pass TestAccA/x", "pass TestAccA"), "acceptance: 1 passed, 0 failed, 0 skipped", ""},
		{"a panic leaves tests without a result", stream("run TestAccA", "run TestAccB", "pass TestAccB", "fail"), "acceptance: 1 passed, 1 failed, 0 skipped", "failed: TestAccA"},
		{"the stream is cut off", stream("run TestAccA"), "acceptance: 0 passed, 1 failed, 0 skipped", "failed: TestAccA"},
		{"a line that is no event", "go: cannot find main module\n" + stream("run TestAccA", "pass TestAccA"), "acceptance: 1 passed, 0 failed, 0 skipped", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			counts := newTally(new(strings.Builder))
			if err := counts.read(strings.NewReader(test.events)); err != nil {
				t.Fatal(err)
			}
			if got := counts.line(); got != test.line {
				t.Errorf("got %q, want %q", got, test.line)
			}
			verdict := counts.verdict()
			if test.reason == "" && verdict != nil {
				t.Errorf("a good run was refused: %v", verdict)
			}
			if test.reason != "" && (verdict == nil || !strings.Contains(verdict.Error(), test.reason)) {
				t.Errorf("verdict %v, want %q in it", verdict, test.reason)
			}
		})
	}
}

// Prevents: a failure whose message is lost in the noise of good tests, or
// dropped with it.
func TestTallyShowsWhatMatters(t *testing.T) {
	var out strings.Builder
	counts := newTally(&out)
	err := counts.read(strings.NewReader(stream(
		"run TestAccGood", "output TestAccGood === RUN   TestAccGood", "output TestAccGood chatter",
		"output TestAccGood --- PASS: TestAccGood (0.1s)", "pass TestAccGood",
		"run TestAccBad", "run TestAccBad/step", "output TestAccBad/step wrong partition",
		"output TestAccBad --- FAIL: TestAccBad (0.2s)", "fail TestAccBad",
		"run TestAccHung", "output TestAccHung panic: timed out",
		"build-output  undefined: foo", "output  FAIL p 3s", "fail",
	)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "--- PASS: TestAccGood (0.1s)\n" +
		"wrong partition\n--- FAIL: TestAccBad (0.2s)\n" +
		"undefined: foo\nFAIL p 3s\n" +
		"panic: timed out\n--- FAIL: TestAccHung (did not end)\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
