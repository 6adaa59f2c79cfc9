# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # boxed commands expand in the box; cases are called by name
# What a user relies on, tried on a stock system: run, commit, undo, conflicts, hidden files,
# terminals, walls. Runs as the ordinary user and once more as root.
set -u
. /job/suite/lib.sh

# A run that is held on purpose may end with the command's status or with 121.
held_by() {
	rein run --approve --hold "$@" || ends 121 sh -c "exit $?"
}

boxed() {
	rein run --approve --discard -q -- "$@"
}

commits() {
	echo old > changed
	echo gone > deleted
	rein run --approve --commit -q -- sh -c 'echo new > created; echo more >> changed; rm deleted'
	[ "$(cat created)" = new ]
	[ "$(cat changed)" = "old
more" ]
	[ ! -e deleted ]
}

discards() {
	echo old > file
	rein run --approve --discard -q -- sh -c 'echo new > file; mkdir d; rm -rf ./*; echo x > y'
	[ "$(cat file)" = old ]
	[ "$(ls -A)" = file ]
}

holds_then_commits() {
	held_by -q -- sh -c 'echo held > f'
	[ ! -e f ]
	rein diff @ | has '+held'
	rein commit @
	[ "$(cat f)" = held ]
}

undoes_and_redoes() {
	mkdir d
	echo one > d/f
	rein run --approve --commit -q -- sh -c 'echo two > d/f; mv d/f d/g; echo new > n'
	rein undo
	[ "$(cat d/f)" = one ]
	[ ! -e n ] && [ ! -e d/g ]
	rein redo
	[ "$(cat d/g)" = two ] && [ -e n ]
}

reads_warm() {
	mkdir -p a/b
	echo one > a/b/f
	rein run --approve -q --writable --warm 1m -- cat a/b/f
	rein run --approve --json --writable --warm 1m -- cat a/b/f 2>&1 | has '"warm":true'
	rein run --approve --commit -q --warm 1m -- sh -c 'echo two > a/b/f'
	[ "$(cat a/b/f)" = two ]
	rein run --approve -q --writable --warm 1m -- cat a/b/f | has two
	echo three > a/b/f
	rein run --approve -q --writable --warm 1m -- cat a/b/f | has three
	touch a/over
}

reads_only() {
	echo one > f
	rein run --json -- cat f 2>&1 | has '"reads":true'
	rein run -q -- cat f | has one
}

conflict_changes_nothing() {
	echo base > f
	held_by -q -- sh -c 'echo inside > f; echo other > o'
	sleep 0.1
	echo outside > f
	ends 123 rein commit @
	[ "$(cat f)" = outside ]
	[ ! -e o ]
}

undo_keeps_later_work() {
	echo base > f
	rein run --approve --commit -q -- sh -c 'echo inside > f'
	sleep 0.1
	echo later > f
	ends 123 rein undo
	[ "$(cat f)" = later ]
}

hides_secrets() {
	echo TOKEN=1 > .env
	mkdir -p sub/secrets
	echo key > sub/secrets/k
	echo pem > a.pem
	boxed sh -c '! cat .env; ! cat sub/secrets/k; ! cat a.pem; [ ! -e .env ] && [ ! -e a.pem ]'
	[ "$(ls -A)" = ".env
a.pem
sub" ]
}

secret_is_never_overwritten() {
	echo TOKEN=1 > .env
	rein run --approve --commit -q -- sh -c 'echo mine > .env' || true
	[ "$(cat .env)" = TOKEN=1 ]
}

home_secrets_hidden() {
	mkdir -p "$HOME/.ssh"
	echo key > "$HOME/.ssh/id_test"
	no boxed cat "$HOME/.ssh/id_test"
	rm "$HOME/.ssh/id_test"
}

renames_existing_directory() {
	mkdir -p d/e
	echo x > d/e/f
	rein run --approve --commit -q -- mv d moved
	[ "$(cat moved/e/f)" = x ] && [ ! -e d ]
	rein run --approve --commit -q -- python3 -c 'import os; os.rename("moved", "again")'
	[ "$(cat again/e/f)" = x ] && [ ! -e moved ]
}

hard_links_stay_joined() {
	echo one > a
	ln a b
	rein run --approve --commit -q -- sh -c 'echo two >> a'
	[ "$(stat -c %i a)" = "$(stat -c %i b)" ]
	[ "$(tail -n 1 b)" = two ]
}

metadata_is_kept() {
	echo x > f
	setfattr -n user.note -v yes f
	rein run --approve --commit -q -- sh -c 'chmod 0751 f; touch -d @1000000000 f; setfattr -n user.two -v 2 f'
	[ "$(stat -c '%a %Y' f)" = "751 1000000000" ]
	getfattr -d f | has 'user.two="2"'
	getfattr -d f | has 'user.note="yes"'
	getfattr -d -m - f > ../attributes 2>/dev/null
	no grep overlay ../attributes
}

status_is_the_commands() {
	ends 7 boxed sh -c 'exit 7'
	ends 143 boxed sh -c 'kill -TERM $$'
	ends 127 boxed no-such-program-anywhere
}

passes_bytes_through() {
	head -c 200000 /dev/urandom > ../bytes
	boxed cat < ../bytes > ../back
	cmp ../bytes ../back
}

terminal_works() {
	script -qec "rein run --approve --discard -q -- sh -c 'test -t 0 && test -t 1 && tty && echo is-a-terminal'" \
		/dev/null < /dev/null | has is-a-terminal
}

timeout_rolls_back() {
	ends 124 rein run --approve --commit -q --timeout 2s -- sh -c 'echo x > f; sleep 60'
	[ ! -e f ]
}

background_children_die() {
	boxed sh -c 'sleep 4321 & echo started'
	no pgrep -f 'sleep 4321'
}

box_dies_with_rein() {
	rein run --approve --discard -q -- sleep 4322 &
	tries=0
	until pgrep -f '^sleep 4322' || [ $tries = 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	pgrep -f '^sleep 4322' > /dev/null
	kill -9 $!
	tries=0
	while pgrep -f '^sleep 4322' && [ $tries -lt 50 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	no pgrep -f '^sleep 4322'
}

git_works() {
	git init -q .
	git config user.name u
	git config user.email u@example.invalid
	echo x > f
	rein run --approve --commit -q -- sh -c 'git add f && git commit -qm one && git checkout -qb b && git gc -q'
	git fsck
	git log --oneline b | has one
	[ -z "$(git status --short)" ]
}

log_and_status_speak() {
	rein run --approve --commit -q -- sh -c 'echo x > f'
	rein log
	rein log --json | python3 -c 'import json, sys; json.load(sys.stdin)'
	rein status --json | python3 -c 'import json, sys; json.load(sys.stdin)'
	rein show @ | has f
}

doctor_speaks_json() {
	rein doctor > ../doctor || true
	[ -s ../doctor ]
	rein doctor --json | python3 -c 'import json, sys; json.load(sys.stdin)'
}

landlock_is_on() {
	grep -q landlock /sys/kernel/security/lsm || skip "this kernel has no Landlock"
	rein doctor | grep -i landlock | no grep -iE 'missing|not available|unavailable|no Landlock'
	rein doctor | has landlock
}

leaves_nothing_behind() {
	seen() {
		cut -d' ' -f5- /proc/self/mountinfo
		find /sys/fs/cgroup -type d
		ls -A /tmp /dev/shm
		pgrep -x 'rein|rein-box'
	}
	seen > ../before || true
	boxed sh -c 'mkdir /tmp/x; echo > /dev/shm/y; (sleep 4323 &)' || true
	ends 9 boxed sh -c 'exit 9'
	seen > ../after || true
	diff ../before ../after
}

# ---- walls ------------------------------------------------------------------------------------

cannot_write_outside() {
	for path in /etc/rein-was-here /usr/rein-was-here "$HOME/rein-was-here" /job/rein-was-here \
		/var/rein-was-here; do
		no boxed sh -c "echo x > $path"
		no test -e "$path"
	done
}

tmp_is_private() {
	boxed sh -c 'echo x > /tmp/rein-was-here'
	no test -e /tmp/rein-was-here
}

has_no_capabilities() {
	boxed grep -E 'Cap(Eff|Prm|Bnd|Amb)' /proc/self/status > ../caps
	no grep -vE '0000000000000000$' ../caps
	boxed grep NoNewPrivs /proc/self/status | has 1
}

cannot_mount() {
	no boxed mount -t tmpfs none /mnt
	no boxed mount -o remount,bind,rw /
	no boxed umount -l /proc
}

cannot_make_namespaces() {
	no boxed unshare -U true
	no boxed unshare -m true
	no boxed unshare -n true
}

cannot_trace() {
	no boxed strace -o /dev/null true
}

sees_only_its_processes() {
	sleep 4324 &
	outside=$!
	boxed sh -c "! kill -0 $outside" || boxed sh -c "[ ! -e /proc/$outside/root ]"
	boxed sh -c 'ls /proc | grep -c "^[0-9]"' > ../count
	kill $outside
	[ "$(cat ../count)" -lt 10 ]
}

cannot_see_state() {
	rein run --approve --commit -q -- sh -c 'echo x > f'
	boxed sh -c "[ -z \"\$(ls -A $REIN_STATE 2>/dev/null)\" ]"
}

has_no_network() {
	boxed sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1' > ../interfaces
	[ "$(tr -d ' ' < ../interfaces)" = lo ]
}

cannot_make_devices() {
	no boxed mknod disk b 254 0
	no boxed sh -c 'head -c 1 /dev/vda'
}

cannot_write_sysctls() {
	no boxed sh -c 'echo x > /proc/sys/kernel/hostname'
	no boxed sh -c 'echo 0 > /proc/sys/kernel/core_pattern'
	no boxed sh -c 'echo b > /proc/sysrq-trigger'
}

cannot_link_out() {
	no boxed ln "$HOME/.bashrc" stolen
	boxed ln -s /etc etc
	no boxed sh -c 'ln -s /etc etc && echo x > etc/rein-was-here'
	no test -e /etc/rein-was-here
}

cannot_use_dangerous_calls() {
	# keyctl bpf perf_event_open userfaultfd io_uring_setup
	for number in 250 321 298 323 425; do
		boxed perl -e 'exit(syscall($ARGV[0], 0, 0, 0, 0, 0) != -1 || ($! != 1 && $! != 38 && $! != 13))' $number
	done
}

cases commits discards holds_then_commits undoes_and_redoes reads_only reads_warm conflict_changes_nothing \
	undo_keeps_later_work hides_secrets secret_is_never_overwritten home_secrets_hidden \
	renames_existing_directory hard_links_stay_joined metadata_is_kept status_is_the_commands \
	passes_bytes_through terminal_works timeout_rolls_back background_children_die \
	box_dies_with_rein git_works log_and_status_speak doctor_speaks_json landlock_is_on \
	leaves_nothing_behind \
	cannot_write_outside tmp_is_private has_no_capabilities cannot_mount cannot_make_namespaces \
	cannot_trace sees_only_its_processes cannot_see_state has_no_network cannot_make_devices \
	cannot_write_sysctls cannot_link_out cannot_use_dangerous_calls
finish
