#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The sandbox by itself, through box-try. BOX_AS=user runs it as an ordinary user (needs root),
# otherwise it runs as whoever runs the tests. BOX_BUILD is the build directory.

bats_require_minimum_version 1.5.0

setup() {
	# not in a place that is private in the box
	base=/srv
	[ -w /srv ] || base=$HOME
	top=$(mktemp -d "$base/box-run.XXXXXX")
	chmod 755 "$top"
	ws=$top/ws
	mkdir "$ws" "$top/home"
	if [ "$BOX_AS" = user ]; then
		[ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
		as="setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$top/home"
		chown -R 65534:65534 "$top"
	else
		as=env
	fi
	cd "$ws" || return 1
	try="$BOX_BUILD/tests/box-try"
}

teardown() {
	cd / || true
	[ -z "$helper" ] || kill "$helper" 2>/dev/null || true
	find "$top" -type d -exec chmod u+rwx {} \; 2>/dev/null || true
	rm -rf "$top"
}

box() { $as "$try" "$@"; }
host() { $as sh -c "$1"; }

@test "exit status, arguments and streams are the command's" {
	run box -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run box -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	run box -- printf '%s|' 'a b' '' '*'
	[ "$output" = 'a b||*|' ]
	[ "$(printf 'in' | box -- cat)" = in ]
	[ "$(box -- sh -c 'echo e >&2' 2>&1 >/dev/null)" = e ]
	head -c 3000000 /dev/urandom >"$top/blob"
	chmod 644 "$top/blob"
	[ "$(box -- cat <"$top/blob" | sha256sum)" = "$(sha256sum <"$top/blob")" ]
}

@test "streams can be opened by name" {
	echo in >"$top/in"
	chmod 644 "$top/in"
	touch "$top/out" "$top/err"
	chmod 666 "$top/out" "$top/err"
	box -- sh -c 'echo e >/dev/stderr; echo o >/dev/stdout' >"$top/out" 2>"$top/err"
	[ "$(cat "$top/err")" = e ]
	[ "$(cat "$top/out")" = o ]
	[ "$(box -- cat /dev/stdin <"$top/in")" = in ]
	# another user's pipe cannot be opened again, here or outside
	[ "$BOX_AS" = user ] || [ "$(box -- sh -c 'echo e >/dev/stderr; echo o >/dev/stdout' 2>&1)" = $'e\no' ]
}

@test "a command that is not there, or not executable" {
	run -127 box -- no-such-command
	[[ "$output" == *"command not found"* ]]
	host 'echo x > plain'
	run box -- ./plain
	[ "$status" -eq 126 ]
	host 'printf "echo from a script\n" > script; chmod +x script'
	run box -- ./script
	[ "$status" -eq 0 ]
	[ "$output" = "from a script" ]
}

@test "changes stay in the box" {
	host 'echo old > a; mkdir d; echo x > d/x'
	run box -- sh -c 'echo new > a; rm -r d; echo b > b; cat a; ls'
	[ "$status" -eq 0 ]
	[ "$(cat a)" = old ]
	[ -f d/x ]
	[ ! -e b ]
}

@test "the rest is read-only, private or fresh" {
	run box -- sh -c 'touch /etc/x || touch /usr/x || touch /x'
	[ "$status" -ne 0 ]
	[[ "$output" == *"Read-only file system"* ]]
	run box -- sh -c 'ls -A /tmp /var/tmp; echo x > /tmp/y; cat /tmp/y; hostname'
	[ ! -e /tmp/y ]
	[[ "$output" == *box ]]
	run box -- sh -c 'ls /proc | grep -c "^[0-9]"'
	[ "$output" -le 5 ]
	run box -- sh -c 'ls /sys/class/net'
	[ "$output" = lo ]
	run box -- sh -c 'for d in null zero full random urandom tty ptmx fd stdin stdout stderr shm pts; do ls -d /dev/$d >/dev/null || echo missing $d; done; echo x > /dev/shm/x; echo > /dev/null; cat /dev/shm/x'
	[ "$output" = x ]
}

@test "programs find what they need" {
	run box -- sh -c 'python3 -c "import os,pty,socket,multiprocessing as m; a,b=os.openpty(); s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); c=socket.create_connection(s.getsockname()); m.Queue(); m.shared_memory=None; print(os.ttyname(b))"'
	[ "$status" -eq 0 ]
	[[ "$output" == /dev/pts/* ]]
	run box -- sh -c 'printf "int main(void){return 42;}" > t.c && cc -o t t.c && ./t'
	[ "$status" -eq 42 ]
	run box -- sh -c 'git init -q . && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm m && git log --oneline | wc -l'
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = 1 ]
}

@test "hidden, read-only and scratch paths" {
	host 'mkdir -p sub/deep ro scratch; echo s > sub/secret; echo k > sub/deep/key; echo r > ro/r; mkdir ../kept; echo K > ../kept/k'
	run box -H "$ws/sub/secret" -H "$ws/sub/deep" -R "$ws/ro" -S "$ws/scratch=$top/kept" -- sh -c '
		cat sub/secret && echo LEAK; ls sub/deep && echo LEAK; cat sub/deep/key && echo LEAK
		cat ro/r; echo w > ro/r && echo LEAK; cat scratch/k; echo new > scratch/n; echo w > ok && cat ok'
	[[ "$output" != *LEAK* ]]
	[[ "$output" == *$'r\n'* ]]
	[[ "$output" == *K* ]]
	[ "$(cat "$top/kept/n")" = new ]
	[ ! -e scratch/n ]
	# what was looked at, and became a link since: not what that leads to
	host "ln -s $top/kept ../link; ln -s $top ../way"
	for source in "$top/link" "$top/way/kept"; do
		run box -S "$ws/scratch=$source" -- cat scratch/k
		[ "$status" -eq 125 ]
		[[ "$output" == *"symbolic link"* ]]
	done
}

@test "roots inside roots, and outside" {
	host 'mkdir -p in ../other; echo 1 > in/f; echo 2 > ../other/g'
	run box -r "$ws/in" -r "$top/other" -- sh -c "echo x >> in/f; echo y >> $top/other/g; cat in/f $top/other/g"
	[ "$status" -eq 0 ]
	[ "$output" = $'1\nx\n2\ny' ]
	[ "$(cat in/f "$top/other/g")" = $'1\n2' ]
}

@test "workspaces under /tmp, and with odd names" {
	odd="$top/a,b:c d\\e"$'\n'"f"
	mkdir "$odd"
	[ "$BOX_AS" != user ] || chown 65534 "$odd"
	run box -w "$odd" -- sh -c 'echo x > y; cat y; pwd'
	[ "$status" -eq 0 ]
	t=$(mktemp -d /tmp/box-run.XXXXXX)
	mkdir "$t/w"
	[ "$BOX_AS" != user ] || chown -R 65534 "$t"
	run box -w "$t/w" -- sh -c 'echo x > y; cat y; ls -A /tmp | wc -l'
	rm -rf "$t"
	[ "$status" -eq 0 ]
	[ "$output" = $'x\n1' ]
}

@test "mounts inside the workspace: root sees them read-only, others are told" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount"
	mkdir sub/ -p
	run unshare -m sh -c "mount -t tmpfs none sub && echo inside > sub/f && chmod 755 sub && $as $try -- sh -c 'cat sub/f; touch sub/x || echo ro; echo top > t'"
	if [ "$BOX_AS" = user ]; then
		[ "$status" -eq 125 ]
		[[ "$output" == *"something is mounted inside"* ]]
	else
		[ "$status" -eq 0 ]
		[[ "$output" == inside* ]]
		[[ "$output" == *ro ]]
	fi
}

@test "what is hidden stays hidden where it is mounted again" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount"
	mkdir -p "$top/alias" "$top/tree/sub" "$top/part"
	echo secret >"$top/tree/sub/key"
	chmod -R 755 "$top/tree" "$top/alias" "$top/part"
	run unshare -m sh -c "mount --bind $top/tree $top/alias && mount --bind $top/tree/sub $top/part &&
		exec $as $try -H $top/tree/sub -- sh -c 'cat $top/tree/sub/key $top/alias/sub/key $top/part/key; ls $top/alias'"
	[[ "$output" != *secret* ]]
	[[ "$output" == *sub ]]
}

@test "directories that existed before can be renamed" {
	host 'mkdir -p d/sub d/locked e; echo 1 > d/f; ln d/f d/sub/g; ln -s f d/l; mkfifo d/p; truncate -s 1M d/sparse; touch -d 2015-01-01 d/sub; chmod 0 d/locked'
	before=$(host 'cd d && find . -printf "%P %y %m %s %l %Ty\n" 2>/dev/null | sort')
	run box -v -- sh -c 'python3 -c "import os; os.rename(\"d\",\"moved\")" && cd moved && find . -printf "%P %y %m %s %l %Ty\n" 2>/dev/null | sort > ../list; cat ../list; test f -ef sub/g || echo split; test -e ../d && echo left; ls -A .. | grep rein-mv; true'
	[[ "$output" == *"renames=1"* ]]
	[ "$(grep -v box-try <<<"$output")" = "$before" ]
	run box -- sh -c 'mkdir full; echo x > full/x; mv -T d full; ls d/f'
	[[ "$output" == *"not empty"* ]]
	run box -- python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
assert c.renameat2(-100, b"d", -100, b"e", 1) == -1 and ctypes.get_errno() == 17
assert c.renameat2(-100, b"d", -100, b"e", 2) == 0
assert os.path.exists("e/f") and os.listdir("d") == []
os.chdir("e"); os.rename("sub", "../d/sub2"); assert os.path.exists("../d/sub2/g")
for a, b in (("/etc", "x"), ("../e", "sub2/x"), ("nothing", "x")):
    try: os.rename(a, b); assert False, a
    except OSError: pass
'
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "signals reach the command" {
	for s in INT TERM HUP QUIT USR1 USR2; do
		# a file of its own: the last one's "ready" must not be taken for this one's
		$as env --default-signal "$try" -- sh -c "trap 'echo got $s; exit 9' $s; echo ready; while :; do sleep 0.05; done" >"$top/$s.log" 3>&- &
		helper=$!
		for _ in $(seq 200); do grep -qs ready "$top/$s.log" && break; sleep 0.05; done
		kill -$s "$helper"
		status=0
		wait "$helper" || status=$?
		helper=
		[ "$status" -eq 9 ]
		grep -q "got $s" "$top/$s.log"
	done
}

@test "time limits" {
	run box -v -t 300ms -- sh -c 'trap "" TERM INT; while :; do sleep 1; done'
	[ "$status" -eq 124 ]
	[[ "$output" == *"end=3"* ]]
	run box -v -i 300ms -- sleep 20
	[ "$status" -eq 124 ]
	[[ "$output" == *"end=4"* ]]
	run box -i 400ms -- sh -c 'for i in 1 2 3 4 5; do sleep 0.2; echo $i; done'
	[ "$status" -eq 0 ]
}

@test "nothing outlives the box, and the box does not outlive rein" {
	marker=7319.$$
	run box -- sh -c "sleep $marker & setsid sleep $marker & exit 0"
	[ "$status" -eq 0 ]
	! pgrep -f "sleep $marker"
	$as "$try" -- sleep "$marker" &
	helper=$!
	for _ in $(seq 100); do pgrep -f "^sleep $marker" >/dev/null && break; sleep 0.05; done
	pgrep -f "^sleep $marker"
	kill -9 "$(pgrep -f "$try -- sleep $marker" | tail -1)"
	for _ in $(seq 100); do pgrep -f "^sleep $marker" >/dev/null || break; sleep 0.05; done
	! pgrep -f "^sleep $marker"
	helper=
}

@test "standard streams that lead out are refused" {
	run box -- true <"$ws"
	[ "$status" -eq 125 ]
	[[ "$output" == *"standard input"* ]]
	run $as python3 -c "
import socket, subprocess, sys
s = socket.socket()
sys.exit(subprocess.run(['$try', '--', 'true'], stdin=s).returncode)"
	[ "$status" -eq 125 ]
	run $as python3 -c "
import socket, subprocess, sys
a, b = socket.socketpair()
b.sendall(b'hello'); b.shutdown(1)
p = subprocess.run(['$try', '--', 'cat'], stdin=a, stdout=subprocess.PIPE)
sys.exit(p.stdout != b'hello')"
	[ "$status" -eq 0 ]
	run box -- sh -c 'ls -l /proc/self/fd | wc -l' <&-
	[ "$status" -eq 0 ]
}

@test "new namespaces only when nested" {
	run box -- unshare -U true
	[ "$status" -ne 0 ]
	[[ "$output" == *"not permitted"* ]]
	[ "$BOX_AS" = user ] || [ "$(id -u)" != 0 ] || return 0
	run box -N -- unshare -Ur id -u
	[ "$status" -eq 0 ]
	[ "$output" = 0 ]
}

@test "strace and gdb are refused clearly" {
	command -v strace >/dev/null || skip "no strace"
	run box -- strace true
	[ "$status" -ne 0 ]
	[[ "$output" == *"Operation not permitted"* ]]
}

@test "nothing that leads out works" {
	echo bait >"$top/bait"
	chmod 666 "$top/bait"
	mkdir "$top/hidden"
	echo secret >"$top/hidden/file"
	chmod -R 777 "$top/hidden"
	python3 -c "
import socket, os, time
u = socket.socket(socket.AF_UNIX); u.bind('$top/sock'); os.chmod('$top/sock', 0o777); u.listen()
a = socket.socket(socket.AF_UNIX); a.bind('\0rein-bait-$$'); a.listen()
t = socket.socket(); t.bind(('127.0.0.1', 0)); t.listen()
open('$top/port', 'w').write(str(t.getsockname()[1]))
time.sleep(60)" 3>&- &
	helper=$!
	for _ in $(seq 100); do [ -s "$top/port" ] && break; sleep 0.05; done
	cp "$BOX_BUILD/tests/box-escape" "$ws/box-escape"
	run $as env BAIT_FILE="$top/bait" BAIT_HIDDEN="$top/hidden/file" BAIT_SOCKET="$top/sock" \
		BAIT_ABSTRACT="rein-bait-$$" BAIT_PID="$helper" BAIT_PORT="$(cat "$top/port")" \
		"$try" -H "$top/hidden" -- ./box-escape
	kill "$helper"
	helper=
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(cat "$top/bait")" = bait ]
	[ "$(cat "$top/hidden/file")" = secret ]
	[ ! -e "$ws/device" ]
}

@test "no mount, process or file is left on the host" {
	mounts=$(wc -l </proc/self/mountinfo)
	box -- sh -c 'sleep 100 & mkdir x; echo > y'
	[ "$(wc -l </proc/self/mountinfo)" = "$mounts" ]
	[ -z "$(ls -A "$ws")" ]
	[ -z "$(ls -A "$top" | grep box-try)" ]
}

@test "the whole system is copy-on-write for root" {
	[ "$(id -u)" = 0 ] && [ "$BOX_AS" != user ] || skip "needs root"
	mkdir "$top/store"
	cd /
	run "$try" -W -s "$top/store" -c 0x400004cb -- sh -c 'cd /; echo x > /etc/rein-box-test; cat /etc/rein-box-test; mkdir /usr/rein-box-test; ls -d /usr/rein-box-test; id -u; mount -t tmpfs none /mnt || echo nomount'
	[ "$status" -eq 0 ]
	[[ "$output" == *nomount* ]]
	[ ! -e /etc/rein-box-test ]
	[ ! -e /usr/rein-box-test ]
	[ -e "$top/store/0/upper/etc/rein-box-test" ]
}
