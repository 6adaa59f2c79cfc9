#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Executions: seen with their real words and parents, refused by what they really are, nothing broken by it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

execs() { python3 -c '
import json, sys
e = json.loads(sys.stdin.read().strip().split("\n")[-1])["execs"]
'"$1"; }

@test "watch: every execution, its words, its parent, also of what is not there" {
	run -0 --separate-stderr rein run --json --watch --discard -- sh -c 'ls /proc/self/fd >/dev/null; env A=1 sh -c "cat /dev/null | wc -c"; ./nothing; nothing; true "two words" ""; : >made'
	execs '
argvs = [x["argv"] for x in e["list"]]
assert argvs[0][:2] == ["sh", "-c"], argvs
for want in (["ls", "/proc/self/fd"], ["env", "A=1", "sh", "-c", "cat /dev/null | wc -c"], ["cat", "/dev/null"], ["wc", "-c"]):
    assert want in argvs, (want, argvs)
assert not any("nothing" in a[0] for a in argvs), argvs
pids = {x["pid"] for x in e["list"]}
assert all(x["parent"] in pids for x in e["list"][1:]), e
assert e["total"] == len(e["list"]) and e["refused"] == 0
assert all(x["path"].startswith("/") for x in e["list"][1:]), e
assert e["list"][1]["level"] == "safe"' <<<"$stderr"
	run -0 --separate-stderr rein run --json --discard -- true
	has "$stderr" '"execs":null'
}

@test "watch: long words and many words are cut and said to be" {
	run -0 --separate-stderr rein run --json --watch --discard -- sh -c 'touch x; /bin/true $(seq 1 500); /bin/true "$(head -c 100000 /dev/zero | tr "\0" y)"'
	execs '
t = [x for x in e["list"] if x["path"] == "/bin/true"]
assert len(t) == 2, e
assert len(t[0]["argv"]) == 64 and t[0]["cut"], t[0]
assert t[1]["argv"][1] == "y" * len(t[1]["argv"][1]) and len(t[1]["argv"][1]) > 500 and t[1]["cut"], t[1]' <<<"$stderr"
}

@test "watch: kept with the transaction, shown as a tree" {
	rein run -q --watch --commit -- sh -c 'sh -c "touch made; true"'
	run -0 rein show
	has "$output" "executed    "
	has "$output" "touch made"
	eq total "$(rein show --json | field execs.total)" "$(rein show --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["execs"]["list"]))')"
	q touch other
	hasnt "$(rein show)" "executed"
}

@test "watch: a program the policy denies is refused by what it really is" {
	cat >"$T/p.yaml" <<-'END'
	version: 1
	rules:
	  - id: no-nmap
	    match: {program: [wc]}
	    decide: deny
	    reason: no counting here
	END
	command rein policy check "$T/p.yaml" || skip "this policy does not have such rules"
	ln -s "$(command -v wc)" counter
	run command rein run -y --json --watch --discard -p "$T/p.yaml" -- sh -c 'touch x; d=w; e=c; $d$e -c </dev/null; echo status $?'
	has "$output" "status 126"
	has "$output" '"refused":1'
	run -0 command rein run -y --json --discard -p "$T/p.yaml" -- sh -c 'touch x; d=w; e=c; $d$e -c </dev/null'
}

@test "watch: pipelines and signals: nothing is lost, nothing hangs" {
	local n=300
	[ -z "${REIN_FULL:-}" ] || n=10000
	run -0 timeout 900 rein run -q --watch --discard -- bash -c '
		for ((i = 0; i < '$n'; i++)); do
			out=$(echo $i | cat | tr -d x)
			[ "$out" = $i ] || { echo "wrong: $out instead of $i"; exit 1; }
		done; echo all'
	eq out all "$output"
	# a storm of signals around every exec: whatever restarts, restarts
	run -0 timeout 300 rein run -q --watch --discard -- python3 -c '
import os, signal, subprocess
hits = [0]
def on(*a): hits[0] += 1
signal.signal(signal.SIGALRM, on)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for i in range(200):
    p = subprocess.run(["sh", "-c", "echo %d | cat" % i], stdout=subprocess.PIPE)
    assert p.stdout == b"%d\n" % i and p.returncode == 0, (i, p)
signal.setitimer(signal.ITIMER_REAL, 0)
assert hits[0] > 50, hits
print("all")'
	eq out all "$output"
}
