#!/usr/bin/env bash
# Builds a release of what is here into dist/, publishes nothing, and checks that
# the registries would take it. GPG_FINGERPRINT, if set, names a key to sign with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip=()
if [ -z "${GPG_FINGERPRINT:-}" ]; then
	skip=(--skip=sign)
fi
GOWORK=off GOFLAGS= tools/progress.sh 'building goreleaser (several minutes the first time), then the release for all platforms' \
	go tool -modfile=tools/goreleaser/go.mod goreleaser release --snapshot --clean "${skip[@]}"
GOWORK=off go run -C tools/goreleaser ./verify "$PWD/dist"
