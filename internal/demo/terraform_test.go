package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
)

// Prevents: a demo that uses a provider from a registry, or that breaks in a
// folder with a space or a quote in its name.
func TestCLIConfig(t *testing.T) {
	const want = `provider_installation {
  dev_overrides {
    "registry.terraform.io/nats-pcgroups/pcgroups" = "/tmp/a \"b\" c"
    "registry.opentofu.org/nats-pcgroups/pcgroups" = "/tmp/a \"b\" c"
  }
  direct {}
}
`
	if got := cliConfig(`/tmp/a "b" c`); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Prevents: a demo that acts on the user's own servers, workspace or settings,
// which the environment may name.
func TestEnviron(t *testing.T) {
	got := environ(tfcli.CLI{Path: "/bin/tf", Name: tfcli.Terraform}, []string{
		"PATH=/bin", "NATS_URL=nats://production", "NATS_CREDS=/secret", "TF_WORKSPACE=production", "TF_CLI_ARGS_apply=-lock=false",
		"TF_VAR_nats_url=nats://production", "TF_CLI_CONFIG_FILE=/mine", "TERRAFORM_CONFIG=/mine", "HOME=/me",
	}, "/there/cli.tfrc", "nats://127.0.0.1:1")
	for _, want := range []string{"PATH=/bin", "HOME=/me", "TF_CLI_CONFIG_FILE=/there/cli.tfrc", "TF_VAR_nats_url=nats://127.0.0.1:1"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, variable := range got {
		if strings.Contains(variable, "production") || strings.Contains(variable, "secret") || strings.Contains(variable, "mine") || strings.Contains(variable, "lock") {
			t.Errorf("%s was handed on", variable)
		}
	}
}

// Prevents: an example that was renamed or reworded so that the demo can not use
// it any more.
func TestExampleFits(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := copyExample(filepath.Join(root, example), to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`variable "nats_url"`, `variable "members"`, `"` + stream + `"`, `"` + subjects + `"`, `"nats-pcgroups/pcgroups"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the example does not have %s", want)
		}
	}
}

// Prevents: a demo that is started somewhere else and fails much later, with a
// message about something else.
func TestRepositoryIsNeeded(t *testing.T) {
	t.Chdir(t.TempDir())
	if root, err := repository(); err == nil || !strings.Contains(err.Error(), "run this inside one") {
		t.Errorf("got %q, %v", root, err)
	}
}

// Prevents: a CLI configuration file that the real CLI does not understand. It
// is an acceptance test because it needs one.
func TestAccCLIReadsItsConfiguration(t *testing.T) {
	path := os.Getenv(tfcli.PathVariable)
	for _, name := range []string{tfcli.Terraform, tfcli.OpenTofu} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		t.Fatalf("neither terraform nor tofu is on PATH; install one, name one with %s, or run make testacc, which builds one", tfcli.PathVariable)
	}
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	tf, err := newTerraform(tfcli.CLI{Path: path}, root, work, filepath.Join(work, "plugins"), "nats://127.0.0.1:1", report{t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	// "providers" reads the configuration and the example, and needs no provider.
	said, err := program{what: "providers", path: path, args: []string{"providers"}, dir: tf.dir, env: tf.env}.run(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said, "Warning") || strings.Contains(said, "Error") || !strings.Contains(said, "/nats-pcgroups/pcgroups]") {
		t.Errorf("it said:\n%s", said)
	}
}
