#!/bin/sh
# The example of librein runs as documented: effects, commit, undo. Usage: library.sh EXAMPLE
set -eu
example=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/home" "$dir/ws"
export HOME="$dir/home" REIN_STATE="$dir/home/state"
cd "$dir/ws"
echo keep >keep
out=$("$example")
echo "$out"
echo "$out" | grep -q '^two$'
echo "$out" | grep -q "^created *$dir/ws/made-by-example (8 bytes)$"
echo "$out" | grep -q '^committed '
echo "$out" | grep -q '^undone$'
[ "$(ls)" = keep ]
