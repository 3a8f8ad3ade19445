package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// CLI is the reference's command line tool, cg, as a real administrator and a
// real member. It is built once and kept in the user's cache folder. It can not
// show a configuration as it is stored, and knows no stop but the end of its
// process.
func CLI(ctx context.Context) (Implementation, error) {
	bin, err := buildCLI(ctx)
	if err != nil {
		return Implementation{}, err
	}
	hello := Hello{Protocol: ProtocolVersion, Name: "cg", Version: OracleVersion, Language: "go",
		Features: []string{FeatureStatic, FeatureElastic, FeatureMappings, FeatureManyFilters, FeatureStepDown}}
	return Implementation{Hello: hello, Open: func(_ context.Context, url string, events func(Event)) (Peer, error) {
		return openCLI(bin, url, events)
	}}, nil
}

func buildCLI(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pcgroups-tools", "cg-"+OracleVersion)
	bin := filepath.Join(dir, "cg")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	// Built aside and renamed, so that two builds at once do no harm.
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "github.com/synadia-io/orbit.go/pcgroups/cg@"+OracleVersion)
	cmd.Dir = tmp // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cg %s: %w\n%s", OracleVersion, err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, missing := os.Stat(bin); missing != nil {
			return "", errors.Join(err, missing)
		}
	}
	return bin, nil
}
