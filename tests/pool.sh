#!/bin/sh
# Boxes made ahead, as whoever we are and, as root, as an ordinary user too. Usage: pool.sh PROGRAM
set -eu
program=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"

try() { # NAME COMMAND...
	mkdir "$dir/$1" "$dir/$1/home" "$dir/$1/ws"
	[ "$1" = self ] || chown -R 65534:65534 "$dir/$1"
	echo "# as $1"
	where=$dir/$1
	shift
	HOME="$where/home" REIN_STATE="$where/home/state" "$@" "$program" "$where/ws" </dev/null
}

try self env
[ "$(id -u)" != 0 ] || try user setpriv --reuid 65534 --regid 65534 --clear-groups
