package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
)

// terraform runs Terraform or OpenTofu on a copy of the example.
type terraform struct {
	cli    tfcli.CLI
	dir    string
	env    []string
	report report
	vars   []string // of the last apply; a destroy has to give them too
}

// newTerraform prepares everything for it in the work folder.
func newTerraform(cli tfcli.CLI, root, work, plugins, url string, r report) (terraform, error) {
	t := terraform{cli: cli, dir: filepath.Join(work, "quickstart"), report: r}
	if err := copyExample(filepath.Join(root, filepath.FromSlash(example)), t.dir); err != nil {
		return terraform{}, fmt.Errorf("copying %s: %w", example, err)
	}
	config := filepath.Join(work, "cli.tfrc")
	if err := os.WriteFile(config, []byte(cliConfig(plugins)), 0o600); err != nil {
		return terraform{}, err
	}
	t.env = environ(cli, os.Environ(), config, url)
	return t, nil
}

// cliConfig makes the CLI take the provider from a folder. It then needs no
// "init" and no registry. Each CLI completes the short address of the example
// with a registry of its own.
func cliConfig(plugins string) string {
	var b strings.Builder
	b.WriteString("provider_installation {\n  dev_overrides {\n")
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		fmt.Fprintf(&b, "    %q = %s\n", registry+"/nats-pcgroups/pcgroups", strconv.Quote(plugins))
	}
	b.WriteString("  }\n  direct {}\n}\n")
	return b.String()
}

// environ leaves out the user's own settings for the CLI and for NATS, any of
// which could lead it elsewhere than to this example and this server.
func environ(cli tfcli.CLI, base []string, config, url string) []string {
	var env []string
	for _, variable := range base {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "TF_") && !strings.HasPrefix(name, "NATS_") && name != "TERRAFORM_CONFIG" {
			env = append(env, variable)
		}
	}
	return append(cli.Environ(env),
		"TF_CLI_CONFIG_FILE="+config,
		"TF_CLI_ARGS=-no-color",
		"TF_INPUT=0",
		"TF_IN_AUTOMATION=1",
		"TF_VAR_nats_url="+url,
	)
}

// copyExample copies the files of a folder, not folders in it: those are what
// the user's own runs of the CLI left behind, if they are there at all.
func copyExample(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.tf"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no .tf file in %s", from)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the members those of the group.
func (t *terraform) apply(ctx context.Context, members ...string) error {
	quoted := make([]string, len(members))
	for i, m := range members {
		quoted[i] = strconv.Quote(m)
	}
	t.vars = []string{"-var", "members=[" + strings.Join(quoted, ", ") + "]"}
	return t.run(ctx, "apply")
}

// destroy deletes the group.
func (t *terraform) destroy(ctx context.Context) error { return t.run(ctx, "destroy") }

func (t *terraform) run(ctx context.Context, verb string) error {
	args := append([]string{verb, "-auto-approve"}, t.vars...)
	t.report.command(t.cli.Name, args)
	said, err := program{
		what: t.cli.Name + " " + verb,
		path: t.cli.Path,
		args: args,
		dir:  t.dir,
		env:  t.env,
	}.run(ctx, t.report.out)
	if err != nil {
		return failed(err, withoutNotice(said), "To look at the files afterwards: go run ./internal/demo/cmd/demo -keep")
	}
	t.report.quote(condense(said))
	return nil
}
