package tfcli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Prevents: runs that differ by what happens to be set on the machine: a
// second copy of a variable, a config file that was deleted and makes every
// command print a warning, OpenTofu looking in Terraform's registry.
func TestEnviron(t *testing.T) {
	exists := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(exists, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const gone = "/nowhere/terraformrc"
	terraform := CLI{Path: "/bin/terraform", Name: Terraform}
	tofu := CLI{Path: "/bin/tofu", Name: OpenTofu}
	always := func(path string) []string {
		return []string{"CHECKPOINT_DISABLE=1", "TF_ACC_TERRAFORM_PATH=" + path}
	}
	forTofu := append(always("/bin/tofu"), "TF_ACC_PROVIDER_NAMESPACE=hashicorp", "TF_ACC_PROVIDER_HOST=registry.opentofu.org")
	for _, test := range []struct {
		name string
		cli  CLI
		base []string
		want []string
	}{
		{"nothing set", terraform, nil, always("/bin/terraform")},
		{"tofu needs its registry", tofu, nil, forTofu},
		{"the rest stays, in order", terraform, []string{"B=2", "A=1=1", "EMPTY="}, append([]string{"B=2", "A=1=1", "EMPTY="}, always("/bin/terraform")...)},
		{"config file that exists", terraform, []string{"TF_CLI_CONFIG_FILE=" + exists}, append([]string{"TF_CLI_CONFIG_FILE=" + exists}, always("/bin/terraform")...)},
		{"config file that is gone", terraform, []string{"TF_CLI_CONFIG_FILE=" + gone, "TERRAFORM_CONFIG=" + gone}, always("/bin/terraform")},
		{"set already, to something else", tofu, []string{"CHECKPOINT_DISABLE=", "TF_ACC_TERRAFORM_PATH=/other", "TF_ACC_PROVIDER_HOST=registry.terraform.io"}, forTofu},
		{"only the name decides", terraform, []string{"CHECKPOINT_DISABLED=x"}, append([]string{"CHECKPOINT_DISABLED=x"}, always("/bin/terraform")...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := slices.Clone(test.base)
			if got := test.cli.Environ(base); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if !slices.Equal(base, test.base) {
				t.Errorf("the caller's list was changed to %q", base)
			}
		})
	}
}
