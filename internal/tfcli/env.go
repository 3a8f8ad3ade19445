package tfcli

import (
	"os"
	"strings"
)

// The two variables that name a CLI configuration file, new and old.
var configFileVariables = []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"}

// Environ returns base, a list of KEY=VALUE as from [os.Environ], changed so
// that every run of c, by hand or through terraform-plugin-testing, uses this
// very program, asks nobody whether a newer one exists, and stays quiet about
// a CLI configuration file that is named but missing.
func (c CLI) Environ(base []string) []string {
	set := []string{
		"CHECKPOINT_DISABLE=1",
		PathVariable + "=" + c.Path,
	}
	if c.Name == OpenTofu {
		// The test framework names providers by Terraform's registry unless
		// told otherwise, and OpenTofu would then look for them in vain.
		set = append(set, "TF_ACC_PROVIDER_NAMESPACE=hashicorp", "TF_ACC_PROVIDER_HOST=registry.opentofu.org")
	}
	// Without this a variable would stand in the list twice, and which of the
	// two counts differs between programs.
	drop := make(map[string]bool)
	for _, variable := range set {
		drop[key(variable)] = true
	}
	env := make([]string, 0, len(base)+len(set))
	for _, variable := range base {
		if !drop[key(variable)] && !namesMissingFile(variable) {
			env = append(env, variable)
		}
	}
	return append(env, set...)
}

func key(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

func namesMissingFile(variable string) bool {
	for _, name := range configFileVariables {
		if path, ok := strings.CutPrefix(variable, name+"="); ok {
			_, err := os.Stat(path)
			return os.IsNotExist(err)
		}
	}
	return false
}
