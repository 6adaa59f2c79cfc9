#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --warm: an overlay that serves more than one run, and never one that is not true any more.
# shellcheck disable=SC2016
load helper

more_setup() {
	mkdir -p a/b/c d
	echo one >a/one
	echo two >a/b/two
	echo '#!/bin/sh' >a/b/c/script
	ln -s one a/link
}

nobody_holds() { [ -z "$(ls "$REIN_STATE/warm" 2>/dev/null)" ]; }

after() {
	touch "$W/over" # whoever holds something lets go
	until_true 10 nobody_holds || die "something is held: $(ls -A "$REIN_STATE/warm")"
}

# look COMMAND...: run it warm; "true" or "false" first, whether it was
look() {
	rein run --json --writable --warm 1m -- "$@" 2>&1 >/dev/null | field warm
}
# The tree as a box sees it, and as it is.
inside='find . -printf "%p %y %m %s %l\n" | LC_ALL=C sort; find . -type f -exec cat {} +'
same() {
	rein run -q --writable --warm 1m -- sh -c "$inside" >"$T/in"
	sh -c "$inside" >"$T/real"
	diff "$T/real" "$T/in" || die "the box sees something else"
}

@test "warm: the second run has the first one's overlay, and sees the same" {
	eq first false "$(look true)"
	eq second true "$(look ls)"
	same
	eq third true "$(look true)"
	eq without false "$(rein run --json -- true 2>&1 | field warm)"
	eq again true "$(look true)"
	[ -z "$(rein log --ids)" ] || die "something was recorded as a change"
}

@test "warm: whatever changes outside, the next run sees it" {
	local change
	for change in 'echo more >>a/one' 'echo new >a/new' 'rm a/new' 'chmod 700 a/b/c/script' 'chmod 500 a/b' \
		'chmod 755 a/b' 'mv a/b/two a/two' 'mv a/b d/b' 'rm -r d/b' 'mkdir -p x/y/z' 'ln -sfn two a/link' \
		'printf x | dd of=a/one conv=notrunc status=none' 'cp a/one t && mv t a/one' 'touch -d 2001-01-01 a/one' 'chmod 711 .'; do
		look true >/dev/null
		eq "before: $change" true "$(look true)"
		sh -c "$change"
		eq "after: $change" false "$(look true)"
		same
	done
}

@test "warm: a file becomes executable outside, and can be executed" {
	chmod 644 a/b/c/script
	run -126 rein run -q --writable --warm 1m -- ./a/b/c/script
	run -126 rein run -q --writable --warm 1m -- ./a/b/c/script
	chmod 755 a/b/c/script
	run -0 rein run -q --writable --warm 1m -- ./a/b/c/script
}

@test "warm: git status, log and diff change nothing" {
	git init -q . && git add -A && git commit -qm one
	echo changed >a/one
	git status >/dev/null
	eq first false "$(look git status)"
	eq second true "$(look git log -p)"
	eq third true "$(look git diff)"
	eq fourth true "$(look git status)"
	eq status "$(GIT_OPTIONAL_LOCKS=0 git status)" "$(rein run -q --writable --warm 1m -- git status)"
}

@test "warm: a change inside is committed and undone as ever, and the next run sees it" {
	look true >/dev/null
	eq before true "$(look true)"
	rein run -q --commit --writable --warm 1m -- sh -c 'echo inside >a/one; rm a/b/two; mkdir e; echo f >e/f'
	eq committed inside "$(cat a/one)"
	[ ! -e a/b/two ]
	same
	rein undo -q
	eq undone one "$(cat a/one)"
	same
	# thrown away: nothing of it is in the next one
	rein run -q --discard --writable --warm 1m -- sh -c 'echo gone >a/gone'
	same
	rein run -q --hold --writable --warm 1m -- sh -c 'echo kept >a/kept' || true
	same
	rein commit -q
	eq kept kept "$(cat a/kept)"
	same
}

@test "warm: what was made and removed inside leaves nothing for the next" {
	look true >/dev/null
	rein run -q --writable --warm 1m -- sh -c 'echo x >a/x; rm a/x; mkdir q; rmdir q'
	same
	same
}

@test "warm: another set of hidden files is another overlay; a new secret is hidden at once" {
	look true >/dev/null
	eq same true "$(look true)"
	eq hidden false "$(rein run --json --writable --warm 1m --hide "$W/a" -- true 2>&1 | field warm)"
	run ! rein run -q --writable --warm 1m --hide "$W/a" -- cat a/one
	eq shown one "$(rein run -q --writable --warm 1m -- cat a/one)"
	eq still true "$(look true)"
	echo TOKEN=x >a/.env
	run ! rein run -q --writable --warm 1m -- cat a/.env
	run ! rein run -q --writable --warm 1m -- cat a/.env
	look true >/dev/null
	eq masked true "$(look true)"
	run ! rein run -q --writable --warm 1m -- cat a/.env
	[ -z "$(rein run -q --writable --warm 1m -- ls -A a | grep env)" ]
}

@test "warm: two at once do not have the same one" {
	look true >/dev/null
	local i
	for i in 1 2 3 4 5 6; do
		rein run -q --commit --writable --warm 1m -- sh -c "echo $i >made-$i; cat a/one a/b/two" >"$T/out-$i" &
	done
	wait
	for i in 1 2 3 4 5 6; do
		eq "what $i made" "$i" "$(cat "made-$i")"
		eq "what $i saw" $'one\ntwo' "$(cat "$T/out-$i")"
	done
	same
}

@test "warm: its time is over" {
	rein run -q --writable --warm 200ms -- true
	until_true 10 nobody_holds || die "it is still held"
	eq cold false "$(look true)"
}

@test "warm: a holder that was killed leaves nothing that matters" {
	rein run -q --writable --warm 1m -- true
	ls "$REIN_STATE/warm" | grep -q .
	local p
	for p in $(pgrep -u "$(id -u)" -x rein-warm); do
		if tr '\0' '\n' <"/proc/$p/environ" | grep -qxF "REIN_STATE=$REIN_STATE"; then kill -9 "$p"; fi
	done
	eq cold false "$(look true)"
	eq warm true "$(look true)"
	touch d/changed
	until_true 10 nobody_holds
	mkdir -p "$REIN_STATE/warm/0123456789abcdef/r0/upper"
	rein gc -q 2>/dev/null || rein gc >/dev/null
	nobody_holds || die "gc left it: $(ls "$REIN_STATE/warm")"
}

@test "warm: with files of several names, with several trees and with another backend it does nothing" {
	ln a/one a/second
	look true >/dev/null
	eq links false "$(look true)"
	rm a/second
	mkdir "$T/other"
	rein run -q --writable --warm 1m --rw "$T/other" -- true
	eq trees false "$(rein run --json --writable --warm 1m --rw "$T/other" -- true 2>&1 | field warm)"
	nobody_holds
}

@test "warm: a policy says it for every run" {
	printf 'version: 1\nwarm: 1m\n' >.rein.yaml
	rein run -q --writable -- true
	eq policy true "$(rein run --json --writable -- true 2>&1 | field warm)"
	printf 'version: 1\nwarm: soon\n' >.rein.yaml
	run -125 command rein policy check
	has "$output" .rein.yaml:2
}

@test "warm: nothing of it can be reached from inside, and its output ends with the run" {
	look true >/dev/null
	run ! rein run -q --writable --warm 1m -- ls "$REIN_STATE/warm"
	eq pipe done "$(timeout 20 sh -c 'rein run -q --writable --warm 1m -- true | cat; echo done')"
	rein run -q --writable --warm 1m -- sh -c 'ls -l /proc/self/fd' >"$T/fds"
	[ "$(grep -c ' -> ' "$T/fds")" -le 5 ] || die "more descriptors than natively: $(cat "$T/fds")"
}
