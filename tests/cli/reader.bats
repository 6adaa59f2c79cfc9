#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Commands that only read: the trees themselves, read-only. The verdict is a wall, not a promise.
load helper

more_setup() {
	mkdir -p a/b
	echo one >a/one
	echo two >a/b/two
}

reads() { rein run --json "$@" 2>&1 >/dev/null | sed -n 's/.*"reads":\([a-z]*\).*/\1/p'; }

@test "reader: what only reads is shown the tree itself, and leaves nothing" {
	for text in 'cat a/one' 'ls -R' 'grep -r one .' 'find . -type f' 'sh -c "wc -l a/one | sort; [ 1 = 1 ]"' 'true'; do
		eq "$text" true "$(eval "reads -- $text")"
	done
	eq same "$(find . -printf '%p %y %m %s %i\n' | sort)" "$(rein run -q -- find . -printf '%p %y %m %s %i\n' | sort)"
	eq log "" "$(rein log)"
	eq left "" "$(ls "$REIN_STATE/txn" "$REIN_STATE/live" 2>/dev/null | grep -v :)"
	has "$(rein run -v -- cat a/one 2>&1)" "read-only (--writable makes it copy-on-write)"
}

@test "reader: whoever may write gets a layer to write to" {
	for text in 'touch x' 'sed -i s/one/1/ a/one' 'sh -c "cat a/one >x"' 'sort -o x a/one' 'python3 -c "print(1)"' 'test -w a/one' \
		'find . -writable' 'find . -delete' 'make -n' 'tee x' 'git init' 'bash'; do
		eq "$text" false "$(eval "reads --discard -- $text" </dev/null)"
	done
	eq writable false "$(reads --writable -- cat a/one)"
	eq more false "$(reads --rw "$HOME" -- cat a/one)"
	eq whole false "$(reads --whole-system -- cat a/one)"
}

@test "reader: a program that was taken for one and writes is refused" {
	mkdir "$HOME/bin"
	printf '#!/bin/sh\necho in >a/one; rm -rf a; touch x; chmod 777 .; ls' >"$HOME/bin/cat"
	chmod +x "$HOME/bin/cat"
	before=$(find . -printf '%p %m %T@ %C@\n')
	PATH=$HOME/bin:$PATH run rein run -- cat a/one
	has "$output" "Read-only file system"
	has "$output" "no changes"
	eq tree "$before" "$(find . -printf '%p %m %T@ %C@\n')"
}

@test "reader: something is hidden, so an overlay hides it" {
	echo SECRET >a/.env
	eq hidden false "$(reads -- ls -A a)"
	hasnt "$(rein run -q -- ls -A a)" .env
	rm a/.env
	eq named false "$(reads --hide "$W/a/one" -- ls -A a)"
	hasnt "$(rein run -q --hide "$W/a/one" -- ls -A a)" one
	eq none true "$(reads -- ls -A a)"
}

@test "reader: git looks at its repository, and its index stays as it is" {
	git init -q .; git add -A; git commit -qm one; echo more >>a/one
	touch -d '2001-01-01' a/b/two
	for text in 'git status --short' 'git diff' 'git log --oneline' 'git show HEAD' 'git blame HEAD a/one' 'git grep one' 'git ls-files -s'; do
		bare=$($text)
		before=$(stat -c '%i %Y %Z' .git/index)
		eq "$text" "$bare" "$(rein run -q -- $text)"
		eq "$text" true "$(reads -- $text)"
		eq "$text: index" "$before" "$(stat -c '%i %Y %Z' .git/index)"
	done
}

@test "reader: a worktree's repository is shown, too" {
	git init -q .; git add -A; git commit -qm one; git worktree add -q "$T/tree" -b two
	cd "$T/tree"
	eq status "$(git status)" "$(rein run -q -- git status)"
	eq read true "$(reads -- git log)"
}

@test "reader: sockets of the tree lead nowhere, fifos and its own files cannot be written" {
	need "no python3" python3 -c 'import socket'
	python3 - "$W/sock" <<'P' &
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); s.settimeout(20)
try: s.accept(); open(sys.argv[1] + ".reached", "w")
except TimeoutError: pass
P
	server=$!
	until [ -S sock ]; do sleep 0.05; done
	mkfifo fifo
	mkdir "$HOME/bin"
	printf '#!/bin/sh\npython3 -c "import socket; socket.socket(socket.AF_UNIX).connect(\\"sock\\")"; timeout 1 sh -c "echo x >fifo"; echo x >>a/one' >"$HOME/bin/cat"
	chmod +x "$HOME/bin/cat"
	PATH=$HOME/bin:$PATH run ! rein run -q -- cat a/one
	kill "$server"
	[ ! -e sock.reached ]
	eq file one "$(cat a/one)"
}

@test "reader: with limits, watched, on behalf of somebody in safe mode" {
	eq limits true "$(reads --limit memory=256M,processes=64,disk=64M -- cat a/one)"
	eq watched true "$(reads --watch --watch-files -- cat a/one)"
	has "$(rein run --json --watch -- cat a/one 2>&1 >/dev/null)" '"cat"'
	eq one one "$(rein run -q --timeout 20s --idle-timeout 10s -- cat a/one)"
}

@test "reader: on the record like every other" {
	rein run -q -- cat a/one
	has "$(rein audit log 2>&1)" "cat a/one"
}

@test "git status where something is hidden makes no transaction, and an undo means the run before it" {
	git init -q
	echo KEY=1 >.env
	echo a >seen
	git add seen
	git commit -qm a
	q sh -c 'echo b >made'
	touch -d '1 hour ago' seen
	run -0 rein run -- git status --short
	has "$output" "no changes"
	hasnt "$output" " M "
	rein undo
	[ ! -e made ]
}
