# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # boxed commands expand in the box; cases are called by name
# Limits, the network gate and the kill switch on a stock system: cgroup v2 alone, a user manager that
# gives an ordinary user scopes of his own, a kernel of several years. As the user and as root.
set -u
. /job/suite/lib.sh

# keeper NAME: who keeps this limit, as the run itself says.
keeper() {
	rein run --approve --discard --json --limit "$1" -- true 2>&1 >/dev/null | tail -n 1 |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["limits"][0]["kept_by"])'
}

# hit NAME: a run was ended by this limit.
hit() {
	what=$1
	shift
	ends 122 rein run --approve --commit "$@" > ../said 2>&1 || { cat ../said; return 1; }
	has "$what limit reached" < ../said
}

groups_of_rein() {
	find /sys/fs/cgroup -type d -name '*rein-*'
}

control_groups_keep_limits() {
	keeper memory=100M | has cgroup
	keeper processes=40 | has cgroup
}

doctor_agrees() {
	rein doctor | grep -iE 'control group|cgroup' | has v2
}

memory_hog_ends() {
	hit memory --limit memory=60M -- python3 -c 'a = []
while True: a.append(b"x" * (1 << 20))'
	[ -z "$(groups_of_rein)" ]
}

fork_bomb_ends() {
	hit processes --limit processes=30 -- python3 -c 'import os, time
while True:
    if os.fork() == 0: time.sleep(99)'
	[ -z "$(groups_of_rein)" ]
	no pgrep -f 'time.sleep.99'
}

disk_filler_ends() {
	hit disk --limit disk=20M -- sh -c 'cat /dev/zero > big'
	no test -e big
}

time_ends() {
	ends 124 rein run --approve --limit time=1s -- sleep 60
}

what_stays_below_is_let_be() {
	rein run --approve --commit -q --limit memory=200M,processes=50,disk=50M -- sh -c 'echo fine > f'
	[ "$(cat f)" = fine ]
}

pauses_and_resumes() {
	rein run --approve --discard --limit memory=200M -- sh -c 'while :; do echo x >> log; sleep 0.2; done' > /dev/null 2>&1 &
	sleep 4
	id=$(rein ps --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["boxes"][0]["id"])')
	rein pause "$id"
	rein ps | has paused
	rein resume "$id"
	rein kill "$id"
	wait $! || true
	rein ps | has 'no box'
}

stops_everything() {
	rein run --approve --discard -- sh -c 'sleep 4325 & sleep 4325' > /dev/null 2>&1 &
	sleep 3
	rein stop --all --reason drill
	no pgrep -f '^sleep 4325'
	ends 119 rein run --approve -- true
	rein start
	rein run --approve -q -- true
	wait
}

watches_each_execution() {
	rein run --approve --discard --watch --json -- sh -c '/bin/true; /bin/echo hi | cat' 2>&1 >/dev/null | tail -n 1 > ../json
	has '"/bin/echo"' < ../json
	for i in $(seq 20); do
		rein run --approve --discard --watch -q -- sh -c 'seq 50 | sort -n | tail -n 1' | has 50
	done
}

# A server of the host's, reached through the gate and by no other way. Loopback is the box's own, so
# the host has one more address on its.
gate_lets_through_what_is_named() {
	ip addr show lo | grep -q 198.51.100.7 || skip "the host has no other address"
	python3 -m http.server --bind 198.51.100.7 8123 > /dev/null 2>&1 &
	server=$!
	echo hello > page
	tries=0 # emulated, and perhaps beside other work
	until python3 -c 'import socket; socket.create_connection(("198.51.100.7", 8123))' 2>/dev/null ||
		[ $tries = 30 ]; do
		sleep 1
		tries=$((tries + 1))
	done
	get='import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())'
	boxed() { rein run --approve --discard -q "$@"; }
	boxed --net restricted --allow-host 198.51.100.7:8123 -- python3 -c "$get" http://198.51.100.7:8123/page > ../got 2>&1 || true
	boxed -- python3 -c "$get" http://198.51.100.7:8123/page > ../none 2>&1 && echo "reached without a network" >> ../bad
	boxed --net restricted --allow-host other.test -- python3 -c "$get" http://198.51.100.7:8123/page > ../other 2>&1 &&
		echo "reached unnamed" >> ../bad
	kill $server
	cat ../got ../other
	no test -e ../bad
	has hello < ../got
}

cores() {
	sleep 1 # nobody waits for that program
	find /dev/shm -name 'core-*' | wc -l
}

# Whatever the command says of its limit: the program for cores is started by a crash outside, by none in a box.
crashes_start_nothing_outside() {
	before=$(cores)
	sh -c 'kill -SEGV $$' || true
	outside=$(cores)
	[ "$outside" -gt "$before" ]
	ends 139 rein run --approve --discard -q -- sh -c 'kill -SEGV $$'
	ends 139 rein run --approve --discard -q -- sh -c 'ulimit -c unlimited && kill -SEGV $$'
	ends 134 rein run --approve --discard -q -- python3 -c 'import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.abort()'
	[ "$(cores)" -eq "$outside" ]
}

cases control_groups_keep_limits doctor_agrees memory_hog_ends fork_bomb_ends disk_filler_ends time_ends \
	what_stays_below_is_let_be pauses_and_resumes stops_everything watches_each_execution \
	gate_lets_through_what_is_named crashes_start_nothing_outside
finish
