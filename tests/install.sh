#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh BUILD_DIR PREFIX: what an installation consists of, and that the programs look for each other there.
set -eu
build=$1 prefix=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
DESTDIR="$dir" meson install -C "$build" --no-rebuild >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
root=$dir$prefix
for f in bin/rein libexec/rein/rein-box libexec/rein/rein-gate share/man/man1/rein.1 share/bash-completion/completions/rein share/zsh/site-functions/_rein \
	share/fish/vendor_completions.d/rein.fish include/rein/txn.h include/rein/error.h include/rein/classify.h include/rein/policy.h; do
	[ -s "$root/$f" ] || { echo "not installed: $f"; exit 1; }
done
for m in rein-text.so rein-index.so rein-http.so rein-sql.so rein-scan.so rein-tls.so; do
	[ -n "$(find "$root" -name "$m")" ] || { echo "not installed: $m"; exit 1; }
done
[ -n "$(find "$root" -name rein.pc)" ] || { echo "not installed: rein.pc"; exit 1; }
grep -qF "$prefix/libexec/rein/rein-box" "$root/bin/rein" || { echo "rein looks for rein-box elsewhere"; exit 1; }
bash -n "$root/share/bash-completion/completions/rein"
