// Command verify checks that the Terraform and OpenTofu registries would take
// what goreleaser has built: they find everything by its name, and ignore in
// silence what is called otherwise.
//
//	verify DIST
package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const name = "terraform-provider-pcgroups"

// platforms is what a release is for; see .goreleaser.yml.
var platforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_amd64", "linux_amd64", "linux_arm", "linux_arm64", "windows_amd64", "windows_arm64",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: verify DIST")
		os.Exit(2)
	}
	n, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "the release in %s is not as the registries want it:\n%v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Printf("release: %d platforms, checksums and manifest are as the registries want them\n", n)
}

// check looks at all of a release and returns everything that is wrong with it.
func check(dist string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dist, "metadata.json"))
	if err != nil {
		return 0, fmt.Errorf("%w (was goreleaser run?)", err)
	}
	var meta struct{ Version string }
	if err := json.Unmarshal(text, &meta); err != nil {
		return 0, fmt.Errorf("metadata.json: %w", err)
	}
	prefix := name + "_" + meta.Version + "_"

	var wrong []error
	sums, err := checksums(filepath.Join(dist, prefix+"SHA256SUMS"))
	wrong = append(wrong, err)
	want := []string{prefix + "manifest.json"}
	for _, platform := range platforms {
		file := prefix + platform + ".zip"
		want = append(want, file)
		if err := archive(filepath.Join(dist, file), meta.Version, platform); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
		}
	}
	for _, file := range want {
		// The manifest keeps its own name in the repository; goreleaser renames it
		// as it uploads it.
		path := filepath.Join(dist, file)
		if strings.HasSuffix(file, "_manifest.json") {
			path = filepath.Join(dist, "..", "terraform-registry-manifest.json")
			wrong = append(wrong, manifest(path))
		}
		wrong = append(wrong, compare(path, file, sums))
		delete(sums, file)
	}
	for file := range sums {
		wrong = append(wrong, fmt.Errorf("%s has a checksum, but is no part of a release", file))
	}
	return len(platforms), errors.Join(wrong...)
}

// checksums reads a file as sha256sum writes it.
func checksums(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		sum, file, ok := strings.Cut(s.Text(), "  ")
		if !ok {
			return nil, fmt.Errorf("%s: no checksum and name: %q", filepath.Base(path), s.Text())
		}
		sums[file] = sum
	}
	return sums, nil
}

func compare(path, file string, sums map[string]string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	switch got := sums[file]; got {
	case hex.EncodeToString(sum[:]):
		return nil
	case "":
		return fmt.Errorf("%s has no checksum", file)
	default:
		return fmt.Errorf("%s: the checksum is not that of the file", file)
	}
}

func manifest(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m struct {
		Version  int
		Metadata struct {
			ProtocolVersions []string `json:"protocol_versions"`
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if m.Version != 1 || !slices.Equal(m.Metadata.ProtocolVersions, []string{"6.0"}) {
		return fmt.Errorf("manifest: version %d, protocols %v, want 1 and 6.0", m.Version, m.Metadata.ProtocolVersions)
	}
	return nil
}

// archive checks that a zip has the provider under the name that Terraform looks
// for, and that the one for this machine tells its version.
func archive(path, version, platform string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	program := name + "_v" + version
	if strings.HasPrefix(platform, "windows_") {
		program += ".exe"
	}
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == program })
	if i < 0 {
		return fmt.Errorf("holds no %s", program)
	}
	if mode := z.File[i].Mode(); mode&0o111 == 0 {
		return fmt.Errorf("%s has mode %v and can not be run", program, mode)
	}
	if platform != runtime.GOOS+"_"+runtime.GOARCH {
		return nil
	}
	return tells(z.File[i], version)
}

func tells(program *zip.File, version string) error {
	dir, err := os.MkdirTemp("", "verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, err := program.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, program.Name)
	if err := os.WriteFile(path, text, 0o700); err != nil {
		return err
	}
	out, err := exec.Command(path, "-version").Output()
	if err != nil {
		return fmt.Errorf("%s -version: %w", program.Name, err)
	}
	if got := strings.TrimSpace(string(out)); got != version {
		return fmt.Errorf("%s calls itself %s", program.Name, got)
	}
	return nil
}
