#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# It behaves like running the command: status, streams, signals, environment, time.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

none_left() { ! pgrep -f "$1" >/dev/null; }

@test "status: the command's own, 128+n for a signal, Rein's own numbers for its own failures" {
	local n
	for n in 0 1 2 42 123 124 255; do run -"$n" rein run -q --discard -- sh -c "exit $n"; done
	run -137 rein run -q -- sh -c 'kill -9 $$'
	run -143 rein run -q -- sh -c 'kill -15 $$'
	run -139 rein run -q -- sh -c 'kill -11 $$'
	run -127 rein run -- no-such-command-here
	has "$output" no-such-command-here
	run -127 rein run -- ./no-such-file
	echo text >plain
	run -126 rein run -- ./plain
	has "$output" plain
	run -126 rein run -- /
	printf '#!/no/such/interpreter\n' >script && chmod +x script
	run -127 rein run -- ./script
	has "$output" "./script: there is no /no/such/interpreter, which its first line names"
	printf '#! /bin/sh\r\nexit 0\r\n' >script
	run -127 rein run -- ./script
	has "$output" "its lines end as on Windows"
	mkdir secrets && mv script secrets && printf '#!/bin/sh\n' >secrets/script
	run -127 rein run -- secrets/script
	has "$output" "secrets/script: it is there, but hidden in the box"
	run -125 rein run
	run -125 rein run --bogus -- true
}

@test "status: what a shell would report of a script without #!" {
	printf 'exit 7\n' >noshebang && chmod +x noshebang
	# execve says ENOEXEC; a shell would interpret it, exec does not: env(1) agrees with us
	run env ./noshebang
	local native=$status
	run rein run -q -- ./noshebang
	[ "$status" = "$native" ] || [ "$status" = 126 ] || die "status $status, natively $native"
}

@test "streams: a mebibyte of random bytes in and out of a pipe, binary and without newline" {
	head -c 1048576 /dev/urandom >"$T/random"
	rein run -q -- cat <"$T/random" >"$T/out"
	cmp "$T/random" "$T/out"
	# through pipes on both sides, both streams, kept apart
	# shellcheck disable=SC2002
	cat "$T/random" | rein run -q -- sh -c 'cat; cat "$1" >&2' sh "$T/random" 2>"$T/err" | cat >"$T/out"
	cmp "$T/random" "$T/out"
	cmp "$T/random" "$T/err"
	eq nonewline "ab" "$(printf a | rein run -q -- sh -c 'cat; printf b')"
	eq nul "6100620a" "$(printf 'a\0b\n' | rein run -q -- cat | xxd -p 2>/dev/null || printf 'a\0b\n' | rein run -q -- cat | od -An -tx1 | tr -d ' \n')"
	# an empty and a closed standard input
	eq empty 0 "$(rein run -q -- wc -c </dev/null)"
	eq closed ok "$(rein run -q -- echo ok <&-)"
}

@test "streams: /dev/stdout and /dev/stderr can be opened by name, be they pipes or files" {
	rein run -q -- sh -c 'echo e >/dev/stderr; echo o >/dev/stdout; cat /dev/stdin' >>out 2>>err <"$HOME/gitconfig"
	eq stderr e "$(cat err)"
	eq stdout o "$(head -n 1 out)"
	[ "$(wc -l <out)" -gt 1 ]
	eq pipes $'e\no' "$(rein run -q -- sh -c 'echo e >/dev/stderr; echo o >/dev/stdout' 2>&1)"
}

@test "streams: no buffering: a line comes out while the command still runs" {
	local line
	mkfifo "$T/in"
	command rein run --approve -q -- sh -c 'echo first; read -r x; echo "then $x"' <"$T/in" >"$T/out" 3>&- &
	exec 8>"$T/in"
	until_true 5 grep -q first "$T/out"
	hasnt "$(cat "$T/out")" then
	echo more >&8
	exec 8>&-
	wait $!
	eq out $'first\nthen more' "$(cat "$T/out")"
}

@test "streams: Rein's own lines go to stderr only; -q says nothing when all is well" {
	run -0 --separate-stderr rein run -- sh -c 'echo data; touch x'
	eq stdout data "$output"
	has "$stderr" "rein: exit 0"
	has "$stderr" "undo with: rein undo"
	run -0 --separate-stderr rein run -q -- sh -c 'echo data; touch y'
	eq stdout data "$output"
	eq stderr "" "$stderr"
	run -0 --separate-stderr rein run --json -- sh -c 'echo data; touch z'
	eq stdout data "$output"
	python3 -m json.tool <<<"$stderr" >/dev/null
}

@test "streams: a closed reader ends the command with SIGPIPE, as natively" {
	set +o pipefail
	rein run -q -- yes | head -n 1 >"$T/out"
	local s=("${PIPESTATUS[@]}")
	eq line y "$(cat "$T/out")"
	[ "${s[0]}" = 141 ] || [ "${s[0]}" = 1 ] || die "status ${s[0]}"
}

@test "descriptors: nothing but 0, 1 and 2 reaches the command" {
	exec 7<"$HOME/gitconfig"
	run -0 rein run -q -- sh -c 'ls /proc/self/fd'
	exec 7<&-
	# 3 is ls's own directory
	eq fds $'0\n1\n2\n3' "$output"
}

@test "signals: INT, TERM, HUP, USR1 sent to rein reach the command; its handler decides" {
	local sig pid
	for sig in INT TERM HUP USR1; do
		rm -f "$T/out"
		# a background job of a shell ignores INT, and so would the command
		python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
			rein run --approve -q -t 10s -- sh -c 'trap "echo got; exit 9" '$sig'; echo ready; while :; do sleep 0.05; done' >"$T/out" 3>&- &
		pid=$!
		until_true 5 grep -q ready "$T/out"
		kill -$sig $pid
		local s=0
		wait $pid || s=$?
		eq "output after $sig" $'ready\ngot' "$(cat "$T/out")"
		eq "status after $sig" 9 $s
	done
}

@test "background children die with the box; nothing is left running" {
	local tag="rein-cli-$$-$RANDOM" s=$SECONDS
	run -0 rein run -q -- sh -c "(exec -a $tag sleep 60) & bash -c 'exec -a $tag sleep 61' & setsid bash -c 'exec -a $tag sleep 62' & echo started" 3>&-
	[ $((SECONDS - s)) -lt 10 ]
	has "$output" started
	until_true 3 none_left "$tag" || die "left: $(pgrep -af "$tag")"
}

@test "rein's end is the box's end: no process is left, not even a dead one" {
	# what rein did not wait for becomes ours
	python3 - rein <<-'END'
		import ctypes, os, subprocess, sys
		assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0   # PR_SET_CHILD_SUBREAPER
		for i in range(20):
		    command = "sleep 50 & setsid sleep 50 & " + ("echo >made", "true")[i % 2]
		    subprocess.run([sys.argv[1], "run", "-q", "--", "sh", "-c", command], check=True)
		    try:
		        sys.exit(f"round {i}: left {os.waitpid(-1, os.WNOHANG)}")
		    except ChildProcessError:
		        pass
	END
}

@test "kill -9 of rein: the box dies, the transaction is held, no mount and no process is left" {
	local pid tag="rein-cli-$$-$RANDOM" id
	echo a >a
	command rein run --approve --commit -q -- bash -c "echo b >>a; echo n >n; echo ready; exec -a $tag sleep 60" >"$T/out" 3>&- &
	pid=$!
	until_true 5 grep -q ready "$T/out"
	eq running running "$(rein log --json | field transactions.0.state)"
	kill -9 $pid
	wait $pid 2>/dev/null || true
	until_true 3 none_left "$tag" || die "left: $(pgrep -af "$tag")"
	eq a a "$(cat a)"
	id=$(newest)
	eq state held "$(state_of "$id")"
	has "$(rein show --json "$id" | field reason)" interrupted
	has "$(rein status)" "$id"
	run -0 rein commit "$id"
	eq a ab "$(tr -d '\n' <a)"
	rein undo -q
	[ ! -e n ]
}

@test "kill -9 of rein: a run that had changed nothing does not wait, and is not in the way of what does" {
	local id pid command
	id=$(held sh -c 'echo m >m')
	for command in 'echo ready; exec sleep 60' 'echo n >n; rm n; echo ready; exec sleep 60'; do
		command rein run --approve --commit -q -- sh -c "$command" >"$T/out" 3>&- &
		pid=$!
		until_true 5 grep -q ready "$T/out"
		kill -9 $pid
		wait $pid 2>/dev/null || true
		: >"$T/out"
		eq "$command" "$id" "$(rein log --ids --state held)"
		eq state discarded "$(state_of @)"
		has "$(rein show --json @ | field reason)" interrupted
	done
	has "$(rein diff)" "created m"
	rein commit -q
	eq m m "$(cat m)"
}

@test "kill -9 of rein: what it did waits for a workspace that is not there, and no mode hides it" {
	local pid id
	command rein run --approve --commit -q -- sh -c 'echo n >n; mkdir d; echo s >d/s; chmod 0 d; echo ready; exec sleep 60' >"$T/out" 3>&- &
	pid=$!
	until_true 5 grep -q ready "$T/out"
	id=$(newest)
	run -125 rein commit "$id"
	has "$output" "is running"
	kill -9 $pid
	wait $pid 2>/dev/null || true
	mv "$W" "$W.moved"
	cd "$T"
	run -0 rein log --all
	has "$output" "interrupted: open '$W'"
	mv "$W.moved" "$W"
	cd "$W"
	has "$(rein log)" "3 created; interrupted"
	run -0 rein commit "$id"
	eq n n "$(cat n)"
	eq mode 0 "$(stat -c %a d)"
	# one that is not waited for can be thrown away
	command rein run --approve --commit -q -- sh -c 'echo m >m; echo again; exec sleep 60' >"$T/out" 3>&- &
	pid=$!
	until_true 5 grep -q again "$T/out"
	kill -9 $pid
	wait $pid 2>/dev/null || true
	mv "$W" "$W.moved"
	cd "$T"
	id=$(rein log --all --ids -n 1)
	run -0 rein discard "$id"
	eq state discarded "$(state_of "$id")"
	mv "$W.moved" "$W"
}

@test "--timeout: 124, everything is dead and rolled back, whatever was asked" {
	local tag="rein-cli-$$-$RANDOM" o
	for o in --commit --hold "--on-failure=commit"; do
		run -124 rein run $o --timeout 200ms -- bash -c "touch made; exec -a $tag sleep 60" 3>&-
		has "$output" "timed out"
		has "$output" "rolled back"
		[ ! -e made ]
	done
	none_left "$tag" || die "left: $(pgrep -af "$tag")"
	# a command that ignores TERM
	run -124 rein run -q -t 200ms -- bash -c "trap '' TERM INT HUP; exec -a $tag sleep 60" 3>&-
	none_left "$tag" || die "left: $(pgrep -af "$tag")"
	run -0 rein run -q --timeout 1h -- true
	for o in 0x 5q "" -1 1.5.5 s; do
		run -125 rein run --timeout "$o" -- true
		has "$output" "--timeout"
	done
}

@test "--idle-timeout: output keeps it alive, silence ends it" {
	run -0 rein run -q --idle-timeout 500ms -- sh -c 'for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.1; done' 3>&-
	eq lines 7 "${#lines[@]}"
	run -124 rein run --commit --idle-timeout 150ms -- sh -c 'touch made; echo x; sleep 60' 3>&-
	has "$output" idle
	[ ! -e made ]
}

@test "--idle-timeout: also the output of a process that nobody may look into keeps it alive" {
	local closed='import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)' # PR_SET_DUMPABLE
	run -0 rein run -q --idle-timeout 2s -- python3 -c "$closed
for i in range(8): time.sleep(0.5); print(i, flush=True)"
	run -124 timeout -s KILL 20 bash -c 'rein run -q --idle-timeout 2s -- python3 -c "$1"' bash "$closed; time.sleep(60)"
}

@test "--idle-timeout: orphans that end and signals to the first process keep nobody alive" {
	local text
	for text in 'while :; do (sleep 0.1 &); sleep 0.3; done' 'while :; do kill -USR1 1; sleep 0.3; done'; do
		run -124 timeout -s KILL 30 bash -c 'rein run -q --idle-timeout 2s -- sh -c "$1"' bash "$text"
	done
}

@test "environment: passes, without secrets; --env passes and sets; PWD is right" {
	export PLAIN=plain MY_TOKEN=t AWS_SECRET_ACCESS_KEY=s DB_PASSWORD=p OPENAI_API_KEY=k SSH_AUTH_SOCK=/x \
		HARMLESS=ghp_0123456789012345678901234567890123456789 DATABASE_URL=postgres://u:pw@h/d MULTI=$'two\nlines'
	run -0 rein run -q -- env
	has "$output" PLAIN=plain
	has "$output" MULTI=$'two\nlines'
	for v in MY_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD OPENAI_API_KEY SSH_AUTH_SOCK HARMLESS DATABASE_URL; do hasnt "$output" "$v="; done
	run -0 rein run -v -- true
	has "$output" "variable MY_TOKEN was not passed"
	run -0 rein run -q --env MY_TOKEN -e NEW=1=2 -e PLAIN= -- sh -c 'echo "$MY_TOKEN $NEW [$PLAIN] ${DB_PASSWORD-none} $PWD"'
	eq env "t 1=2 [] none $W" "$output"
	run -125 rein run -e =x -- true
	has "$output" "expected NAME"
	eq nothing "" "$(env -i "HOME=$HOME" "REIN_STATE=$REIN_STATE" "$(command -v rein)" run -q -- /usr/bin/printenv PLAIN)"
}

@test "--env-file: values, quotes, comments; errors name the file and the line" {
	printf '%s\n' '# comment' 'A=1' 'export B = no' >"$T/bad"
	printf '%s\n' '# comment' '' 'A=plain # tail' 'export B="two words\n"' "C='\$literal'" 'MY_TOKEN=given' >"$T/good"
	run -0 rein run -q --env-file "$T/good" -e A=last -- sh -c 'echo "$A|$B|$C|$MY_TOKEN"'
	eq values $'last|two words\n|$literal|given' "$output"
	run -125 rein run --env-file "$T/bad" -- true
	has "$output" "'$T/bad', line 3"
	printf 'A="open\n' >"$T/bad"
	run -125 rein run --env-file "$T/bad" -- true
	has "$output" "line 1: the quote is not closed"
	run -125 rein run --env-file "$T/missing" -- true
	has "$output" "$T/missing"
}

@test "current directory: kept below the workspace, and outside of it" {
	mkdir -p "a/b c" "$T/elsewhere"
	cd "a/b c"
	eq pwd "$W/a/b c" "$(rein run -q --workspace "$W" -- pwd)"
	cd "$T/elsewhere"
	eq pwd "$T/elsewhere" "$(rein run -q --workspace "$W" -- pwd)"
	run rein run -q --workspace "$W" -- touch not-writable-here
	[ "$status" -ne 0 ] && [ ! -e not-writable-here ]
	mkdir "$W/gone" && cd "$W/gone" && rmdir "$W/gone"
	run -125 rein run -- true
	has "$output" "current directory"
	cd "$W"
}

@test "limits and identity: umask, nice, rlimits and groups are the caller's" {
	local native
	native=$(umask 027; ulimit -n 99; nice -n 3 sh -c 'umask; ulimit -n; nice; id -u; id -g')
	eq limits "$native" "$(umask 027; ulimit -n 99; nice -n 3 rein run -q -- sh -c 'umask; ulimit -n; nice; id -u; id -g')"
}

@test "a umask of 777 is the command's, not that of the state" {
	# what it makes as outside, and the second run uses what the first one made
	umask 777
	mkdir native; printf x >native.f
	eq umask 0777 "$(rein run -q --commit -- sh -c 'umask; mkdir box; printf x >box.f')"
	eq umask 0777 "$(rein run -q --hold -- sh -c 'umask; mkdir more')"
	eq directory "$(stat -c '%a %u' native)" "$(stat -c '%a %u' box)"
	eq file "$(stat -c '%a %u %s' native.f)" "$(stat -c '%a %u %s' box.f)"
	rein commit -q @
	rein undo -q @
	[ ! -e more ]
	[[ $(rein audit verify) == whole:* ]]
	[ -z "$(find "$REIN_STATE" ! -path '*/upper/*' ! -path '*/work/*' ! -path '*/used/*' ! -perm -u+r)" ]
	umask 022
	rein run -q --commit -- sh -c 'echo 1 >plain'
	eq mode 644 "$(stat -c %a plain)"
}

@test "a stack too small for rein is refused with what to do; the command may have one, and boxes can be stopped" {
	echo 1 >f
	for how in "-s 64" "-s 300" "-S -s 64"; do
		# shellcheck disable=SC2016
		run -125 bash -c 'ulimit $1; rein run -- sh -c "echo 2 >f"' x "$how"
		has "$output" "rein: the stack is limited to ${how##* } KiB here, and rein needs 1024 (ulimit -s 8192)"
		run -125 bash -c 'ulimit $1; rein log --json' x "$how"
		has "$output" '"error":{'
		bash -c 'ulimit $1; rein stop --all' x "$how"
		rein start
	done
	eq unchanged 1 "$(cat f)"
	eq "as the command would have it" 64 "$(rein run -q -- sh -c 'ulimit -s 64; ulimit -s')"
	eq "as the caller has it" 1024 "$(ulimit -s 1024; rein run -q -- sh -c 'ulimit -s')"
}

@test "too few open files for rein are refused with what to do; the command may have them, and boxes can be stopped" {
	local how
	echo 1 >f
	for how in "-n 12" "-n 20" "-S -n 20"; do
		# shellcheck disable=SC2016
		run -125 bash -c 'ulimit $1; rein run --commit -- sh -c "echo 2 >f"' x "$how"
		has "$output" "rein: open files are limited to ${how##* } here, and rein needs 32 (ulimit -n 1024)"
		run -125 bash -c 'ulimit $1; rein log --json' x "$how"
		has "$output" '"error":{'
	done
	bash -c 'ulimit -n 20; rein stop --all'
	rein start
	eq unchanged 1 "$(cat f)"
	eq "as the command would have it" 12 "$(rein run -q --limit open-files=12 -- sh -c 'ulimit -n')"
	# as few as are said to be enough
	ulimit -S -n 32
	rein run -q --commit -- sh -c 'mkdir -p a/b/c; echo 2 >f; echo 3 >a/b/c/d; [ "$(ulimit -n)" = 32 ]'
	eq f 2 "$(cat f)"
	rein undo -q
	eq f 1 "$(cat f)"
}

@test "two runs at once on one workspace see their own world; the second commit sees the first as a change" {
	echo base >f
	mkfifo "$T/go"
	command rein run --approve --commit -- sh -c 'echo ready; read -r x; echo A >>f; echo a >only-a' <"$T/go" >"$T/out" 2>"$T/err" 3>&- &
	local pid=$! s=0
	exec 8>"$T/go"
	until_true 5 grep -q ready "$T/out"
	q sh -c 'echo B >>f; echo b >only-b'
	echo go >&8
	exec 8>&-
	wait $pid || s=$?
	eq status 123 $s
	has "$(cat "$T/err")" "conflict"
	has "$(cat "$T/err")" "f"
	eq f $'base\nB' "$(cat f)"
	[ ! -e only-a ] && [ -e only-b ]
	# two that do not touch the same
	rein discard -q
	mkdir d1 d2
	(for i in 1 2 3; do q sh -c "echo $i >d1/$i"; done) 3>&- &
	for i in 1 2 3; do q sh -c "echo $i >d2/$i"; done
	wait
	eq both 123123 "$(cat d1/* d2/* | tr -d '\n')"
}

@test "rein inside rein: refused with a reason or working, never silently without a box" {
	cp "$REIN_BUILD/rein" "$REIN_BUILD/rein-box" .
	run rein run -q -- ./rein run -q -- sh -c 'grep CapEff /proc/self/status'
	if [ "$status" = 0 ]; then has "$output" 0000000000000000; else has "$output" "rein:"; fi
}

@test "signals without end to the box's first process do not keep it from its work" {
	# as many as it can read away or more: which of the two it is differs from time to time
	for _ in 1 2 3 4; do
		run -3 timeout -s KILL 20 rein run --approve -q --discard -- sh -c 'perl -e "fork; fork; while (1) { kill \$_, 1 for 34..63 }" & sleep 0.3; exit 3'
	done
}
