#!/usr/bin/env bash
# Runs a command that may take long without a word, says what it is, and from time
# to time that it goes on: a first build looks hung otherwise.
#
#   tools/progress.sh 'building this (a minute the first time)' COMMAND ARGUMENTS…
set -u
what=$1
shift
every=30
if [ -t 2 ]; then
	every=10 # somebody is looking
fi

echo "$what" >&2
(
	trap 'if [ -n "${!:-}" ]; then kill "$!"; fi; exit' TERM # the sleep as well
	while :; do
		sleep "$every" >/dev/null 2>&1 &
		wait "$!"
		echo "… $what, $SECONDS s so far" >&2
	done
) &
watcher=$!
trap 'kill "$watcher" 2>/dev/null; wait "$watcher" 2>/dev/null' EXIT
"$@"
