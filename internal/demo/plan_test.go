package demo

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata")

// Prevents: a plan that fills the screen with one line per partition, or one
// from which the lines that matter are missing. The inputs are what Terraform
// 1.11 and OpenTofu 1.12 print for examples like ours.
func TestCondense(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			said, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(condense(string(said)), "\n") + "\n"
			golden := strings.TrimSuffix(input, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Prevents: a warning, or output of a version that is worded differently, that
// is swallowed because the demo looks for what it knows.
func TestCondenseLeavesTheUnknownAlone(t *testing.T) {
	for name, said := range map[string]string{
		"no plan":            "No changes. Your infrastructure matches the configuration.\n\nApply complete!",
		"another warning":    "Warning: Value for undeclared variable\n\n  # a will be created\n\nPlan: 1 to add",
		"another vocabulary": "I am going to do this:\n  * make a group [\n",
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.Split(strings.TrimSpace(said), "\n")
			if got := condense(said); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Prevents: a warning that is worth reading being removed along with the one that
// is not, or the text of an error.
func TestWithoutNotice(t *testing.T) {
	said, err := os.ReadFile("testdata/create.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := withoutNotice(string(said))
	if strings.Contains(got, "Warning") || !strings.HasPrefix(got, "Terraform used") {
		t.Errorf("got:\n%s", got)
	}
	for _, test := range []struct{ name, in, want string }{
		{"with others", "Warning: Old syntax\n\n" + noticeBegins + "…\n" + noticeEnds + "\nError: Bad\n", "Warning: Old syntax\n\n\nError: Bad\n"},
		{"without it", "Error: Bad\n", "Error: Bad\n"},
		{"in other words", noticeBegins + "something new\n", noticeBegins + "something new\n"},
		{"nothing", "", ""},
	} {
		if got := withoutNotice(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Prevents: a list that is not one of plain values, or is cut off, being joined
// into nonsense.
func TestJoinLists(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"all new", "+ a = [\n    + 1,\n    + 2,\n  ]", "+ a = [1 2]"},
		{"all gone", "- a = [\n    - 1,\n  ] -> null", "- a = [1] -> null"},
		{"changed", "~ a = [\n      # (3 unchanged elements hidden)\n      3,\n    - 4,\n    + 5,\n  ]", "~ a = [… 3 -4 +5]"},
		{"not changed", "a = [\n  1,\n]", "a = [1]"},
		{"empty", "+ a = []", "+ a = []"},
		{"of objects", "+ a = [\n    + {\n        + b = 1\n      },\n  ]", "+ a = [\n    + {\n        + b = 1\n      },\n  ]"},
		{"of lists", "+ a = [\n    + [\n        + 1,\n      ],\n  ]", "+ a = [\n    + [1]\n  ]"},
		{"cut off", "+ a = [\n    + 1,", "+ a = [\n    + 1,"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(joinLists(strings.Split(test.in, "\n")), "\n"); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}
