// Command govulncheck looks for known vulnerabilities in what this repository's
// code calls, with the govulncheck and the database that go.mod pins, so that no
// network is needed and two runs say the same. Run it in this folder:
//
//	go run . [PACKAGES]
//
// PACKAGES are those of the repository, ./... unless given. It fails for every
// vulnerable function that is called, except those of Go's own standard library:
// they depend on the toolchain that builds, and are only told.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// root is the repository, seen from here.
const root = "../.."

func main() {
	packages := os.Args[1:]
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	bad, err := scan(packages)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if bad {
		os.Exit(1)
	}
}

func scan(packages []string) (bad bool, err error) {
	db, err := database()
	if err != nil {
		return false, err
	}
	path, err := run(".", "go", "tool", "-n", "golang.org/x/vuln/cmd/govulncheck") // builds it
	if err != nil {
		return false, err
	}
	out, err := run(root, strings.TrimSpace(string(path)), append([]string{"-db", "file://" + db, "-format", "json"}, packages...)...)
	if err != nil {
		return false, err
	}
	report, err := read(bytes.NewReader(out))
	if err != nil {
		return false, err
	}
	return report.tell(os.Stdout), nil
}

// database is the folder of the database that go.mod pins, in the form that
// govulncheck reads; it is made once.
func database() (string, error) {
	dir, err := run(".", "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/vulndb")
	if err != nil {
		return "", err
	}
	source := strings.TrimSpace(string(dir))
	if source == "" {
		if _, err := run(".", "go", "mod", "download", "golang.org/x/vulndb"); err != nil {
			return "", err
		}
		return database()
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	db := filepath.Join(cache, "pcgroups-tools", filepath.Base(source))
	if _, err := os.Stat(db); err == nil {
		return db, nil
	}
	// Under another name until it is whole.
	if err := os.MkdirAll(filepath.Dir(db), 0o755); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(db), "vulndb-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(made) }()
	if _, err := run(".", "go", "tool", "golang.org/x/vulndb/cmd/indexdb", "-vulns", filepath.Join(source, "data", "osv"), "-out", made); err != nil {
		return "", err
	}
	if err := os.Rename(made, db); err != nil {
		if _, there := os.Stat(db); there == nil {
			return db, nil // another run was faster
		}
		return "", err
	}
	return db, nil
}

// run runs a command in a folder and returns what it writes.
func run(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &problems)
	}
	return out.Bytes(), nil
}
