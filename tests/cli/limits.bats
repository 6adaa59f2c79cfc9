#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Limits: each is kept, tells what it was, rolls back, never hangs, and leaves the neighbours and the machine alone.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

# hit NAME: the last run ended for this limit, and changed nothing
hit() {
	eq status 122 "$status"
	has "$output" "$1 limit reached"
	has "$output" "kept by: "
	[ -z "$(ls -A "$W")" ] || die "something is left: $(ls -A "$W")"
}

@test "limit memory: a hog ends, whatever it had changed is rolled back" {
	run timeout 30 rein run --approve --limit memory=64M -- sh -c 'echo x >before; exec python3 -c "
a = []
while True: a.append(b\"x\" * (4 << 20))"'
	hit memory
	has "$output" "of 64 MiB"
	# several processes together, none of them over it alone
	run timeout 30 rein run --approve --limit memory=96M -- sh -c 'for i in 1 2 3 4; do python3 -c "
import time
a = b\"x\" * (40 << 20)
time.sleep(20)" & done; wait'
	hit memory
}

@test "limit memory: what lies in /tmp is memory too" {
	run timeout 30 rein run --approve --limit memory=48M -- sh -c 'head -c 200M /dev/zero >/tmp/big; sleep 20'
	hit memory
}

@test "limit memory: a program that stays below it is not touched" {
	run -0 rein run -q --limit memory=256M -- python3 -c 'a = b"x" * (64 << 20); print(len(a))'
	eq out 67108864 "$output"
}

@test "limit processes: a fork bomb ends within a second and nothing of it lives" {
	local before after
	before=$(date +%s%N)
	run timeout 30 rein run --approve --limit processes=40 -- bash -c 'f() { f | f & }; f; sleep 3333.'$BASHPID
	after=$(date +%s%N)
	hit processes
	[ $(((after - before) / 1000000)) -lt 5000 ] || die "took $(((after - before) / 1000000)) ms"
	run pgrep -f "sleep 3333.$BASHPID"
	eq left 1 "$status"
	# exactly so many are possible
	run -0 rein run -q --limit processes=40 -- bash -c 'for i in $(seq 39); do sleep 0.4 & done; wait; echo all'
	eq out all "$output"
	# threads count
	run timeout 30 rein run --approve --limit processes=20 -- python3 -c '
import threading, time
for i in range(60): threading.Thread(target=time.sleep, args=(20,)).start()'
	hit processes
}

@test "limit processes: one that is refused and gives up at once has reached it as well" {
	# the others are still there when it ends
	for _ in 1 2 3; do
		run timeout 30 rein run --approve --limit processes=20 -- python3 -c '
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
except BlockingIOError:
    os._exit(7)'
		hit processes
	done
	# they are gone after 25 ms; it goes on, and tries again
	run timeout 30 rein run --approve --limit processes=20 -- python3 -c '
import os, signal, time
for i in range(20):
    there = []
    try:
        while True:
            pid = os.fork()
            if pid == 0:
                time.sleep(20)
                os._exit(0)
            there.append(pid)
    except BlockingIOError:
        time.sleep(0.025)
    for pid in there: os.kill(pid, signal.SIGKILL)
    for pid in there: os.waitpid(pid, 0)
    time.sleep(0.06)'
	hit processes
	# what is below it at its end, and was, is not touched
	run -0 rein run -q --limit processes=20 -- bash -c 'for i in $(seq 19); do sleep 20 & done; echo all'
	eq out all "$output"
}

@test "limit disk: a filler ends, in one file, in many, in /tmp, in one without a name" {
	run timeout 30 rein run --approve --limit disk=20M -- sh -c 'cat /dev/zero >big; sleep 20'
	hit disk
	run timeout 30 rein run --approve --limit disk=20M -- sh -c 'i=0; while :; do i=$((i+1)); head -c 1M /dev/zero >f$i; done'
	hit disk
	run timeout 30 rein run --approve --limit disk=20M -- sh -c 'head -c 30M /dev/zero >/tmp/x; sleep 20'
	hit disk
	run timeout 30 rein run --approve --limit disk=20M -- python3 -c '
import os, time
f = open("x", "wb"); os.unlink("x")
f.write(b"x" * (30 << 20)); f.flush(); time.sleep(20)'
	hit disk
	run -0 rein run -q --limit disk=20M --discard -- sh -c 'head -c 15M /dev/zero >f; rm f; head -c 15M /dev/zero >g'
}

@test "limit disk: files without a name count wherever they are kept: mapped, sent, in a process that is closed" {
	cat >"$T/fill.py" <<-'END'
	import array, ctypes, mmap, os, socket, sys, time
	kept, (a, b) = [], socket.socketpair()
	if sys.argv[1] == "closed":
	    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
	for i in range(6):
	    f = open("x", "w+b"); os.unlink("x")
	    if sys.argv[1] == "mapped":
	        f.truncate(10 << 20)
	        m = mmap.mmap(f.fileno(), 10 << 20); m[:] = b"x" * (10 << 20); m.flush()
	        kept.append(m); n = f.fileno(); f.close(); os.closerange(n, 60) # its own copy, too
	        continue
	    f.write(b"x" * (10 << 20)); f.flush()
	    if sys.argv[1] == "sent":
	        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f.fileno()]))]); f.close()
	    kept.append(f)
	time.sleep(20)
	END
	local how
	for how in mapped sent closed; do
		run timeout 30 rein run --approve --limit disk=20M -- python3 "$T/fill.py" $how
		hit disk
	done
}

@test "limit disk: files without a name in a cache on another filesystem count as well" {
	is_root || skip "mounts"
	cat >"$T/fill.py" <<-'END'
	import os, sys, time
	if sys.argv[1] == "never-named":
	    fd = os.open("cache", os.O_TMPFILE | os.O_RDWR, 0o600)
	else:
	    fd = os.open("cache/x", os.O_CREAT | os.O_RDWR, 0o600)
	    os.unlink("cache/x")
	for i in range(int(sys.argv[2])):
	    os.write(fd, b"x" * (1 << 20))
	time.sleep(float(sys.argv[3]))
	END
	mkdir -p "$REIN_STATE/scratch"
	export T W
	# caches lie in the state: here that part of it is on a filesystem of its own
	elsewhere() {
		unshare -m sh -ec 'mount --make-rprivate /; mount -t tmpfs -o size=300m,mode=700 none "$REIN_STATE/scratch"
			mkdir cache; trap "rmdir cache" EXIT
			timeout 30 rein run --approve "$@"' sh "$@"
	}
	local how
	for how in never-named deleted; do
		run elsewhere --limit disk=20M --scratch cache -- python3 "$T/fill.py" $how 30 20
		hit disk
		# what was there before does not count, nor what stays below it
		run -0 elsewhere --discard --limit disk=20M --scratch cache -- python3 "$T/fill.py" $how 10 0.3
	done
}

@test "limit disk: attributes count, also where no block of their file holds them" {
	# kernels before 6.6 have none on a tmpfs
	need "kernel: attributes on a tmpfs" python3 -c 'import os, tempfile
f = tempfile.NamedTemporaryFile(dir="/dev/shm"); os.setxattr(f.name, "user.a", b"")'
	cat >"$T/fill.py" <<-'END'
	import os, sys, time
	os.mkdir(sys.argv[1]); os.chdir(sys.argv[1])
	for i in range(8000):  # 3000 bytes in each of many files, or in one
	    f = "f%d" % i if sys.argv[2] == "many" else "one"
	    open(f, "a").close()
	    os.setxattr(f, "user.%0200d" % i, os.urandom(2800))
	time.sleep(20)
	END
	local how
	for how in many one; do
		run timeout 30 rein run --approve --limit disk=10M -- python3 "$T/fill.py" /tmp/d $how
		hit disk
	done
	is_root || return 0
	for how in many one; do
		# shellcheck disable=SC2016
		run unshare -m sh -ec 'mount --make-rprivate /; mount -t tmpfs none .; cd "$PWD"
			timeout 30 rein run --approve --limit disk=10M -- python3 "$@"' sh "$T/fill.py" d $how
		hit disk
	done
}

@test "limit disk: names cost something too, on every filesystem; and a file with several counts once" {
	cat >"$T/flood.py" <<-'END'
	import os, sys, time
	for i in range(int(sys.argv[1])):
	    if i % 1000 == 0: os.mkdir("d%d" % i)
	    os.mknod("d%d/%d" % (i - i % 1000, i))
	time.sleep(float(sys.argv[2]))
	END
	run timeout 30 rein run --approve --limit disk=6M -- python3 "$T/flood.py" 15000 20
	hit disk
	run -0 rein run -q --discard --limit disk=20M -- sh -c 'head -c 15M /dev/zero >f; for i in 1 2 3 4; do ln f g$i; done; sleep 0.3'
	is_root || return 0
	local fs
	for fs in xfs btrfs; do
		need "mkfs.$fs is missing" command -v "mkfs.$fs"
		need "kernel: no $fs here" grep -qw "$fs" /proc/filesystems
		rm -f "$T/image"
		truncate -s 300M "$T/image"
		"mkfs.$fs" -q "$T/image"
		# shellcheck disable=SC2016
		run unshare -m sh -ec 'mount --make-rprivate /; mount -o loop "$1" .; cd "$PWD"; shift
			timeout 30 rein run --approve --limit disk=6M -- python3 "$@"' sh "$T/image" "$T/flood.py" 15000 20
		hit disk
	done
}

# small SIZE COMMAND...: on a filesystem of that size, where this directory is
small() {
	local size=$1; shift
	run unshare -m sh -ec 'mount --make-rprivate /; mount -t tmpfs -o size="$1" none .; shift; cd "$PWD"; exec timeout 30 "$@"' sh "$size" "$@"
}

@test "free: a box that fills the disk ends before it is full, without being told to; others there do not" {
	is_root || skip "mounts"
	# slow enough to be seen, and whoever finds it full tries again
	cat >"$T/fill.py" <<-'END'
	import sys, time
	mib, pause = int(sys.argv[1]), float(sys.argv[2])
	with open("full", "wb", buffering=0) as f:
	    while mib:
	        try: f.write(b"x" * (1 << 20)); mib -= 1
	        except OSError: pass
	        time.sleep(pause)
	END
	small 200M rein run --approve -- python3 "$T/fill.py" 400 0.004
	eq status 122 "$status"
	has "$output" "the disk is nearly full ("
	has "$output" "4 MiB are to stay free)"
	has "$output" "rolled back, nothing was changed"
	has "$output" "less: --limit free=VALUE, or --limit free=none"
	# as much as is asked for
	small 200M rein run --json --limit free=80M -- python3 "$T/fill.py" 150 0.005
	eq status 122 "$status"
	has "$output" '"limit":83886080,"kept_by":"watching"}'
	small 200M rein run -q --discard --limit free=none -- python3 "$T/fill.py" 120 0.001
	eq status 0 "$status"
	small 200M rein run -q --discard --limit free=0 -- python3 "$T/fill.py" 120 0.001
	eq status 0 "$status"
	# it was that full before, by somebody else; and meanwhile somebody else fills it
	small 100M sh -c 'head -c 90M /dev/zero >.rein-other; rein run -q --discard -- python3 "$1" 3 0.1' sh "$T/fill.py"
	eq status 0 "$status"
	small 400M sh -c '(sleep 0.3; head -c 369M /dev/zero >.rein-other) & rein run -q --discard -- python3 "$1" 25 0.05' sh "$T/fill.py"
	eq status 0 "$status"
}

@test "limit disk: what lies where nobody can look counts: closed directories, very deep ones" {
	run timeout 30 rein run --approve --limit disk=20M -- sh -c 'for i in 1 2 3 4; do mkdir d$i; head -c 15M /dev/zero >d$i/f; chmod 000 d$i; done; sleep 20'
	hit disk
	run timeout 30 rein run --approve --limit disk=20M -- python3 -c '
import os, time
for i in range(400):
    os.mkdir("d"); os.chdir("d")
for i in range(3): open("f%d" % i, "wb").write(b"x" * (15 << 20))
time.sleep(20)'
	hit disk
	# that there is one says nothing yet
	run -0 rein run -q --limit disk=500M --discard -- sh -c 'mkdir d; head -c 1M /dev/zero >d/f; chmod 000 d; head -c 15M /dev/zero >g'
}

@test "limit file: one byte over it is too much, and it is not" {
	run rein run --limit file=1M -- sh -c 'head -c 2M /dev/zero >f; true'
	hit file
	run -0 rein run -q --discard --limit file=1M -- sh -c 'head -c 1M /dev/zero >f'
	# a stream that is a file of the caller's counts, unless Rein writes it
	head -c 2M /dev/zero >"$T/log"
	run sh -c 'rein run -q --discard --limit file=1M -- head -c 100 /dev/zero >>"$1"' -- "$T/log"
	[ "$status" != 0 ]
	eq kept 2097152 "$(stat -c %s "$T/log")"
	rein run -q --discard --limit file=1M,output=1G -- head -c 100 /dev/zero >>"$T/log"
	eq written 2097252 "$(stat -c %s "$T/log")"
}

@test "limit output: exactly so many bytes, then the end; a slow reader hangs nobody" {
	rein run --limit output=100000 -- yes >"$T/out" 2>"$T/err" && die "it did not end"
	eq size 100000 "$(stat -c %s "$T/out")"
	has "$(cat "$T/err")" "output limit reached"
	# both streams into one pipe, in their order
	eq order "$(seq 1 2000 | tr '\n' ' ')" \
		"$(rein run -q --limit output=1M -- sh -c 'for i in $(seq 1 2000); do echo $i; i=$((i)); done' 2>&1 | tr '\n' ' ')"
	eq both $'a\nb\nc' "$(rein run -q --limit output=1M -- sh -c 'echo a; echo b >&2; echo c' 2>&1)"
	# nobody reads: the limit of time still ends it
	run timeout 30 bash -c 'rein run -q --limit output=1M,time=500ms -- yes | { sleep 2; cat >/dev/null; }; echo ${PIPESTATUS[0]}'
	has "$output" 12
	# the reader leaves: the command hears of it as usual
	run timeout 30 bash -c 'rein run -q --limit output=1G -- yes | head -n 1; echo ${PIPESTATUS[0]}'
	eq pipe $'y\n141' "$output"
	run -0 rein run -q --limit output=10 -- printf 0123456789
	eq out 0123456789 "$output"
}

@test "limit cpu-time: all processes together, and those that are already gone" {
	run timeout 60 rein run --approve --limit cpu-time=500ms -- sh -c 'while :; do :; done & while :; do :; done'
	hit cpu-time
	run timeout 60 rein run --approve --limit cpu-time=500ms -- sh -c 'while :; do timeout 0.1 sh -c "while :; do :; done"; done'
	hit cpu-time
}

@test "limit time and idle: as --timeout and --idle-timeout" {
	run -124 timeout 30 rein run --approve --limit time=200ms -- sleep 20
	has "$output" "timed out"
	run -124 timeout 30 rein run --approve --limit idle=200ms -- sleep 20
	has "$output" "idle for too long"
}

@test "limit open-files and cpu: felt by the command, not its end" {
	run -0 rein run -q --limit open-files=50 -- python3 -c '
fs = []
try:
    while True: fs.append(open("/dev/null"))
except OSError as e: print(e.errno)'
	eq errno 24 "$output"
	run -0 rein run -q --limit cpu=50 -- sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done'
	eq out done "$output"
}

# weighs WHAT: the one group there is has this weight (cgroup v1, v2)
weighs() {
	local f
	f=$(find /sys/fs/cgroup -maxdepth 7 -path '*/rein-*' \( -name cpu.shares -o -name cpu.weight \) -user "$(id -un)" 2>/dev/null)
	case $f in */cpu.shares) [ "$(cat "$f")" = "$1" ] ;; */cpu.weight) [ "$(cat "$f")" = "$2" ] ;; *) false ;; esac
}

@test "limit cpu: a box weighs no more than its share, and never more than others" {
	run --separate-stderr rein run --json --limit cpu=20 -- true
	[[ $stderr == *'"name":"cpu","limit":20,"kept_by":"cgroup'* ]] || skip "no control group keeps it here"
	local row
	for row in "20 204 20" "100 1024 100" "150 1024 100"; do
		# shellcheck disable=SC2086 # three words
		set -- $row
		command rein run --approve -q --discard --limit "cpu=$1" -- sleep 20 &
		until_true 5 weighs "$2" "$3" || die "cpu=$1 does not weigh $2 ($3)"
		kill $!
		wait $! || true
		until_true 5 no_groups || die "groups are left"
	done
}

@test "profiles: by name, with single limits above them; unknown ones tell the known" {
	run --separate-stderr rein run --json --profile untrusted --limit memory=100M,processes=none -- true
	[ "$status" = 0 ] || die "status $status: $stderr"
	eq limits "cpu disk idle memory time" "$(python3 -c '
import json, sys
print(*sorted(x["name"] for x in json.loads(sys.argv[1].splitlines()[-1])["limits"]))' "$stderr")"
	has "$stderr" '"limit":104857600'
	run -125 rein run --profile nope -- true
	has "$output" untrusted
	run -125 rein run --limit memory=lots -- true
	has "$output" 512M
	run -125 rein run --limit wings=2 -- true
	has "$output" open-files
	run -125 rein run --limit memory -- true
}

@test "who keeps what: doctor and --json agree" {
	run --separate-stderr rein run --json --limit memory=512M,processes=64,disk=1G -- true
	local json=$stderr
	if rein doctor --json | python3 -c '
import json, sys
sys.exit(0 if [f for f in json.load(sys.stdin)["features"] if f["name"] == "cgroup"][0]["state"] == "ok" else 1)'; then
		has "$json" '"name":"memory","limit":536870912,"kept_by":"cgroup'
		has "$json" '"name":"processes","limit":64,"kept_by":"cgroup'
	else
		has "$json" '"name":"memory","limit":536870912,"kept_by":"watching"'
	fi
	has "$json" '"name":"disk","limit":1073741824,"kept_by":"watching"'
}

@test "without control groups: the same limits hold by watching" {
	is_root || skip "an ordinary user has none here anyway"
	need "kernel: mounts" unshare -m true
	# nothing is mounted at /sys/fs/cgroup: the hierarchies cannot be found
	local bare=(unshare -m sh -c 'umount -l -R /sys/fs/cgroup && exec "$@"' sh)
	run timeout 30 "${bare[@]}" rein run --limit processes=40 -- bash -c 'f() { f | f & }; f; sleep 20'
	hit processes
	has "$output" "kept by: watching"
	run timeout 30 "${bare[@]}" rein run --limit memory=64M -- python3 -c '
a = []
while True: a.append(b"x" * (4 << 20))'
	hit memory
	has "$output" "kept by: watching"
}

@test "nothing is left: no control group, no process; two at once do not meet" {
	command rein run --approve -q --limit memory=64M --discard -- sleep 0.5 &
	command rein run --approve -q --limit memory=64M,processes=10 --discard -- sleep 0.5 &
	wait
	until_true 5 no_groups || die "groups are left: $(left_groups)"
	# one that was killed leaves its group to the next
	command rein run --approve -q --limit memory=64M -- sleep 5 &
	sleep 0.3
	kill -9 $!
	wait $! || true
	sleep 0.2
	rein run -q --limit memory=64M,cpu=100,cpu-time=1m,processes=100 -- true
	until_true 5 no_groups || die "groups are left: $(left_groups)"
}

@test "limits that are never reached end nothing: the largest of sizes, times and numbers" {
	local l
	for l in disk=8388608T file=16777215T memory=16777215T output=16777215T processes=1073741824 time=5124095h; do
		run -0 rein run -q --discard --limit "$l" -- sh -c 'echo hi >x; cat x'
		eq "$l" hi "$output"
	done
	run -0 rein run -q --discard --timeout 5124095h --idle-timeout 5124095h --max-boxes 1 --queue 5124095h -- true
}
