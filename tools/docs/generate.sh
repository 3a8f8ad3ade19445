#!/usr/bin/env bash
# Writes docs/ from the provider's schema, templates/ and examples/. The schema
# comes from Terraform 1.14, as older ones leave out actions and list resources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

terraform=$(go run ./internal/tfcli/cmd/tfcli terraform)
tools/progress.sh 'building the provider (a minute the first time)' go build -o "$scratch/terraform-provider-pcgroups" .
# tfplugindocs looks for the provider under this address.
address=hashicorp/pcgroups
cat >"$scratch/cli.tfrc" <<RC
provider_installation {
  dev_overrides {
    "$address" = "$scratch"
  }
  direct {}
}
RC
export CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE="$scratch/cli.tfrc"
"$terraform" fmt -recursive examples

mkdir "$scratch/module"
printf 'terraform {\n  required_providers {\n    pcgroups = { source = "%s" }\n  }\n}\n\nprovider "pcgroups" {}\n' "$address" >"$scratch/module/main.tf"
(
	cd "$scratch/module"
	"$terraform" providers schema -json
) >"$scratch/schema.json"

tfplugindocs() {
	# It tells every file that it looks at; that matters only if it fails.
	GOWORK=off GOFLAGS= go tool -modfile=tools/docs/go.mod tfplugindocs "$@" \
		--provider-name pcgroups --providers-schema "$scratch/schema.json" >"$scratch/log" 2>&1 ||
		{ cat "$scratch/log" >&2; exit 1; }
}
export -f tfplugindocs
export scratch
tools/progress.sh 'writing docs/ (the first time it builds tfplugindocs, a minute)' bash -euc 'tfplugindocs generate && tfplugindocs validate'
echo "docs/ is up to date"
