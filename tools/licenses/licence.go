package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// allowed are the licences, by their SPDX names, under which a dependency may be:
// those that a program under Apache-2.0 may be linked with. MPL-2.0 covers the
// dependency's own files only.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// marks are words of a licence that no other one has; the text is compared in
// lower case, with single spaces.
var marks = []struct {
	spdx  string
	words []string
}{
	{"AGPL", []string{"gnu affero general public license version"}},
	{"LGPL", []string{"gnu lesser general public license version"}},
	{"GPL", []string{"gnu general public license version"}},
	{"BUSL-1.1", []string{"business source license"}},
	{"MPL-2.0", []string{"mozilla public license", "2.0", "exhibit a - source code form license notice"}},
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004", "grant of patent license"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "without restriction", "the above copyright notice and this permission notice shall be included"}},
	{"ISC", []string{"permission to use, copy, modify, and", "with or without fee is hereby granted"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name of"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms", "redistributions in binary form must reproduce"}},
}

// classify names the licences in a text, of which there can be several for the
// parts of a module; there is none if none is known.
func classify(text []byte) (spdx []string) {
	plain := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
	plain = strings.NewReplacer("“", `"`, "”", `"`, "–", "-").Replace(plain)
	for _, m := range marks {
		if !slices.ContainsFunc(m.words, func(w string) bool { return !strings.Contains(plain, w) }) {
			if m.spdx == "BSD-2-Clause" && slices.Contains(spdx, "BSD-3-Clause") {
				continue // the shorter text is part of the longer one
			}
			spdx = append(spdx, m.spdx)
		}
	}
	return spdx
}

// licencesOf reads the licences of a module.
func licencesOf(m module) ([]string, error) {
	files, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (run: go mod download)", m.path, err)
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.dir, f.Name()))
		if err != nil {
			return nil, err
		}
		if spdx := classify(text); len(spdx) > 0 {
			return spdx, nil
		}
		return nil, fmt.Errorf("%s: the licence in %s is not one of those known here", m.path, f.Name())
	}
	return nil, fmt.Errorf("%s has no licence", m.path)
}

// list is one line for each module. Versions are left out: what matters of a new
// one is whether its licence is another.
func list(modules []module) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "# Modules that are linked into the provider, and their licences; * those of the library too.")
	fmt.Fprintln(&out, "# Written by: go run ./tools/licenses -write")
	for _, m := range modules {
		spdx, err := licencesOf(m)
		if err != nil {
			return nil, err
		}
		for _, name := range spdx {
			if !slices.Contains(allowed, name) {
				return nil, fmt.Errorf("%s is under %s; allowed are %s", m.path, name, strings.Join(allowed, ", "))
			}
		}
		mark := ""
		if m.fromLibrary {
			mark = " *"
		}
		fmt.Fprintf(&out, "%s %s%s\n", m.path, strings.Join(spdx, " AND "), mark)
	}
	return out.Bytes(), nil
}
