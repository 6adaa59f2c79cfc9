#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One suite for every backend: the built-in box and the OCI runtimes that are installed. The same command
# gives the same files, status, streams and refusals, whoever builds the box.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

after() { command rein stop --all -q >/dev/null 2>&1 || true; }

# each NAME: for every backend that can run here
# All there are; some(): one runtime stands for the others, but with REIN_FULL.
backends() {
	echo box
	is_root || return 0
	for r in crun runc runsc; do
		if command -v "$r" >/dev/null; then echo "oci:$r"; fi
	done
}
some() {
	if [ -n "${REIN_FULL:-}" ]; then backends; else backends | grep -E 'box|crun'; fi
}
# with BACKEND ARG...: a run by it
with() { local b=$1; shift; timeout 120 bash -c 'rein run --backend "$@"' bash "$b" "$@"; }
# those that are locked are somebody else's, who lives; under the lock that new ones are made under
no_bundles() {
	[ ! -r /run/rein-oci ] || flock /run/rein-oci sh -c '
		for d in /run/rein-oci/*; do [ ! -d "$d" ] || ! flock -n "$d" true || exit 1; done'
}
none_left() {
	# those of other runs on this machine go by themselves
	until_true 15 no_bundles || die "left: $(find /run/rein-oci)"
	until_true 5 no_groups || die "left: $(left_groups)"
	! grep -q "$T.*bundle" /proc/self/mountinfo || die "a mount is left"
}

@test "backends: status, streams, directory, variables" {
	local b
	mkdir -p sub
	for b in $(backends); do
		run -42 with "$b" -q --discard -- sh -c 'exit 42'
		run -127 with "$b" -q --discard -- no-such-command
		has "$output" "command not found"
		run -127 with "$b" -q --discard -- sub/no-such-command
		has "$output" "command not found"
		: >sub/plain
		run -126 with "$b" -q --discard -- sub/plain
		has "$output" "Permission denied"
		# (with runsc the command is pid 1, which a signal of its own does not end)
		run -143 with "$b" -q --discard -- sh -c 'sh -c "kill -15 \$\$"; exit $?'
		if [ "$b" != oci:runsc ]; then
			run -137 --separate-stderr with "$b" --json --discard -- sh -c 'exit 137'
			eq "$b end" "exit 137" "$(tail -n 1 <<<"$stderr" | field end)"
		fi
		eq "$b out" "here" "$(with "$b" -q --discard -- echo here)"
		eq "$b err" "there" "$(with "$b" -q --discard -- sh -c 'echo there >&2' 2>&1 >/dev/null)"
		eq "$b in" "abc" "$(printf abc | with "$b" -q --discard -- cat)"
		eq "$b cwd" "$W/sub" "$(cd sub && with "$b" -q --discard -- pwd)"
		# (runsc has one of its own)
		if [ "$b" != oci:runsc ]; then eq "$b umask" 0707 "$(umask 707; with "$b" -q --discard -- sh -c umask)"; fi
		eq "$b env" "v w" "$(with "$b" -q --discard --env A="v w" -- sh -c 'echo "$A"')"
		none_left
	done
}

@test "backends: message queues work, and are the box's own" {
	local b
	queue_program >mq.py
	need "kernel: no message queues" python3 mq.py $$
	for b in $(backends | grep -v runsc); do # gVisor of 2022 makes them, and sends nothing
		eq "$b" hello "$(with "$b" -q --discard -- python3 mq.py $$ leave)"
		eq "$b again" hello "$(with "$b" -q --discard -- python3 mq.py $$)"
		python3 mq.py $$
	done
	none_left
}

@test "backends: what is made read-only shows nothing that is hidden" {
	local b
	mkdir sub; echo seen >.env; echo seen >sub/.env; echo f >sub/f
	for b in $(some); do
		run with "$b" -q --discard --writable --ro sub -- sh -c 'cat sub/.env; cat sub/f; echo x >sub/f'
		hasnt "$output" seen; has "$output" f; has "$output" Read-only
		printf 'version: 1\nworkspace:\n  readonly: [.]\n' >.rein.yaml
		run with "$b" -q --discard --writable -- sh -c 'cat .env sub/.env; cat sub/f; echo x >sub/f'
		rm .rein.yaml
		hasnt "$output" seen; has "$output" f; has "$output" Read-only
		command rein safe --enter -q
		run with "$b" -q --discard --writable -- sh -c 'cat .env sub/.env; cat sub/f; echo x >sub/f'
		command rein safe --lift -q
		hasnt "$output" seen; has "$output" f; has "$output" Read-only
	done
}

@test "backends: a canary at a hidden path stays hidden, and nothing is made there" {
	local b
	mkdir d; echo seen >.env; echo seen >d/n
	for b in $(ours); do
		run with "$b" -q --hold --writable --hide d --canary .env --canary d/n -- sh -c 'cat .env d/n; echo ran >made'
		hasnt "$output" seen
		eq "$b changes" "created made" "$(rein diff @ | grep '^created')"
		rein discard -q @
	done
}

@test "backends: a box whose first process somebody kills is lost, and rolled back whatever was asked" {
	local b ended pid
	for b in $(ours); do
		rm -f "$T/out" "$T/err" # the last one's words are not this one's
		command rein run --approve --backend "$b" --on-failure commit -- sh -c 'echo 1 >new; echo ready; sleep 60' 3>&- >"$T/out" 2>"$T/err" &
		pid=$!
		until_true 20 grep -q ready "$T/out" || die "$(cat "$T/err")"
		# below rein, or below the runtime that is
		kill -9 "$(pgrep -x rein-box -P "$pid,$(pgrep -P $pid -d ,)")"
		ended=0; wait $pid || ended=$?
		eq "$b status" 125 "$ended"
		has "$(cat "$T/err")" "the box was lost"
		[ ! -e new ] || die "$b: it was committed"
		none_left
	done
}

@test "backends: what is told of memory is the command's, not the runtime's" {
	is_root && command -v runc >/dev/null || skip "no runc"
	local kib
	run -0 --separate-stderr with oci:runc --json --discard -- true
	kib=$(tail -n 1 <<<"$stderr" | field max_rss_kib)
	[ "$kib" -gt 100 ] && [ "$kib" -lt 8000 ] || die "$kib"
}

@test "backends: streams are carried, not given away; a signal reaches the command" {
	local b owner
	echo abc >"$T/in"; chmod 640 "$T/in"
	owner=$(stat -c '%u %g %a %Z' "$T/in"; stat -c '%u %g' /dev/null)
	for b in $(some); do
		echo first >"$T/all"
		with "$b" -q --discard -- cat <"$T/in" >>"$T/all"
		eq "$b appended" "$(printf 'first\nabc')" "$(cat "$T/all")"
		with "$b" -q --discard -- true </dev/null >/dev/null 2>&1
		eq "$b owner" "$owner" "$(stat -c '%u %g %a %Z' "$T/in"; stat -c '%u %g' /dev/null)"
		eq "$b large" "$(seq 200000 | md5sum)" "$(seq 200000 | with "$b" -q --discard -- cat | md5sum)"
		# who is fed and does not eat
		with "$b" -q --discard -- true < <(yes)
		: >"$T/up"
		command rein run --backend "$b" -q --discard --approve -- sh -c 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done' 3>&- >"$T/up" 2>"$T/err" </dev/null &
		until_true 15 test -s "$T/up" || die "$b: $(cat "$T/err")"
		kill -TERM $!
		local st=0; wait $! || st=$?
		case $b:$st in *:9|oci:runsc:143) ;; *) die "$b: a signal came to $st";; esac # gVisor's way with pid 1
		none_left
	done
}

gone() { ! pgrep -f "$1" >/dev/null; }

@test "backends: a rein that is killed takes everything along" {
	local b n=930
	for b in $(some); do
		n=$((n + 1))
		command rein run --backend "$b" -q --discard --approve -- sh -c "echo up; sleep $n & sleep $n" 3>&- >"$T/up" 2>"$T/err" </dev/null &
		until_true 15 test -s "$T/up" || die "$b: $(cat "$T/err")"
		kill -9 $!
		wait $! || true
		until_true 10 gone "sleep $n" || die "$b: left: $(pgrep -af "sleep $n")"
		if is_root; then
			until_true 10 gone "rein-oci" || die "$b: left: $(pgrep -af rein-oci)"
			# what nobody is left to take away, the next one does
			with "$b" -q --discard -- true
		fi
		rein gc -q
		none_left
	done
}

@test "backends: the same effects: committed, held, discarded, undone" {
	local b want=""
	for b in $(backends); do
		rm -rf tree; mkdir -p tree/d
		echo one >tree/a; echo two >tree/b; echo deep >tree/d/e; ln -s a tree/l
		with "$b" -q --commit -- sh -c 'cd tree; echo more >>a; rm b; mkdir n; echo new >n/f; chmod 600 d/e; mv l m; ln a hard'
		eq "$b link" a "$(readlink tree/m)"
		local got; got=$(cd tree && find . -type d -printf '%y %p %m\n' -o -printf '%y %p %m %s\n' | sort; cat a)
		[ -n "$want" ] || want=$got
		eq "$b tree" "$want" "$got"
		rein undo -q
		eq "$b undone" two "$(cat tree/b)"
		with "$b" -q --discard -- sh -c 'echo x >tree/a'
		eq "$b discarded" one "$(cat tree/a)"
		with "$b" -q --hold -- sh -c 'echo held >tree/a' && eq "$b held" one "$(cat tree/a)"
		rein discard -q
		none_left
	done
}

# those where Rein's own executor is inside
ours() { some | grep -v runsc; }

@test "backends: each execution is noted, and what was refused" {
	local b
	printf 'version: 1\nrules:\n  - id: no-counting\n    match: {program: [wc]}\n    decide: deny\n    message: no counting here\n' >"$T/p.yaml"
	echo wc >name # nobody knows before it runs
	for b in $(ours); do
		run -0 --separate-stderr with "$b" --json --discard --watch-files -- sh -c 'true two | cat | ls -d .; touch /etc/made 2>/dev/null; true'
		python3 -c '
import json, sys
r = json.loads(sys.stdin.read().strip().split("\n")[-1])
argvs = [x["argv"] for x in r["execs"]["list"]]
assert ["cat"] in argvs and ["ls", "-d", "."] in argvs, argvs
assert [x["path"] for x in r["refused"]["list"]] == ["/etc/made"], r["refused"]' <<<"$stderr"
		rm -f "$T/out" "$T/err" # the last one's words are not this one's
		command rein run -y --backend "$b" --json --watch --agent eve -p "$T/p.yaml" -- sh -c 'touch x; $(cat name) -c </dev/null; echo status $?; sleep 1' 3>&- >"$T/out" 2>"$T/err" &
		local pid=$! st=0
		until_true 10 grep -q "is paused" "$T/err" || die "$b: $(cat "$T/err")"
		rein resume "$(rein ps --json | field boxes.0.id)"
		wait $pid || st=$?
		eq "$b status" 122 "$st"
		has "$(cat "$T/out")" "status 126"
		[ "$(tail -n 1 "$T/err" | field execs.refused)" -ge 1 ] # a shell tries along PATH
		[ ! -e x ] || die "$b: it was not rolled back"
		rein safe --lift --agent eve -q
		none_left
	done
}

@test "backends: a directory is renamed at once, a file keeps its other names, both are committed" {
	local b
	for b in $(ours); do
		rm -rf old new; mkdir -p old/sub
		echo one >old/a; ln old/a old/b; echo deep >old/sub/c
		with "$b" -q --commit -- python3 -c '
import os
os.rename("old", "new")
open("new/a", "a").write("two\n")
assert open("new/b").read() == "one\ntwo\n", "another file"'
		[ ! -e old ]
		eq "$b content" "$(printf 'one\ntwo')" "$(cat new/b)"
		eq "$b names" "$(stat -c %i new/a)" "$(stat -c %i new/b)"
		eq "$b deep" deep "$(cat new/sub/c)"
		none_left
	done
}

@test "backends: checks before a commit see one file under all its names, and it stays one" {
	local b
	printf 'version: 1\nvalidate: ["cmp f g"]\n' >"$T/p.yaml"
	for b in $(ours); do
		echo 1 >f; ln -f f g
		run -0 with "$b" -q -p "$T/p.yaml" --commit -- sh -c 'echo 2 >>f'
		eq "$b" 2 "$(tail -n 1 g)"
		[ f -ef g ]
	done
}

@test "backends: nothing outside changes, secrets are hidden, there is no network" {
	local b
	mkdir -p "$HOME/.ssh"; echo key >"$HOME/.ssh/id"; echo secret >.env; echo out >"$T/outside"
	for b in $(backends); do
		run with "$b" -q --discard -- sh -c "echo x >$T/outside; cat $HOME/.ssh/id .env; touch /etc/made /usr/made; echo x >/proc/sys/kernel/hostname; echo end"
		has "$output" end
		hasnt "$output" key
		hasnt "$output" secret
		eq "$b outside" out "$(cat "$T/outside")"
		[ ! -e /etc/made ] && [ ! -e /usr/made ]
		run with "$b" -q --discard -- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'
		[ "$status" -ne 0 ]
		has "$output" "OSError"
		run with "$b" -q --discard -- python3 -c 'import os; print(sum(p.isdigit() for p in os.listdir("/proc")))'
		[ "$output" -lt 10 ] || die "$b sees $output processes"
		run with "$b" -q --discard -- sh -c 'grep CapEff /proc/self/status'
		has "$output" 0000000000000000
	done
}

# A machine without nftables has no gate.
gated() { command rein doctor --json | python3 -c 'import json, sys; sys.exit(not any(c["name"] == "network_gate" and c["state"] == "ok" for c in json.load(sys.stdin)["features"]))'; }

@test "backends: the gate: what is named is reached and counted, the rest refused and told, a port published" {
	local b port inside
	gated || skip "kernel: it lacks what the gate needs"
	python3 -c '
import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept(); c.sendall(b"the machine itself"); c.close()' >"$T/port" 3>&- &
	local server=$!
	until_true 10 test -s "$T/port"
	port=$(cat "$T/port")
	for b in $(backends); do
		run -0 --separate-stderr with "$b" --json --discard --approve --allow-host "host.rein.internal:$port" -- python3 -c '
import socket, sys
def dial(*a):
    try: return socket.create_connection(a, 5).recv(99)
    except OSError as e: return e.errno
print(dial("host.rein.internal", int(sys.argv[1])), dial("192.0.2.1", 80), dial("127.0.0.1", int(sys.argv[1])))' "$port"
		eq "$b reached" "b'the machine itself' 111 111" "$output"
		python3 -c '
import json, sys
n = json.loads(sys.stdin.read().strip().split("\n")[-1])["network"]
assert [(x["name"], x["port"], x["why"]) for x in n["refusals"]] == [("192.0.2.1", 80, "no_name")], n
assert [(x["name"], x["received_bytes"]) for x in n["hosts"]] == [("host.rein.internal", 18)], n' <<<"$stderr"
		# a port of this machine that nobody has
		inside=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		timeout 60 "$REIN_BUILD/rein" run -y -q --discard --backend "$b" --publish "$inside:80" -- python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 80)); s.listen()
while True: c, _ = s.accept(); c.sendall(b"inside"); c.close()' 3>&- >/dev/null 2>"$T/err" &
		local pid=$!
		until_true 20 heard "$inside" || die "$b: $(cat "$T/err")"
		kill $pid
		wait $pid || true
		none_left
	done
	kill $server
	wait $server || true
}
heard() {
	[ inside = "$(python3 -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).recv(99).decode())' "$1" 2>/dev/null)" ]
}

@test "backends: limits end it and roll it back" {
	local b
	for b in $(some); do
		run with "$b" --limit time=1s -- sh -c 'echo x >t; sleep 20'
		eq "$b time" 124 "$status"
		run with "$b" --limit output=1000 -- yes
		eq "$b output" 122 "$status"
		run with "$b" --limit disk=20M -- sh -c 'cat /dev/zero >big; sleep 20'
		eq "$b disk" 122 "$status"
		[ ! -e t ] && [ ! -e big ]
		if [ "$b" != oci:runsc ]; then
			run with "$b" --idle-timeout 1s -- sh -c 'echo x >t; for i in 1 2 3 4 5 6; do sleep 0.3; echo $i; done; sleep 20'
			eq "$b idle" 124 "$status"
			has "$output" 6
		fi
		if is_root && [ "$b" != oci:runsc ]; then
			run with "$b" --limit memory=100M -- python3 -c 'a = []
while True: a.append(b"x" * (4 << 20))'
			eq "$b memory" 122 "$status"
			run with "$b" --limit processes=40 -- bash -c 'f() { f | f & }; f; sleep 20'
			eq "$b processes" 122 "$status"
		fi
		none_left
		rein safe --lift -q
	done
}

@test "backends: listed, paused, visited, killed" {
	local b id mark="sleep 91.$BASHPID" # nobody else's
	for b in $(some); do
		timeout 60 "$REIN_BUILD/rein" run -y --backend "$b" -- sh -c "echo x >k; $mark" 3>&- >/dev/null 2>"$T/err" &
		local pid=$!
		until_true 15 pgrep -f "^$mark" >/dev/null || { [ "$b" = oci:runsc ] && sleep 3; } || die "$b: $(cat "$T/err")"
		id=$(rein ps --json | field boxes.0.id)
		if [ "$b" != oci:runsc ]; then # whose processes nobody sees
			run -0 rein pause "$id"
			has "$(ps -o stat= -p "$(pgrep -f "^$mark")")" T
			run -0 rein resume "$id"
			hasnt "$(ps -o stat= -p "$(pgrep -f "^$mark")")" T
		fi
		if [ "$b" != oci:runsc ]; then
			eq "$b attach" "abc $W" "$(echo abc | rein attach "$id" -- sh -c 'read -r a; echo "$a $PWD"')"
			run -7 rein attach "$id" -- sh -c 'echo x >/etc/made; echo y >k2; exit 7'
			has "$output" "Read-only"
		fi
		run -0 rein kill "$id"
		local ended=0; wait $pid || ended=$?
		eq "$b status" 119 "$ended"
		[ ! -e k ] && [ ! -e k2 ]
		run pgrep -f "^$mark"
		eq "$b dead" 1 "$status"
		none_left
	done
}

@test "backends: what one cannot do is refused, and a missing one is named" {
	run -125 rein run --backend oci:nope -- true
	has "$output" "oci:runsc"
	if ! is_root; then
		run -125 rein run --backend oci:runc -- true
		has "$output" "as root"
		return
	fi
	run -125 rein run --backend oci:runc --whole-system -- true
	has "$output" "--whole-system"
	local o
	# what it is, whose, and what to do instead
	for o in --watch --watch-files --idle-timeout=5s --allow-socket=/run/x.sock; do
		run -125 rein run --backend oci:runsc "$o" -- true
		has "$output" "oci:runsc does not support"
		has "$output" "${o%%=*}"
		has "$output" "built-in box"
	done
	# a runtime that fails is no command that did
	printf '#!/bin/sh\necho went wrong >&2\nexit 3\n' >"$T/broken"; chmod 755 "$T/broken"
	for o in crun runsc; do
		command -v "$o" >/dev/null || continue
		run -125 unshare -m sh -c 'mount --bind "$1" "$2" && exec rein run --approve --backend "oci:$3" -- true' sh "$T/broken" "$(command -v "$o")" "$o"
		has "$output" "went wrong"
		has "$output" "$o could not start the box: it ended with status 3"
	done
	# nothing is left of a transaction that could not run
	[ -z "$(rein log --ids --state running --all)" ]
	none_left
}

@test "backends: a box of gVisor's is paused and goes on, with and without limits" {
	is_root && command -v runsc >/dev/null || skip "no runsc"
	local pid id before
	for limit in "" "--limit memory=500M"; do
		: >"$T/ticks"
		# shellcheck disable=SC2086
		timeout 60 "$REIN_BUILD/rein" run -y --discard --backend oci:runsc $limit -- sh -c 'while :; do echo x; sleep 0.05; done' 3>&- >"$T/ticks" 2>"$T/err" &
		pid=$!
		until_true 20 test -s "$T/ticks" || die "$(cat "$T/err")"
		id=$(rein ps --json | field boxes.0.id)
		run -0 rein pause "$id"
		sleep 1.5 # what is on its way may come out
		before=$(stat -c %s "$T/ticks")
		sleep 0.5
		eq still "$before" "$(stat -c %s "$T/ticks")"
		run -0 rein resume "$id"
		until_true 10 bash -c '[ "$(stat -c %s "$1")" -gt "$2" ]' bash "$T/ticks" "$before"
		run -0 rein kill "$id"
		wait $pid || true
		none_left
	done
}

@test "backends: limits are the command's: what a runtime itself needs does not count" {
	is_root || skip "only the built-in box"
	local b
	for b in $(backends | grep -v runsc); do
		eq "$b processes" one "$(with "$b" -q --discard --limit processes=1 -- echo one)"
		run -122 with "$b" -q --discard --limit processes=5 -- bash -c 'for i in 1 2 3 4 5; do sleep 0.3 & done; wait'
		eq "$b threads" five "$(with "$b" -q --discard --limit processes=5 -- bash -c 'for i in 1 2 3 4; do sleep 0.3 & done; wait; echo five')"
		eq "$b memory" little "$(with "$b" -q --discard --limit memory=4M -- echo little)"
		eq "$b open files" 8 "$(with "$b" -q --discard --limit open-files=8 -- sh -c 'ulimit -n')"
		eq "$b file" small "$(with "$b" -q --discard --limit file=1K -- echo small | cat)"
		run -122 with "$b" -q --discard --limit file=1K -- sh -c 'head -c 5000 /dev/zero >big; rm big; kill -XFSZ $$'
		rein safe --lift -q
	done
}

@test "backends: what private directories hold is disk space, too" {
	local b dir
	for b in $(some); do
		for dir in /tmp /dev/shm; do
			run -122 with "$b" -q --discard --limit disk=20M -- sh -c "for i in 1 2 3; do head -c 15000000 /dev/zero >$dir/\$i; done; sleep 20"
		done
		rein safe --lift -q
	done
	is_root && command -v runsc >/dev/null || return 0
	# of what is in gVisor's own kernel nothing is seen: there is no room for more
	run with oci:runsc -q --discard --limit disk=20M -- sh -c 'head -c 60000000 /dev/zero >/tmp/x; wc -c </tmp/x'
	has "$output" "No space left"
	has "$output" 20971520
}

@test "backends: a file that output goes to stays its owner's; streams that are closed are none of ours" {
	local b
	for b in $(backends); do
		: >"$T/out"
		! is_root || chown 1234:1234 "$T/out"
		with "$b" -q --discard -- sh -c 'echo out; echo err >&2' >"$T/out" 2>&1
		eq "$b said" "$(printf 'out\nerr')" "$(cat "$T/out")"
		! is_root || eq "$b owner" 1234:1234 "$(stat -c %u:%g "$T/out")"
		eq "$b in" end "$(with "$b" -q --discard -- sh -c 'cat; echo end' <&-)"
		run -0 bash -c 'rein run --backend "$1" -q --discard -- sh -c "echo out" >&-' bash "$b"
		run -0 bash -c 'rein run --backend "$1" -q --discard -- sh -c "echo err >&2" 2>&-' bash "$b"
	done
	# what rein opens in their place is not what it prints to
	run -125 --separate-stderr bash -c 'rein audit log >&-'
	has "$stderr" "cannot be written"
}

@test "backends: who is asked twice to end, and does not, is killed" {
	local b st begun
	for b in $(some); do
		: >"$T/up"
		command rein run --backend "$b" -q --discard --approve -- sh -c 'trap "" TERM; echo up; sleep 20' 3>&- >"$T/up" 2>"$T/err" </dev/null &
		until_true 15 test -s "$T/up" || die "$b: $(cat "$T/err")"
		begun=$SECONDS
		kill -TERM $!
		sleep 1.1
		kill -TERM $!
		st=0; wait $! || st=$?
		eq "$b status" 137 "$st"
		[ $((SECONDS - begun)) -lt 10 ]
		none_left
	done
}

@test "backends: a command that stops itself does not stop the clock" {
	local b
	for b in $(ours); do
		# in a group of its own, which rein would stop as a whole; a shell that waits for it, as an agent does
		run -124 timeout -s KILL 30 bash -mc 'rein run --backend "$1" -q --timeout 1s -- sh -c "kill -STOP \$\$; sleep 20" </dev/null >/dev/null 2>&1 & wait $!' bash "$b"
		none_left
	done
}

@test "backends: a workspace with any name; what cannot be told to a runtime is refused" {
	local b name n=0
	for name in 'a b' $'new\nline' 'ünï' 'co:lon' 'com,ma' 'back\slash' 'quo"te' '-dash'; do
		n=$((n + 1))
		mkdir -p "$W/$n/$name"
		cd "$W/$n/$name" || return
		for b in $(some); do
			rm -f made
			with "$b" -q --commit -w . -- sh -c 'pwd >made'
			eq "$b" "$W/$n/$name" "$(cat made)"
		done
	done
	cd "$W" || return
	is_root || return 0
	mkdir -p $'bad\xe9'
	for b in $(backends | grep oci); do
		run -125 with "$b" -q --commit -w $'bad\xe9' -- true
		has "$output" "not UTF-8"
	done
	if command -v runsc >/dev/null; then # the words are the runtime's only there
		run -125 with oci:runsc -q --discard -- echo $'\xff'
		has "$output" "not UTF-8"
		run -125 with oci:runsc -q --discard --env SECRET=$'hush\xff' -- true
		has "$output" "the variable 'SECRET' is not UTF-8"
		hasnt "$output" hush
	fi
	eq crun $'\xff' "$(with oci:crun -q --discard -- printf %s $'\xff')"
}

@test "backends: a runtime that does not answer holds nobody" {
	is_root && command -v crun >/dev/null || skip "no crun"
	printf '#!/bin/sh\nexec sleep 300\n' >"$T/deaf"; chmod 755 "$T/deaf"
	local begun=$SECONDS
	run -124 timeout -s KILL 60 unshare -m sh -c 'mount --bind "$1" "$2" && exec rein run --approve --timeout 1s --backend oci:crun -- true' sh "$T/deaf" "$(command -v crun)"
	[ $((SECONDS - begun)) -lt 30 ]
	[ -z "$(rein log --ids --state running --all)" ]
}

@test "backends: a runtime that names a process which is not its own has nobody killed" {
	is_root && command -v crun >/dev/null || skip "no crun"
	sleep 100 3>&- &
	local victim=$!
	cat >"$T/liar" <<-E
		#!/bin/sh
		f= v=
		while [ \$# -gt 0 ]; do case \$1 in --pid-file) f=\$2; shift ;; run|kill|delete) v=\$1 ;; esac; shift; done
		[ "\$v" = run ] || exit 0
		echo $victim >"\$f"
		exec sleep 20
	E
	chmod 755 "$T/liar"
	run -124 timeout -s KILL 60 unshare -m sh -c 'mount --bind "$1" "$2" && exec rein run --approve --timeout 1s --backend oci:crun -- true' sh "$T/liar" "$(command -v crun)"
	kill "$victim" || die "it is dead"
}

@test "backends: a canary that is opened pauses the box; where nobody can tell it is refused" {
	local b
	echo none >bird
	for b in $(ours); do
		rm -f "$T/out" "$T/err" # the last one's words are not this one's
		timeout 60 "$REIN_BUILD/rein" run -y --backend "$b" --canary bird -- sh -c 'cat bird; sleep 1; echo on' 3>&- >"$T/out" 2>"$T/err" &
		local pid=$! st=0
		until_true 10 grep -q "is paused" "$T/err" || die "$b: $(cat "$T/err")"
		sleep 1.2
		# (it may stand still before it has written what it read)
		case $(cat "$T/out") in none | '') ;; *) die "$b said: $(cat "$T/out")" ;; esac
		rein kill "$(rein ps --json | field boxes.0.id)"
		wait $pid || st=$?
		rein safe --lift -q
		none_left
	done
	is_root && command -v runsc >/dev/null || return 0
	run -125 with oci:runsc --discard --canary bird -- true
	has "$output" "does not support canaries"
}

@test "backends: the kill switch finds those that are not on the list" {
	local b mark="sleep 92.$BASHPID"
	for b in $(ours); do
		timeout 60 "$REIN_BUILD/rein" run -y --backend "$b" -- sh -c "echo x >k; $mark" 3>&- >/dev/null 2>"$T/err" &
		local pid=$! ended=0
		until_true 15 pgrep -f "^$mark" >/dev/null || die "$b: $(cat "$T/err")"
		find "$REIN_STATE/live" -type f -delete
		eq "$b found" 1 "$(rein stop --all --json | field boxes)"
		run -1 pgrep -f "^$mark"
		wait $pid || ended=$?
		eq "$b status" 119 "$ended"
		rein start -q
		none_left
	done
}

@test "backends: what is hidden cannot be opened by whoever is its owner" {
	local b
	mkdir -p "$HOME/.ssh"; echo key >"$HOME/.ssh/id"
	for b in $(backends); do
		run with "$b" -q --discard -- sh -c "chmod 700 $HOME/.ssh && echo opened; echo x >$HOME/.ssh/y && echo written"
		hasnt "$output" written
		[ "$b" = oci:runsc ] || hasnt "$output" opened # gVisor lets a directory's mode be changed where all is read-only
	done
}

@test "backends: groups of a runtime that was killed while it began are taken away by the next" {
	is_root && command -v runc >/dev/null || skip "no runc"
	local dir id="rein-dead$BASHPID"
	dir=/sys/fs/cgroup/pids$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)
	[ -d "$dir" ] && grep -q :pids: /proc/self/cgroup || dir=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	mkdir "$dir/$id" || skip "kernel: no group may be made here"
	# all that there is: it has not written anything down yet
	mkdir -p "/run/rein-oci/$id.runc"
	with oci:runc -q --discard -- true
	[ ! -e "/run/rein-oci/$id.runc" ] || die "its directory is left"
	[ ! -e "$dir/$id" ] || { rmdir "$dir/$id"; die "its group is left"; }
}
