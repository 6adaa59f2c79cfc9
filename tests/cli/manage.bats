#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The boxes that run: listed, looked at, paused, killed, all of them stopped at once.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

# MARK: sleeps that are nobody else's, whatever runs beside
more_setup() { export REIN_AGENT="" USER=tester MARK=$BASHPID; }
# whatever a failed test leaves running
after() { command rein stop --all -q >/dev/null 2>&1 || true; }

boxes() { rein ps --json | python3 -c 'import json, sys; print(*(b["id"] for b in json.load(sys.stdin)["boxes"]))'; }
box_count() { boxes | wc -w; }
has_boxes() { [ "$(box_count)" = "$1" ]; }
# box N FIELD
box() { rein ps --json | field "boxes.$1.$2"; }
# start_box ARG...: in the background, until it is listed
start_box() {
	local before; before=$(box_count)
	command rein run --approve "$@" 3>&- >>"$T/out" 2>>"$T/err" &
	last=$!
	until_true 10 has_boxes $((before + 1)) || die "it was not listed: $(cat "$T/err")"
}
end_boxes() { rein stop --all -q >/dev/null; rein start -q >/dev/null; wait; }

@test "ps: who, for what, how long, how much; nothing when nothing runs" {
	eq none "no box is running" "$(rein ps)"
	eq json '{"boxes":[]}' "$(rein ps --json)"
	start_box --agent claude --task bug-7 --label team=red --label x -- sh -c 'sleep 77 & sleep 78'
	until_true 5 test "$(box 0 processes)" = 3
	eq agent claude "$(box 0 agent)"
	eq task bug-7 "$(box 0 task)"
	eq labels '["team=red", "x"]' "$(box 0 labels)"
	eq state running "$(box 0 state)"
	eq network none "$(box 0 network)"
	eq workspace "$W" "$(box 0 workspace)"
	eq command "sh -c 'sleep 77 & sleep 78'" "$(box 0 command)"
	[ "$(box 0 memory)" -gt 1000000 ]
	run -0 rein ps
	has "$output" claude
	has "$output" bug-7
	hasnt "$(rein ps --agent other)" claude
	run -0 rein stats "$(boxes)"
	has "$output" "sleep 77"
	has "$output" "3 processes"
	eq parent 2 "$(rein stats --json "$(boxes)" | field tree.1.parent)"
	end_boxes
	eq none "no box is running" "$(rein ps)"
}

@test "ps: the columns stand below their names, whatever the network" {
	need "kernel: it lacks what the gate needs" rein run -q --allow-host a.example -- true
	start_box --allow-host a.example -- sleep 79
	local table head row
	table=$(rein ps)
	head=$(sed -n 1p <<<"$table") row=$(sed -n 2p <<<"$table")
	head=${head%%STATE*} row=${row%%running*}
	eq column ${#head} ${#row}
	has "$row" restricted
	end_boxes
}

@test "ps: fits the window, and what matters most goes last" {
	local width l
	start_box --agent claude --task bug-7 -- sh -c 'sleep 77; # a long command line that does not fit into a window'
	has "$(rein ps)" "not fit into a window"
	for width in 40 60 80 100 130; do
		run -0 env COLUMNS=$width rein ps
		for l in "${lines[@]}"; do [ ${#l} -le $width ] || die "${#l} of $width columns: $l"; done
		has "$output" "$(boxes)"
		has "$output" running
		has "$output" "sh -c"
		[ $width -lt 80 ] || has "$output" claude
		[ $width -lt 130 ] || has "$output" bug-7
	done
	end_boxes
}

@test "ps: a rein that was killed leaves nothing in the list" {
	start_box -- sleep 79
	kill -9 $last
	wait $last || true
	until_true 5 has_boxes 0
	[ -z "$(ls "$REIN_STATE/live")" ]
}

@test "pause and resume: everything in it stands still, its time too, and goes on" {
	local id
	for limit in "" --limit=memory=200M; do
		# shellcheck disable=SC2086
		start_box $limit --discard --timeout 8s -- sh -c 'while :; do echo x >>log; sleep 0.01; done & wait'
		id=$(boxes)
		sleep 0.3
		run -0 rein pause "$id"
		eq state paused "$(box 0 state)"
		local before; before=$(box 0 cpu_ms)
		local size; size=$(rein stats --json "$id" | field written_bytes)
		sleep 0.5
		eq cpu "$before" "$(box 0 cpu_ms)"
		eq written "$size" "$(rein stats --json "$id" | field written_bytes)"
		run -0 rein resume "$id"
		eq state running "$(box 0 state)"
		sleep 0.3
		[ "$(rein stats --json "$id" | field written_bytes)" -gt "$size" ] || die "it does not go on"
		# longer than its time is over, but it was paused
		run -0 rein pause "$id"
		[ -n "$limit" ] || sleep 8
		has_boxes 1 || die "its time ran while it was paused"
		run -0 rein kill "$id" --reason "seen enough"
		wait $last && die "it ended well"
		eq status 119 "$(wait $last; echo $?)"
		has "$(cat "$T/err")" "stopped by tester"
		has "$(cat "$T/err")" "seen enough"
		: >"$T/err"
	done
	run -125 rein pause nope
	has "$output" "rein ps"
	run -125 rein kill
	start_box -- sleep 86.$MARK
	for verb in pause resume kill stats; do run -125 rein $verb ""; done # which is how every name begins
	has_boxes 1
	end_boxes
}

@test "pause: who continues rein does not continue the box" {
	local id
	start_box --discard -- sh -c 'while :; do echo x; sleep 0.05; done'
	id=$(boxes)
	run -0 rein pause "$id"
	local size; size=$(rein stats --json "$id" | field written_bytes)
	kill -CONT $last
	kill -TSTP $last
	kill -CONT $last
	sleep 0.5
	eq written "$size" "$(rein stats --json "$id" | field written_bytes)"
	run -0 rein resume "$id"
	sleep 0.5
	[ "$(rein stats --json "$id" | field written_bytes)" -gt "$size" ] || die "it does not go on"
	end_boxes
}

@test "pause: whoever started it can end it" {
	local b ended
	for b in box $(is_root && command -v crun >/dev/null && echo oci:crun); do
		start_box --backend "$b" --commit -- sh -c 'echo 1 >new; sleep 86'
		run -0 rein pause "$(boxes)"
		kill -TERM $last
		until_true 10 has_boxes 0 || die "it waits for somebody to resume it"
		ended=0; wait $last || ended=$?
		eq status 137 "$ended"
		[ ! -e new ]
		has "$(cat "$T/err")" cancelled
		: >"$T/err"
	done
}

@test "pause: a box that has itself continued by the kernel is not let go on" {
	cat >restless.py <<-'END'
	import ctypes, signal, time
	libc = ctypes.CDLL(None)
	signal.signal(signal.SIGCONT, lambda *_: None)
	event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT)
	timer = ctypes.c_void_p()
	assert libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0
	assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 50000000, 0, 50000000), None) == 0
	while True:
	    time.sleep(0.01)
	    print("x", flush=True)
	END
	local id b
	for b in box $(is_root && command -v crun >/dev/null && echo oci:crun); do
		start_box --backend "$b" -- python3 restless.py
		id=$(boxes)
		sleep 0.3
		run -0 rein pause "$id"
		# ended, or held: a stop may have come between the timer and its signal, which is the timer's end
		stands() { has_boxes 0 || { local n; n=$(wc -l <"$T/out"); sleep 1; [ "$n" = "$(wc -l <"$T/out")" ]; }; }
		until_true 5 stands || die "it goes on: $(wc -l <"$T/out") lines"
		if has_boxes 0; then
			eq status 119 "$(wait $last; echo $?)"
			has "$(cat "$T/err")" "did not stand still"
		fi
		end_boxes
		: >"$T/err"
	done
}

@test "pause: a box that moves in bursts and stops itself before each look is found out" {
	cat >bursts.py <<-'END'
	import ctypes, os, signal, sys, time
	libc = ctypes.CDLL(None)
	signal.signal(signal.SIGCONT, lambda *_: None)
	event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT)
	for i in range(1, 150):  # a timer for each: one whose signal a stop takes away does not come again
	    timer = ctypes.c_void_p()
	    assert libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0
	    assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, i // 10, i % 10 * 100000000), None) == 0
	while True:
	    print("x", flush=True)
	    os.kill(os.getpid(), signal.SIGSTOP)
	END
	local b
	for b in box $(is_root && command -v crun >/dev/null && echo oci:crun); do
		start_box --backend "$b" -- python3 bursts.py
		until_true 5 test -s "$T/out"
		run -0 rein pause "$(boxes)"
		until_true 7 has_boxes 0 || die "it goes on: $(wc -l <"$T/out") lines"
		eq status 119 "$(wait $last; echo $?)"
		has "$(cat "$T/err")" "did not stand still"
		: >"$T/err"
		: >"$T/out"
	done
}

@test "pause: a box of many that stands still is left alone" {
	start_box --discard -- sh -c 'for i in $(seq 100); do sleep 87 & done; echo x; for i in 1 2 3 4; do while :; do :; done & done; wait'
	until_true 5 test -s "$T/out"
	local id; id=$(boxes)
	for _ in 1 2 3; do
		run -0 rein pause "$id"
		sleep 1.5
		eq state paused "$(box 0 state)"
		run -0 rein resume "$id"
	done
	end_boxes
}

@test "pause: caught between vfork and exec, again and again" {
	local id
	start_box --discard -- sh -c 'while :; do echo x; sleep 0.001; done' # dash starts its commands by vfork
	id=$(boxes)
	for _ in $(seq 10); do # no counter named i: `run` of bats sets it back, and the loop never ends
		run -0 rein pause "$id"
		run -0 rein resume "$id"
	done
	end_boxes
}

@test "kill: one box ends and is rolled back, its neighbour stays" {
	echo 1 >file
	start_box -- sh -c "echo 2 >file; sleep 80.$MARK"
	local one=$last id; id=$(boxes)
	start_box --discard -- sleep 81.$MARK
	run -0 rein kill "$id"
	wait $one || true
	eq rolled-back 1 "$(cat file)"
	has_boxes 1
	run pgrep -f "^sleep 80.$MARK"
	eq dead 1 "$status"
	[ -z "$(ls "$REIN_STATE/orders")" ]
	end_boxes
}

@test "stop: everything dead and verified, new work refused until start" {
	start_box --agent a -- sh -c 'trap "" TERM HUP INT; for i in 1 2 3 4 5; do sleep 82.$MARK & done; wait'
	start_box --agent b -- sh -c "sleep 82.$MARK; sleep 82.$MARK"
	run -0 rein stop --agent a --reason "odd behaviour"
	has "$output" "stopped: 1 box with"
	has_boxes 1
	run -119 rein run --agent a -- true
	has "$output" "odd behaviour"
	has "$output" "rein start --agent a"
	run -0 rein run --agent b -q -- true
	run -0 rein stop --all --reason drill
	has "$output" "stopped: 1 box with"
	has_boxes 0
	run pgrep -f "^sleep 82.$MARK"
	eq dead 1 "$status"
	run -119 --separate-stderr rein run --json -- true
	eq refused stopped "$(tail -n 1 <<<"$stderr" | field error.code)"
	run -0 rein start
	run -119 rein run --agent a -q -- true
	run -0 rein start --agent a
	run -0 rein run --agent a -q -- true
	run -125 rein stop
	run -125 rein stop --all --agent x
	has "$(rein audit log --type stop --json)" drill
}

@test "stop, safe: a commit that began before is waited for, one that did not look yet changes nothing" {
	mkdir w && cd w
	local lock=$REIN_STATE/orders/.changing way waiting
	mkdir -p "${lock%/*}"
	for way in "stop --all" "safe --enter"; do
		# somebody commits: the order is given at once, and answered when he is done
		flock -s "$lock" sh -c "sleep 0.4; touch '$T/done'" 3>&- &
		until_true 5 bash -c "! flock -xn '$lock' true"
		run -0 rein $way
		[ -e "$T/done" ] || die "$way did not wait"
		rm "$T/done"
		wait
		rein start -q
		rein safe --lift -q
		# somebody is about to commit: he has the lock after the order was given, and looks then
		flock -x "$lock" timeout 20 sh -c "until [ -e '$T/go' ]; do sleep 0.02; done" 3>&- &
		until_true 5 bash -c "! flock -sn '$lock' true"
		command rein run --commit -- sh -c 'echo x >f' >"$T/out" 2>&1 3>&- &
		waiting=$!
		until_true 5 bash -c "ls -l /proc/$waiting/fd | grep -q changing"
		command rein $way >/dev/null 3>&- &
		until_true 5 bash -c "ls '${lock%/*}' | grep -q -- '-all$'"
		touch "$T/go"
		wait $waiting && die "committed: $(cat "$T/out")"
		has "$(cat "$T/out")" "nothing was changed"
		wait
		[ ! -e f ] || die "changed after $way"
		rm "$T/go"
		rein start -q
		rein safe --lift -q
	done
}

@test "stop, start, safe: whom no order can reach is not said to be stopped" {
	local long v
	long=$(printf 'n%.0s' {1..120})
	for v in "stop" "start" "safe --enter" "safe --lift"; do
		# shellcheck disable=SC2086
		run -125 rein $v --agent ''
		has "$output" "--agent"
		# shellcheck disable=SC2086
		run -125 rein $v --agent 'a b'
	done
	eq nobody '{"safe_mode":[]}' "$(rein safe --json)"
	# every name that a run may have can be stopped
	run -0 rein run -q --agent "$long" -- true
	run -0 rein stop --agent "$long"
	has "$output" "rein start --agent"
	run -119 rein run -q --agent "$long" -- true
	run -0 rein start --agent "$long"
	run -0 rein safe --enter --agent "$long"
	eq named "$long" "$(rein safe --json | field safe_mode.0.agent)"
	run -0 rein safe --lift --agent "$long"
	run -125 rein run --agent "n$long" -- true
}

@test "stop and safe mode: what a refusal says to do is what lifts it" {
	local long of lift
	printf -v long 'r%.0s' {1..250}
	for of in "" "--agent eve"; do
		# shellcheck disable=SC2086
		rein stop ${of:---all} --reason "$long" >/dev/null
		run -119 rein run --agent eve -- true
		lift=$(sed -n 's/.*until: rein //p' <<<"$output")
		# shellcheck disable=SC2086
		has "$(rein $lift)" "may run again"
		run -0 rein run -q --agent eve -- true
		# shellcheck disable=SC2086
		rein safe --enter $of --reason "$long" >/dev/null
		run -2 rein run --agent eve -- sh -c 'echo x >new'
		eq changed "rein safe --lift${of:+ $of}" "$(sed -n 's/.*lifts it: \(.*\))$/\1/p' <<<"$output")"
		run -120 rein run --agent eve --net host -- true
		lift=$(sed -n 's/.*lifts it: rein //p' <<<"$output")
		# shellcheck disable=SC2086
		has "$(rein $lift)" "is lifted"
		run -0 rein run -q --agent eve -- true
	done
}

@test "stop: who is still stopped is named by start and ps, and a running box is not asked to be decided about" {
	local id
	rein stop --agent zed --reason "for a while" >/dev/null
	run -0 rein start
	has "$output" "agent zed is stopped"
	has "$output" "for a while"
	has "$output" "rein start --agent zed"
	hasnt "$output" "nothing was stopped"
	has "$(rein ps 2>&1)" "rein start --agent zed"
	# to programs, too
	rein stop --agent a/b:c -q
	run -0 --separate-stderr rein start --json
	eq started false "$(field started <<<"$output")"
	eq still "a/b:c zed" "$(python3 -c 'import json, sys; print(*sorted(x["agent"] for x in json.load(sys.stdin)["stopped"]))' <<<"$output")"
	run -0 --separate-stderr rein start --json --agent a/b:c
	eq started true "$(field started <<<"$output")"
	eq reason "for a while" "$(field stopped.0.reason <<<"$output")"
	rein stop --all -q
	eq everybody null "$(rein start --json --agent zed | field stopped.0.agent)"
	rein stop --agent zed -q
	eq all "true zed" "$(rein start --json | python3 -c 'import json, sys; x = json.load(sys.stdin); print(str(x["started"]).lower(), *(y["agent"] for y in x["stopped"]))')"
	has "$(rein start --agent zed 2>&1)" "may run again"
	eq nobody "nothing was stopped" "$(rein start 2>&1)"
	hasnt "$(rein ps 2>&1)" zed
	start_box -- sh -c "echo 1 >new; sleep 84.$MARK"
	id=$(rein ps --json | field boxes.0.id)
	for v in status log show; do
		run -0 rein $v
		has "$output" "not ended yet"
		hasnt "$output" "only times"
		hasnt "$output" "rein commit"
	done
	has "$(rein status)" "rein kill ID"
	rein kill "$id"
}

@test "stop: a paused box dies too" {
	start_box --limit memory=200M -- sleep 83.$MARK
	run -0 rein pause "$(boxes)"
	run -0 rein stop --all
	run pgrep -f "^sleep 83.$MARK"
	eq dead 1 "$status"
	rein start -q
}

@test "pause: a box that stands still dies with its rein" {
	local b
	for b in box $(if is_root && command -v crun >/dev/null; then echo oci:crun; fi); do
		start_box --backend "$b" --limit memory=200M -- sleep 85.$MARK
		until_true 10 pgrep -f "^sleep 85.$MARK"
		run -0 rein pause "$(boxes)"
		kill -9 $last
		wait $last || true
		until_true 5 bash -c '! pgrep -f "^sleep 85.$MARK"' || die "$b: it lives on: $(pgrep -af "^sleep 85.$MARK")"
		# the next one takes away what a runtime left of itself, and the group
		rein run -q --approve --discard --backend "$b" --limit memory=200M -- true
	done
}

@test "stop: without registry and state, and where nothing can be written" {
	start_box -- sleep 84.$MARK
	rm -rf "$REIN_STATE/live" "$REIN_STATE/orders"
	run -0 rein stop --all
	has "$output" "stopped: 1 box with"
	rein start -q; wait
	start_box -- sleep 84.$MARK
	chmod -R u+rwX "$REIN_STATE"
	rm -rf "$REIN_STATE"
	run -0 rein stop --all
	has "$output" "stopped: 1 box with"
	run pgrep -f "^sleep 84.$MARK"
	eq dead 1 "$status"
	rein start -q; wait
	is_root || return 0
	# the state's file system is full to the last inode
	run -0 unshare -m bash -c 'set -e
		mkdir -p "$REIN_STATE"; mount -t tmpfs -o nr_inodes=400 state "$REIN_STATE"; cd "$1"
		rein run -- sleep 84.$MARK 2>/dev/null & sleep 0.5
		i=0; while : >"$REIN_STATE/fill-$i"; do i=$((i + 1)); done 2>/dev/null
		rein stop --all --reason "no disk" || { echo "stop: $?"; exit 1; }
		pgrep -f "^sleep 84.$MARK" && exit 2
		rm -f "$REIN_STATE"/fill-*
		status=0; rein run -- true || status=$?
		[ $status = 119 ] || { echo "not refused: $status"; exit 3; }
		rein start; rein run -q -- true; wait' bash "$W"
	has "$output" "stopped: 1 box with"
	has "$output" "no disk"
}

@test "kill, stop: a box that no order can be written for dies all the same, also one that is paused" {
	start_box -- sleep 84.$MARK
	rm -rf "$REIN_STATE/orders"; echo >"$REIN_STATE/orders"
	run -0 rein kill "$(boxes)"
	has "$output" "could not be written down"
	run pgrep -f "^sleep 84.$MARK"
	eq dead 1 "$status"
	local ended=0
	wait $last || ended=$?
	eq lost 125 "$ended"
	echo secret >canary
	start_box --canary canary -- sh -c 'cat canary; sleep 84'
	until_true 10 grep -q "is paused" "$T/err" || die "$(cat "$T/err")"
	ended=0
	run -0 rein stop --all
	wait $last || ended=$?
	eq stopped 119 "$ended"
	rein start -q
	rm "$REIN_STATE/orders"
}

@test "stop: a hundred boxes with a thousand processes, dead and verified" {
	local i
	for ((i = 0; i < 100; i++)); do
		command rein run -q --discard -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 85.$MARK & done; wait' 3>&- 2>/dev/null &
	done
	until_true 60 has_boxes 100
	until_true 60 bash -c '[ "$(pgrep -c -f "sleep 85.$MARK")" -ge 800 ]'
	run -0 rein stop --all --json
	echo "# $output" >&3
	eq boxes 100 "$(field boxes <<<"$output")"
	[ "$(field processes <<<"$output")" -ge 1000 ]
	eq left 0 "$(field left <<<"$output")"
	# half a second on a machine that does nothing else; three on one that does
	[ "$(field wall_ms <<<"$output")" -lt 3000 ] || die "took $(field wall_ms <<<"$output") ms"
	run pgrep -f "^sleep 85.$MARK" # the boxes' processes; their supervisors report and go
	eq dead 1 "$status"
	wait
	rein start -q
}

@test "max-boxes: refused when full, or waits for a place" {
	start_box --max-boxes 2 -- sleep 86
	start_box --max-boxes 2 -- sleep 86
	run -125 rein run --max-boxes 2 -- true
	has "$output" "--queue"
	REIN_MAX_BOXES=2 run -125 rein run -- true
	run -0 rein run -q -- true
	( sleep 0.5; rein kill "$(boxes | cut -d' ' -f1)" ) 3>&- &
	run -0 rein run -q --max-boxes 2 --queue 10s -- true
	run -125 rein run --max-boxes 1 --queue 100ms -- true
	has "$output" "all the time"
	hasnt "$output" "--queue"
	end_boxes
}

@test "max-boxes: checks before a commit run in the place of their command" {
	printf 'version: 1\nvalidate: ["true"]\n' >"$T/p.yaml"
	start_box -p "$T/p.yaml" --max-boxes 1 --commit -- sh -c 'echo 1 >worked; sleep 1'
	local first=$last ended=0
	start_box -- sleep 86
	wait $first || ended=$?
	eq status 0 "$ended"
	[ -e worked ] || die "its work is lost: $(cat "$T/err")"
	end_boxes
}

@test "stop, safe: what waits when the order comes does not begin, what is done is not committed" {
	local order requests
	eves() { command rein audit log --json | grep -c '"eve"' || true; }
	later_than() { [ "$(eves)" -gt "$1" ]; }
	for order in "stop --agent eve" "safe --enter --agent eve"; do
		start_box -- sleep 2
		requests=$(eves)
		rein run --agent eve --max-boxes 1 --queue 20s --commit -- sh -c 'echo 1 >waited' 3>&- >"$T/out" 2>&1 &
		local waits=$! status=0
		until_true 10 later_than "$requests" # on the record: it was admitted, and looked at safe mode
		# shellcheck disable=SC2086
		run -0 command rein $order
		wait $waits || status=$?
		eq "$order" 119 "$status"
		has "$(cat "$T/out")" "--agent eve" # who takes it back must say whose it is
		[ ! -e waited ] || die "it ran after: $order"
		rein start -q --agent eve
		rein safe -q --lift --agent eve
		wait
	done
	start_box --agent eve --commit -- sh -c 'echo 1 >done; sleep 1'
	local ended=0
	run -0 rein safe --enter --agent eve
	wait $last || ended=$?
	eq status 119 "$ended"
	has "$(cat "$T/err")" "nothing was changed: safe mode began"
	[ ! -e "done" ]
	eq state held "$(state_of "$(newest)")"
	# a person's word stands above it
	run -0 rein commit "$(newest)"
	[ -e "done" ]
}
