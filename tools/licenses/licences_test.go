package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Prevents: a new dependency, or a new version of one, that comes with a licence
// which nobody has looked at.
func TestListingIsUpToDate(t *testing.T) {
	if err := run(true, false); err != nil {
		t.Fatal(err)
	}
}

// Prevents: a check that takes whatever it finds for allowed.
func TestLicences(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const (
		mit = "MIT License\n\nPermission is hereby granted, free of charge, to any person … without restriction …\nThe above copyright notice and this\npermission notice shall be included in all copies"
		bsd = "Redistribution and use in source and binary forms, with or without … Redistributions in binary form must reproduce …"
	)
	for name, tc := range map[string]struct{ file, text, want, fails string }{
		"Apache":          {"LICENSE", string(apache), "x.org/m Apache-2.0\n", ""},
		"MIT":             {"LICENSE.md", mit, "x.org/m MIT\n", ""},
		"BSD 2":           {"License.txt", bsd, "x.org/m BSD-2-Clause\n", ""},
		"BSD 3":           {"COPYING", bsd + "Neither the name of", "x.org/m BSD-3-Clause\n", ""},
		"Business Source": {"LICENSE", "License text copyright … Business Source License 1.1", "", "is under BUSL-1.1; allowed are Apache-2.0"},
		"GPL":             {"COPYING", "GNU GENERAL PUBLIC LICENSE\n Version 3", "", "is under GPL; allowed are"},
		"an own one":      {"LICENSE", "Do what you like.", "", "not one of those known here"},
		"none":            {"README.md", mit, "", "x.org/m has no licence"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := list([]module{{path: "x.org/m", dir: dir}})
			if tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) || tc.fails == "" && (err != nil || !strings.HasSuffix(string(got), tc.want)) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "LISTING")
	if err := os.WriteFile(file, []byte("a MIT\nb MIT\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compare(file, []byte("a MIT\nc ISC\n")); err == nil || !strings.HasSuffix(err.Error(), "\n- b MIT\n+ c ISC") {
		t.Error(err)
	}
}
