# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this directory, which run inside the guest: cases are shell functions,
# each run in an empty directory of its own with its own state; what a failed one said is shown.
# A case that cannot be tried here ends with `skip REASON`.

export REIN_STATE PATH=/job/build:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export NO_COLOR=1 LANG=C.UTF-8
passed=0
failed=0
skipped=0
trial=$(mktemp -d /var/tmp/rein-suite.XXXXXX)
chmod 0755 "$trial"
who=$(id -un)

skip() {
	echo "$*"
	exit 77
}

# no COMMAND...: it must fail.
no() {
	if "$@"; then
		echo "succeeded, but must not: $*"
		return 1
	fi
}

# ends STATUS COMMAND...: it must end with exactly this status.
ends() {
	want=$1
	shift
	got=0
	"$@" || got=$?
	[ "$got" = "$want" ] || {
		echo "ended with $got, not $want: $*"
		return 1
	}
}

# has TEXT: standard input must contain it, whatever its case.
has() {
	heard=$(cat)
	printf '%s\n' "$heard" | grep -qiF -e "$1" || {
		printf 'no "%s" in:\n%s\n' "$1" "$heard"
		return 1
	}
}

# cases NAME...: run the functions of these names.
cases() {
	for name; do
		mkdir -p "$trial/$name/ws"
		REIN_STATE=$trial/$name/state
		# Not in a condition: there the shell would ignore set -e, and all but the last command.
		(
			set -e
			cd "$trial/$name/ws"
			"$name"
		) > "$trial/said" 2>&1 < /dev/null
		status=$?
		case $status in
		0) passed=$((passed + 1)) ;;
		77)
			skipped=$((skipped + 1))
			echo "skipped ($who): $name: $(tail -n 1 "$trial/said")"
			;;
		*)
			failed=$((failed + 1))
			echo "FAILED ($who): $name"
			sed 's/^/    /' "$trial/said" | head -n 40
			;;
		esac
	done
}

finish() {
	chmod -R u+rwX "$trial" 2>/dev/null # a killed run leaves overlay's closed work directory
	rm -rf "$trial"
	echo "$passed $failed $skipped" > "/job/out/$(basename "$0" .sh).$who"
	[ "$failed" = 0 ]
}
