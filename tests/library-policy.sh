#!/bin/sh
# The example of <rein/policy.h> answers as documented. Usage: library-policy.sh EXAMPLE
set -eu
example=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/home" "$dir/ws"
export HOME="$dir/home"
cd "$dir/ws"
"$example" 'ls -la' 'make test'
if out=$("$example" 'git push --force' 'rm -rf ~'); then echo "allowed: $out"; exit 1; fi
echo "$out"
echo "$out" | grep -q '^ask   destructive, irreversible: git push --force (git.push-force)$'
echo "$out" | grep -q '^hold  destructive, contained: rm -rf ~ '
echo 'version: 1
rules: [{id: none, match: {program: ls}, decide: deny, instead: find}]' >.rein.yaml
out=$("$example" ls) && exit 1
echo "$out" | grep -q '^deny .*(none)$'
echo "$out" | grep -q 'instead: find'
echo 'broken: [' >.rein.yaml
out=$("$example" ls 2>&1) && exit 1
echo "$out" | grep -q '^deny '
