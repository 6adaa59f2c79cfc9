#!/bin/sh
# librein by a caller who makes mistakes. Usage: library-use.sh PROGRAM REIN
set -eu
program=$(realpath "$1")
PATH=$(dirname "$(realpath "$2")"):$PATH
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/home" "$dir/ws"
export HOME="$dir/home" REIN_STATE="$dir/home/state" LIMITED="$dir/limited.yaml"
printf 'version: 1\nlimits: {disk: 1M}\n' >"$LIMITED"
cd "$dir/ws"
"$program"
[ "$(cat borrowed)" = here ]
rein audit log --json -n 1 --type commit --agent bot --session s1 | grep -q '"agent":"bot"'
