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
	has "$output" "rein start"
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
	end_boxes
}
