# SPDX-License-Identifier: Apache-2.0
# What every file of this suite shares: a throw-away home, state and workspace; nothing is left behind.
# shellcheck shell=bash disable=SC2034,SC2154
bats_require_minimum_version 1.5.0

# Fail with words.
die() { printf '%s\n' "$@" >&2; return 1; }

# need "reason" COMMAND...: skip unless the command succeeds. With REIN_MUST_WORK=1 only the kernel is an excuse.
need() {
	local why=$1; shift
	"$@" >/dev/null 2>&1 && return 0
	case ${REIN_MUST_WORK:-}:$why in
	1:kernel:*) skip "$why" ;;
	1:*) die "REIN_MUST_WORK=1 and this cannot be tested: $why" ;;
	*) skip "$why" ;;
	esac
}

is_root() { [ "$(id -u)" = 0 ]; }

setup() {
	export PATH=$REIN_BUILD:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TZ=UTC
	unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME REIN_UPPER REIN_PAGER PAGER NO_COLOR CLICOLOR_FORCE
	T=$(mktemp -d "$REIN_TEST_DIR/t.XXXXXX")
	T=$(realpath "$T")
	export HOME=$T/home REIN_STATE=$T/home/state
	W=$T/w
	mkdir -p "$HOME" "$W"
	cd "$W"
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$HOME/gitconfig
	printf '[user]\n\tname=t\n\temail=t@localhost\n[init]\n\tdefaultBranch=main\n[protocol "file"]\n\tallow=always\n' >"$GIT_CONFIG_GLOBAL"
	if declare -F more_setup >/dev/null; then more_setup; fi
}

teardown() {
	cd /
	if declare -F after >/dev/null; then after; fi
	# a mount, or a process with its feet in our directory, would be a leak of Rein's
	if grep -q " $T" /proc/self/mountinfo; then die "a mount is left: $(grep " $T" /proc/self/mountinfo)"; fi
	# a rein that was told to end may still be putting its things away
	for _ in {1..50}; do
		chmod -R u+rwX "$T" 2>/dev/null || true
		rm -rf "$T" 2>/dev/null || true
		[ -e "$T" ] || return 0
		sleep 0.1
	done
	die "$T could not be removed"
}

# eq WHAT WANTED GOT
eq() { [ "$2" = "$3" ] || die "$1: wanted '$2', got '$3'"; }
# left_groups: control groups of this user's boxes, made since the tests began, whose rein is dead. One that
# lives may be another test's: it is the number in the name, or who holds the lock of an OCI bundle of that name.
left_groups() {
	local d n
	find /sys/fs/cgroup -maxdepth 6 -type d -name 'rein-*' -user "$(id -un)" -newer "$REIN_TEST_BEGUN" 2>/dev/null | while read -r d; do
		n=${d##*/rein-} n=${n%.scope}
		if [ -d "/proc/$n" ] || { [ "$n" = supervisor ] && grep -q . "$d/cgroup.procs"; }; then continue; fi
		for b in "/run/rein-oci/rein-$n".*; do
			if [ -d "$b" ] && ! flock -n "$b" true; then continue 2; fi
		done
		[ ! -d "$d" ] || echo "$d"
	done
}
no_groups() { [ -z "$(left_groups)" ]; }
# has TEXT PART / hasnt TEXT PART
has() { case $1 in *"$2"*) ;; *) die "no '$2' in:" "$1" ;; esac; }
hasnt() { case $1 in *"$2"*) die "'$2' in:" "$1" ;; esac; }

# These suites ask what boxes and transactions do; judge.bats asks what the policy says (command rein).
rein() {
	if [ "${1:-}" = run ]; then
		shift
		set -- run --approve "$@"
	fi
	command rein "$@"
}
export -f rein

# q COMMAND...: the workhorse
q() { rein run --commit -q -- "$@"; }
# held COMMAND...: run, hold, print the id
held() { rein run --hold -q -- "$@" && newest; }
newest() { rein log --ids -n 1; }
state_of() { rein show --json "$1" | field state; }

# field PATH: a value out of the JSON on stdin, "a.b.0.c"; null is printed as null
field() {
	python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print("null" if v is None else str(v).lower() if isinstance(v, bool) else v if isinstance(v, str) else json.dumps(v))' "$1"
}

# Everything about a tree that a person could miss: type, mode, owner, size, times, links, content, attributes.
# Directory times only with TIMES=1 in the second argument: making and removing entries changes them.
snap() {
	( cd "$1" && find . -mindepth 1 \( -type d -printf 'd %P %m %U:%G\n' -o -type l -printf 'l %P %l %U:%G\n' \
		-o -printf '%y %P %m %U:%G %s %T@ %n\n' \) | LC_ALL=C sort
	  find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum
	  find . -mindepth 1 ! -type l -print0 | LC_ALL=C sort -z | xargs -0r getfattr -d -m - -e hex -- 2>/dev/null )
}

# until_true SECONDS COMMAND...: short waits for things that happen soon
until_true() {
	local i end=$(($1 * 20)); shift
	for ((i = 0; i < end; i++)); do "$@" && return 0; sleep 0.05; done
	return 1
}

# queue_program: in Python, a message through a POSIX queue and back; with a second word the queue is left behind
queue_program() {
	cat <<-'END'
	import ctypes, os, sys
	c = ctypes.CDLL(None, use_errno=True)
	def must(rc):
	    if rc < 0:
	        sys.exit(os.strerror(ctypes.get_errno()))
	    return rc
	name = b"/rein-test-" + sys.argv[1].encode()
	q = must(c.mq_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600, None))
	must(c.mq_send(q, b"hello", 5, 1))
	text = ctypes.create_string_buffer(8192)
	n = must(c.mq_receive(q, text, 8192, None))
	print(text.raw[:n].decode())
	if len(sys.argv) < 3:
	    must(c.mq_unlink(name))
	END
}
