#!/bin/sh
# Approvals through librein. Usage: library-approval.sh PROGRAM
set -eu
program=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/home" "$dir/ws"
export HOME="$dir/home" REIN_STATE="$dir/home/state"
cat >"$HOME/p.yaml" <<E
version: 1
rules:
  - {id: two, match: {program: touch, arguments: [two]}, decide: ask, minimum: 2}
  - {id: other, match: {program: touch, arguments: [other]}, decide: hold, approvers: [somebody-else]}
  - {id: plain, match: {program: touch, arguments: [plain]}, decide: ask}
  - {id: words, match: {program: touch, arguments: [words]}, decide: hold}
effects:
  - {id: no, match: {path: [no]}, decide: deny}
  - {id: did, match: {change: [created], path: [did]}, decide: hold, minimum: 2}
E
cd "$dir/ws"
"$program" "$HOME/p.yaml"
