#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One more command in a box that runs, and a look at its terminal; who may, and what it may not.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

# SOLE: sleeps that are nobody else's, whatever runs beside
more_setup() { export REIN_AGENT="" TERM=xterm-256color SOLE=$BASHPID; }
after() { command rein stop --all -q >/dev/null 2>&1 || true; }

on_tty() { python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"; }
boxes() { rein ps --json | python3 -c 'import json, sys; print(*(b["id"] for b in json.load(sys.stdin)["boxes"]))'; }
has_boxes() { [ "$(boxes | wc -w)" = "$1" ]; }
# start_box ARG...: in the background, until it is listed; its id is in $box
start_box() {
	local yes=--approve
	if [ "$1" = --no-approve ]; then yes=-v; shift; fi
	command rein run $yes "$@" 3>&- >>"$T/out" 2>>"$T/err" &
	last=$!
	until_true 10 has_boxes 1 || die "it was not listed: $(cat "$T/err")"
	box=$(boxes)
}
inside() { rein attach "$box" -- "$@"; }
# ended PID: wait for it; its status is in $st
ended() { st=0; wait "$1" || st=$?; }
gone() { ! pgrep -f "$1" >/dev/null; }

@test "a command: its streams, its status, the box's directory, variables, files and processes" {
	mkdir sub
	start_box --discard --env MARK=here -- sh -c 'cd /tmp; echo of-the-box >note; echo w >"$0/new"; sleep 91' "$W"
	until_true 5 inside test -e /tmp/note
	run -0 --separate-stderr inside sh -c 'pwd; echo "$MARK"; cat /tmp/note new; echo oops >&2'
	eq out "$(printf '%s\nhere\nof-the-box\nw' "$W")" "$output"
	eq err oops "$stderr"
	run -7 inside sh -c 'exit 7'
	run -143 inside sh -c 'kill -TERM $$'
	run -127 inside no-such-program
	run -126 inside /etc/passwd
	eq piped "$(seq 100000 | md5sum)" "$(seq 100000 | inside md5sum)"
	eq back "$(seq 100000 | md5sum)" "$(inside seq 100000 | md5sum)"
	eq end "" "$(inside cat </dev/null)"
	eq head 1 "$(inside seq 1000000 | head -1)"
	# the box's processes and no others
	run -0 inside sh -c 'cat /proc/[0-9]*/comm'
	has "$output" sleep
	has "$output" rein-box
	hasnt "$output" bats
	run -0 rein attach --approve "$box" -- sh -c 'cat /proc/1/environ 2>/dev/null || echo closed'
	eq init closed "$output"
	run -0 --separate-stderr rein attach --json "$box" -- sh -c 'echo out; exit 0'
	eq out out "$output"
	eq exit 0 "$(field exit <<<"$stderr")"
	eq id "$box" "$(field id <<<"$stderr")"
	# a descriptor of ours does not come along
	exec 7<"$T/err"
	run -0 inside ls /proc/self/fd
	eq fds "$(printf '0\n1\n2\n3')" "$output"
	exec 7<&-
}

@test "a command has what the box's first one has, and not more" {
	printf '#!/bin/sh\ngrep -E "^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)" /proc/self/status; readlink /proc/self/ns/*; cat /proc/self/cgroup; ulimit -a; umask\n' >tell
	chmod +x tell
	echo secret >.env
	start_box --discard --limit open-files=64,processes=40,memory=300M -- sh -c './tell >/tmp/first; sleep 92'
	until_true 5 inside test -s /tmp/first
	inside cat /tmp/first >"$T/first"
	inside ./tell >"$T/other"
	diff "$T/first" "$T/other"
	grep -q '^CapEff:.*0000000000000000' "$T/other"
	grep -q '^NoNewPrivs:.*1' "$T/other"
	run ! inside sh -c 'echo x >/etc/rein-attach'
	run ! inside cat .env
	run ! inside ls "$REIN_STATE"
	run ! inside unshare -Ur true
	run ! inside mount -t tmpfs none /tmp
	run ! inside sh -c 'echo x >/proc/sys/kernel/hostname'
	run -0 inside sh -c 'cat /proc/net/dev | grep -vc lo:'
	eq interfaces 2 "$output" # the two lines of its head
}

@test "its effects are the box's: committed, held, rolled back with it" {
	start_box --commit -- sh -c 'while [ ! -e go ]; do sleep 0.02; done'
	inside sh -c 'echo 1 >made; mkdir d; echo 2 >d/e'
	[ ! -e made ]
	inside touch go || true # the box may end before it does
	wait $last
	eq made 1 "$(cat made)"
	eq deep 2 "$(cat d/e)"
	start_box --commit -- sleep 93
	inside sh -c 'echo 3 >never'
	rein kill "$box"
	wait $last || true
	[ ! -e never ]
}

@test "judged by the box's policy and on the record, each an action of its own" {
	cat >"$T/p.yaml" <<-E
		version: 1
		rules:
		  - id: my.touch
		    match: {program: touch}
		    decide: ask
		    message: touching is a matter for people
		  - id: my.cp
		    match: {program: cp}
		    decide: hold
		    message: copies are looked at
	E
	start_box --no-approve --agent claude --policy "$T/p.yaml" -- sh -c 'while [ ! -e go ]; do sleep 0.02; done'
	run -120 inside sh -c 'dd if=/dev/zero of=/dev/sda'
	run -121 inside touch ran
	has "$output" "touching is a matter for people"
	has "$output" "--approve"
	inside test ! -e ran
	run -0 rein attach --approve "$box" -- touch ran
	run inside cp ran go
	wait $last || true
	eq held held "$(state_of "$(newest)")" # because of the copy
	[ ! -e go ]
	local log; log=$(rein audit log --json)
	has "$log" '"command":"touch ran"'
	has "$log" '"command":"cp ran go"'
	eq agent claude "$(rein audit log --json -t run.start -n 1 | head -1 | field agent)"
	eq starts 4 "$(rein audit log --json -t run.start | grep -c .)" # the box, test, touch, cp
	eq ends 4 "$(rein audit log --json -t run.end | grep -c .)"
	eq asked 1 "$(rein audit log --json -t approval | grep -c 'approve')"
	rein audit verify >/dev/null
	rein discard -q
	# and executions are watched where the box is
	start_box --watch --discard --json -- sh -c 'while [ ! -e go ]; do sleep 0.02; done'
	inside sh -c 'expr 40 + 2; touch /tmp/x'
	inside touch go || true # the box may be quicker to end than it
	wait $last
	has "$(tail -1 "$T/err")" '"argv":["expr","40","+","2"]'
}

@test "a terminal for the command: its own, its size, its keys" {
	start_box --discard -- sleep 94
	run -0 on_tty -s 91x33 -- rein attach "$box" -- sh -c 'tty; stty size; test -t 2 && echo all; echo "$TERM"'
	has "$output" /dev/pts/
	has "$output" "33 91"
	has "$output" all
	has "$output" xterm-256color
	run -5 on_tty 'ready=>\x03' -- rein attach "$box" -- sh -c 'trap "echo trapped; exit 5" INT; echo ready; while :; do sleep 0.05; done'
	has "$output" trapped
	run -0 on_tty '$ =>echo $-\n' '$ =>exit\n' -- env PS1='$ ' rein attach "$box" -- env PS1='$ ' bash --norc -i
	has "$output" m
	hasnt "$output" "no job control"
	# mixed: a pipe stays one
	run -0 on_tty -- sh -c 'echo in | rein attach '"$box"' -- sh -c "read -r x; test -t 0 || echo pipe \$x; test -t 1 && echo tty"'
	has "$output" "pipe in"
	has "$output" tty
}

@test "looking at the box's terminal: typing, several at once, only looking, the way back" {
	on_tty "got bye=>" -- rein run --discard -- sh -c 'echo ready; stty -echo; while read -r x; do echo "got $x"; [ "$x" = size ] && stty size; [ "$x" = bye ] && exit; done' 3>&- >"$T/first" &
	local first=$!
	until_true 10 has_boxes 1
	box=$(boxes)
	until_true 5 inside sh -c 'stty -F /dev/pts/0 -a | grep -q -- " -echo "'
	rein attach --no-input "$box" 3>&- >"$T/looker" 2>"$T/err" </dev/null &
	local looker=$!
	run -0 on_tty -s 87x21 'leads back=>one\n' 'got one=>size\n' '21 87=>\x1d\x1d\x1d' -- rein attach "$box"
	has "$output" "goes on without you"
	run -0 on_tty 'leads back=>two\n' 'got two=>bye\n' 'got bye=>' -- rein attach "$box"
	wait $looker
	wait $first || true # not in `run`: a subshell has no children to wait for
	for part in "got one" "21 87" "got two" "got bye"; do
		has "$(cat "$T/looker")" "$part"
		has "$(cat "$T/first")" "$part"
	done
	has "$(cat "$T/err")" "ended"
	# one that only looks types nothing, and one without a terminal has none to show
	start_box --discard -- sleep 95
	run -125 rein attach --no-input "$box"
	has "$output" "no terminal of its own"
	has "$output" "rein attach"
	run -125 rein attach "$box" </dev/null
	has "$output" "--no-input"
}

@test "it ends: with its caller, with the box, by the kill switch, while paused" {
	start_box --discard -- sleep 96.$SOLE
	command rein attach "$box" -- sleep 961.$SOLE 3>&- >/dev/null 2>&1 &
	local visit=$!
	until_true 5 pgrep -f "^sleep 961.$SOLE"
	kill -9 $visit
	until_true 5 gone "^sleep 961.$SOLE"
	# a signal is passed on
	command rein attach "$box" -- sh -c 'trap "exit 9" TERM; echo up; while :; do sleep 0.02; done' 3>&- >"$T/up" 2>&1 &
	visit=$!
	until_true 5 test -s "$T/up"
	kill -TERM $visit
	ended $visit
	eq passed 9 "$st"
	# paused: what is there stands still, and nothing new begins
	command rein attach "$box" -- sh -c 'while :; do echo x; sleep 0.02; done' 3>&- >"$T/lines" 2>/dev/null &
	visit=$!
	until_true 5 test -s "$T/lines"
	rein pause "$box"
	sleep 0.1
	local n; n=$(wc -c <"$T/lines")
	sleep 0.3
	eq still "$n" "$(wc -c <"$T/lines")"
	run -125 inside true
	has "$output" "rein resume"
	rein resume "$box"
	until_true 5 bash -c '[ "$(wc -c <"'"$T/lines"'")" -gt '"$n"' ]'
	# the kill switch
	command rein attach "$box" -- sleep 962.$SOLE 3>&- >/dev/null 2>"$T/visit" &
	local second=$!
	until_true 5 pgrep -f "^sleep 962.$SOLE"
	run -0 rein stop --all
	gone "^sleep 96.*[.]$SOLE" || die "left: $(pgrep -af "^sleep 96")"
	ended $visit
	eq visit 137 "$st"
	ended $second
	eq second 137 "$st"
	has "$(cat "$T/visit")" "ended"
	run -125 inside true
	has "$output" "no box"
	rein start -q
	[ -z "$(ls -A -I .spare "$REIN_STATE/live")" ] || die "left: $(ls -A -I .spare "$REIN_STATE/live")"
}

@test "stopped by the box before it executes its program, it holds nobody: not the next visitor, not the box's end" {
	local b visit
	cat >stopper.py <<-'END'
	import os, signal, sys, time
	seen, end = 0, 0
	print("begun", flush=True)
	while seen < 2 or time.monotonic() < end:  # until a second one came
	    try:
	        os.kill(-1, signal.SIGSTOP)
	    except ProcessLookupError:
	        continue
	    others = [p for p in os.listdir("/proc") if p.isdigit() and p not in ("1", str(os.getpid()))]
	    if len(others) > seen:
	        seen, end = len(others), time.monotonic() + 1
	sys.exit(7)
	END
	for b in box $(is_root && command -v crun >/dev/null && echo oci:crun); do
		: >"$T/out"
		start_box --backend "$b" --discard --timeout 20s -- python3 stopper.py
		until_true 5 test -s "$T/out"
		command rein attach "$box" -- sleep 98.$SOLE 3>&- >/dev/null 2>&1 &
		visit=$!
		sleep 0.3
		run -137 timeout 15 rein attach "$box" -- sleep 98.$SOLE
		ended $visit
		eq visit 137 "$st"
		ended $last
		eq "end of $b" 7 "$st"
	done
}

@test "refused: unknown boxes, dead ones, those of another backend, too many" {
	run -125 rein attach
	run -125 rein attach nope -- true
	has "$output" "rein ps"
	start_box --discard -- sleep 97.$SOLE
	local i
	for i in $(seq 16); do command rein attach "$box" -- sleep 971.$SOLE 3>&- >/dev/null 2>&1 & done
	until_true 40 bash -c '[ "$(pgrep -c -f "^sleep 971.$SOLE")" = 16 ]'
	run -125 inside true
	has "$output" "at most 16"
	kill -9 $last # the supervisor: everything goes with it
	until_true 5 gone "^sleep 97.*[.]$SOLE"
	run -125 inside true
	wait || true
	has_boxes 0
	if is_root && command -v runsc; then
		start_box --discard --backend oci:runsc -- sleep 97.$SOLE
		run -125 inside true
		has "$output" "nobody in it"
		rein kill "$box"
		wait || true
	fi
	[ -z "$(ls -A -I .spare "$REIN_STATE/live")" ]
}

# visit [PATH]: say "run true" at a door, as a program of one's own would
visit='
import array, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
d = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
s.connect("/proc/self/fd/%d/%s" % (d, os.path.basename(sys.argv[1])))
words = os.memfd_create("words", os.MFD_ALLOW_SEALING)
os.write(words, b"true\0")
import fcntl
fcntl.fcntl(words, 1033, 15)
what = sys.argv[2] if len(sys.argv) > 2 else "pipe"
f = [os.open("/etc/passwd", os.O_RDONLY) if what == "file" else os.open("/", os.O_RDONLY) if what == "directory" else os.pipe()[i > 0] for i in range(3)]
head = struct.pack("<IIiIII", 0x31726f64, 1, 0, 0, 0, 0) + bytes(8 + 64 + 64 + 8)
if what == "garbage": head = os.urandom(300)
s.settimeout(5)
try:
    s.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [words] + f))])
    r = s.recv(8192)
except ConnectionError:
    r = b""
print("closed" if not r else {6: "refused", 7: "started"}.get(struct.unpack("<I", r[4:8])[0], "?"))
'

@test "attackers: another user, another namespace, from inside a box, forged requests" {
	start_box --discard -- sleep 98
	inside true # the door is open now
	local door=$REIN_STATE/live/.door-$box
	[ -S "$door" ]
	eq mode "srw------- drwx------" "$(stat -c %A "$door") $(stat -c %A "$REIN_STATE/live")"
	eq honest started "$(python3 -c "$visit" "$door")"
	# only pipes get in, and only whole messages are understood
	eq file refused "$(python3 -c "$visit" "$door" file)"
	eq directory refused "$(python3 -c "$visit" "$door" directory)"
	eq garbage closed "$(python3 -c "$visit" "$door" garbage)"
	# the same user, but in a pid namespace of its own, as everybody in a box is
	if is_root; then local own=(unshare --pid --fork); else local own=(unshare -r --pid --fork); fi
	if "${own[@]}" true 2>/dev/null; then eq namespace closed "$("${own[@]}" python3 -c "$visit" "$door")"; fi
	# from inside this box and from another: it is not there
	run ! inside python3 -c "$visit" "$door"
	hasnt "$output" started
	run rein run -q --discard -- python3 -c "$visit" "$door"
	hasnt "$output" started
	# the kill signal and the poke reach nobody outside
	run ! inside sh -c "kill -URG $last || kill -9 $last"
	has_boxes 1
	is_root || return 0
	# another user, even where the state lies open
	run ! setpriv --reuid 65533 --regid 65533 --clear-groups python3 -c "$visit" "$door"
	chmod 777 "$T" "$HOME" "$REIN_STATE" "$REIN_STATE/live" "$door"
	chmod o+x "$REIN_TEST_DIR"
	run setpriv --reuid 65533 --regid 65533 --clear-groups python3 -c "$visit" "$door"
	eq other closed "$output"
	chmod 700 "$REIN_STATE" "$REIN_STATE/live"
}

@test "judged with the box's variables, not with the visitor's" {
	cat >"$T/p.yaml" <<-E
		version: 1
		rules:
		  - {id: no.touch, match: {program: touch}, decide: deny}
	E
	start_box --discard -p "$T/p.yaml" --env CMD=touch --env NONE= -- sleep 91
	for c in '$CMD seen' '${NONE-echo} touch seen'; do
		CMD=true NONE=x run inside sh -c "$c"
		eq status 120 "$status"
	done
	CMD=touch run -0 inside sh -c 'test -e seen || echo "$CMD"'
}
