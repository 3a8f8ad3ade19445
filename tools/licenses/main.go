// Command licenses tells under which licence each module is that is linked into
// the provider or into a program that uses the library.
//
//	go run ./tools/licenses           print the list
//	go run ./tools/licenses -check    fail if LISTING is not that list
//	go run ./tools/licenses -write    write LISTING
//
// It fails for a licence that is not allowed, and for one that it does not know.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// listing is the list in the repository, from its root.
const listing = "tools/licenses/LISTING"

func main() {
	check := flag.Bool("check", false, "fail if "+listing+" is not up to date")
	write := flag.Bool("write", false, "write "+listing)
	flag.Parse()
	if err := run(*check, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check, write bool) error {
	root, err := root()
	if err != nil {
		return err
	}
	modules, err := linked(root)
	if err != nil {
		return err
	}
	text, err := list(modules)
	if err != nil {
		return err
	}
	file := filepath.Join(root, listing)
	switch {
	case write:
		return os.WriteFile(file, text, 0o644)
	case check:
		return compare(file, text)
	}
	_, err = os.Stdout.Write(text)
	return err
}

// compare fails unless the file has that text.
func compare(file string, text []byte) error {
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bytes.Equal(have, text) {
		return nil
	}
	var changes []string
	for _, side := range []struct {
		sign      string
		of, other []byte
	}{{"-", have, text}, {"+", text, have}} {
		for line := range strings.Lines(string(side.of)) {
			if !strings.Contains("\n"+string(side.other), "\n"+line) {
				changes = append(changes, side.sign+" "+strings.TrimSpace(line))
			}
		}
	}
	return fmt.Errorf("the dependencies, or their licences, are not those of %s; look at them, then write it with -write:\n%s", listing, strings.Join(changes, "\n"))
}
