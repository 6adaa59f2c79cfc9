#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Executions: seen with their real words and parents, refused by what they really are, nothing broken by it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helper

after() { command rein stop --all -q >/dev/null 2>&1 || true; }

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

@test "watch: what is reached through links of the box, or by a name of its own, is an execution, too" {
	run -0 --separate-stderr rein run --json --watch --discard --approve -- sh -c 'mkdir /tmp/real; cp /bin/true /tmp/real/t
		ln -s /tmp/real /tmp/link; /tmp/link/t a; cd /tmp; link/t b; cd real; ../link/t c
		bash -c "exec -a self /proc/self/exe -c :"; PATH=/nowhere:/bin true; bash -c "PATH=/nowhere:/tmp/none:/bin; exec true d"'
	execs '
argvs = [x["argv"] for x in e["list"]]
for want in ["/tmp/link/t", "a"], ["link/t", "b"], ["../link/t", "c"], ["self", "-c", ":"], ["true", "d"]:
    assert want in argvs, (want, argvs)
assert not any("/no" in x["path"] for x in e["list"]), e' <<<"$stderr"
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

@test "watch: neither a link of one's own, nor a descriptor, nor no words at all make another program of it" {
	printf 'version: 1\nrules:\n  - {id: no-counting, match: {program: [wc]}, decide: deny}\n' >"$T/p.yaml"
	cat >"$T/run.py" <<-'END'
	import ctypes, os, sys
	wc = "/usr/bin/" + "cw"[::-1]
	def link(): os.symlink(wc, "/tmp/ls"); os.execv("/tmp/ls", ["ls"])
	def relative(): os.symlink(wc, "/tmp/ls"); os.chdir("/tmp"); os.execv("./ls", ["ls"])
	def descriptor(): os.execve(os.open(wc, os.O_RDONLY), ["ls"], {})
	def named(): os.execv("/proc/self/fd/%d" % os.open(wc, os.O_RDONLY), ["ls"])
	def wordless(): ctypes.CDLL(None).execve(wc.encode(), (ctypes.c_char_p * 1)(None), None)
	try: globals()[sys.argv[1]]()
	except PermissionError: pass
	END
	local how rc
	for how in link relative descriptor named wordless; do
		: >"$T/err" # the last one's
		command rein run -y --json --watch --agent eve -p "$T/p.yaml" -- python3 "$T/run.py" $how 3>&- </dev/null >"$T/out" 2>"$T/err" &
		until_true 10 grep -q "is paused\|^{" "$T/err"
		grep -q "is paused" "$T/err" || die "$how: $(cat "$T/out" "$T/err")"
		rein resume "$(rein ps --json | field boxes.0.id)"
		rc=0; wait $! || rc=$?
		eq "status of $how" 122 "$rc"
		eq "refused of $how" 1 "$(tail -n 1 "$T/err" | field execs.refused)"
		rein safe --lift --agent eve -q
	done
	# what the system's own links are called is what they are
	run -0 --separate-stderr rein run --json --watch --discard -- python3 -c 'import os
os.execve(os.open("/bin/true", os.O_RDONLY), ["x"], {})'
	execs 'assert e["list"][-1]["path"].endswith("/bin/true"), e' <<<"$stderr"
	printf 'version: 1\nrules:\n  - {id: no-dash, match: {program: [dash]}, decide: deny}\n' >"$T/p.yaml"
	if [ "$(readlink /bin/sh)" = dash ]; then run -0 rein run -q --watch --discard -p "$T/p.yaml" -- sh -c 'touch x'; fi
}

@test "watch: a program the policy denies is refused by what it really is" {
	cat >"$T/p.yaml" <<-'END'
	version: 1
	rules:
	  - id: no-counting
	    match: {program: [wc]}
	    decide: deny
	    message: no counting here
	END
	echo wc >name # nobody knows before it runs
	command rein run -y --json --watch --agent eve -p "$T/p.yaml" -- sh -c 'touch x; $(cat name) -c </dev/null; echo status $?' \
		3>&- >"$T/out" 2>"$T/err" &
	# a program that is denied is a violation: the box waits for a person
	until_true 10 grep -q "is paused" "$T/err" || die "$(cat "$T/err")"
	rein resume "$(rein ps --json | field boxes.0.id)"
	wait $! && die "it ended well"
	eq status 122 "$(wait $!; echo $?)"
	has "$(cat "$T/out")" "status 126"
	[ "$(tail -n 1 "$T/err" | field execs.refused)" -ge 1 ] # a shell tries along PATH
	eq violation permission "$(tail -n 1 "$T/err" | field violations.0.type)"
	[ ! -e x ] || die "it was not rolled back"
	rein safe --lift --agent eve -q
	run -0 command rein run -y -q --discard -p "$T/p.yaml" -- sh -c 'touch x; $(cat name) -c </dev/null'
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

@test "violations: a canary that is opened by who is gone at once" {
	echo 1 >c1
	printf 'version: 1\nworkspace: {canary: [c1]}\n' >"$T/p.yaml"
	local i
	for i in 1 2 3 4 5 6; do
		# whoever is paused in time waits for a person, which is not what this is about
		run timeout 5 rein run -y -p "$T/p.yaml" -- cp c1 new
		has "$output" "canary $W/c1 was opened"
		[ ! -e new ]
		run -0 rein safe --lift
	done
}

@test "violations: a canary is opened: pause, safe mode, incident, read-only, a person lifts it" {
	printf 'aws_secret_access_key = none\n' >creds
	printf 'version: 1\nworkspace:\n  canary: [creds]\n' >"$T/p.yaml"
	local run=(command rein run -y --agent eve -p "$T/p.yaml")
	# looking at it is not opening it; others may open theirs
	run -0 "${run[@]}" -q -- sh -c 'ls -l creds; stat creds'
	run -0 rein run -q --agent eve -- cat creds
	eq off "safe mode is off" "$(rein safe)"
	"${run[@]}" -- sh -c 'echo 1 >before; cat creds; sleep 0.5; echo 2 >after' 3>&- >"$T/out" 2>"$T/err" &
	local pid=$!
	until_true 10 grep -q "is paused" "$T/err" || die "$(cat "$T/err")"
	has "$(cat "$T/err")" "violation: file (high): the canary $W/creds was opened"
	eq state paused "$(rein ps --json | field boxes.0.state)"
	local cpu; cpu=$(rein ps --json | field boxes.0.cpu_ms)
	# from now on its boxes read and change nothing, and have no network; others' do
	run -2 "${run[@]}" -- sh -c 'echo x >new'
	has "$output" "Read-only"
	has "$output" "safe mode is on"
	run -120 rein run --agent eve --net host -- true
	run -0 rein run -q --agent bob -- sh -c 'echo x >of-bob'
	has "$(rein safe)" eve
	has "$(rein audit log --type violation --json)" "canary"
	has "$(rein audit log --type stop --json)" "safe_mode"
	eq still "$cpu" "$(rein ps --json | field boxes.0.cpu_ms)"
	rein resume "$(rein ps --json | field boxes.0.id)"
	local ended=0
	wait $pid || ended=$?
	eq status 122 "$ended"
	[ ! -e before ] && [ ! -e after ] || die "it was not rolled back"
	eq there "aws_secret_access_key = none" "$(cat creds)"
	run -2 rein run --agent eve -- sh -c 'echo x >new'
	run -0 rein safe --lift --agent eve --reason "looked at it"
	run -0 rein run -q --agent eve -- sh -c 'echo x >new'
	[ -e new ]
}

@test "violations: a canary that is not there, or is no file, is refused" {
	mkdir dir
	run -125 rein run --canary none -- true
	has "$output" "canary 'none'"
	run -125 rein run --canary dir -- true
	has "$output" "'dir' is none"
	# a policy is for many projects
	ln -s nowhere link
	printf 'version: 1\nworkspace: {canary: [none, "*"]}\n' >"$T/p.yaml"
	run -0 rein run -p "$T/p.yaml" -- true
}

@test "violations: what is done after a person lifted safe mode leads to it again, in the same box" {
	echo 1 >c1; echo 2 >c2
	command rein run -y --agent eve --canary c1 --canary c2 -- sh -c 'cat c1; until [ -e /tmp/go ]; do sleep 0.1; done; cat c2; sleep 60' \
		3>&- >"$T/out" 2>"$T/err" &
	until_true 10 grep -q "is paused" "$T/err" || die "$(cat "$T/err")"
	local id; id=$(rein ps --json | field boxes.0.id)
	run -0 rein safe --lift --agent eve
	run -0 rein resume "$id"
	eq off "safe mode is off" "$(rein safe)"
	run -0 rein attach "$id" -- touch /tmp/go
	again() { [ "$(grep -c "is paused" "$T/err")" = 2 ]; }
	until_true 10 again || die "it goes on: $(cat "$T/err")"
	eq state paused "$(rein ps --json | field boxes.0.state)"
	has "$(rein safe)" eve
	rein kill "$id"
	wait
	rein safe --lift --agent eve -q
}

@test "violations: more than three of medium severity" {
	local i
	for i in 1 2 3; do run -122 rein run --agent mal --limit output=10 -- yes; done
	eq off "safe mode is off" "$(rein safe)"
	run -122 rein run --agent mal --limit output=10 -- yes
	has "$output" "safe mode is on for agent mal; lift it: rein safe --lift --agent mal"
	run -2 rein run --agent mal -- sh -c 'echo x >new'
	has "$output" "lifts it: rein safe --lift --agent mal"
	rein safe --lift --agent mal -q
	run -122 rein run --agent mal --limit output=10 -- yes
	run -0 rein run -q --agent mal -- sh -c 'echo x >new'
}

# refused FILE: "access path why count" of each
refused() { python3 -c '
import json, sys
r = json.loads(sys.stdin.read().strip().split("\n")[-1])["refused"]
for x in r["list"]: print(x["access"], x["path"], x["why"], x["count"])'; }

@test "files: what was refused is told by path, shown, kept and on the record" {
	echo secret >.env; mkdir -p sub deep/secrets; echo k >deep/secrets/k; ln -s /usr link
	run -0 --separate-stderr rein run --json --watch-files --commit -- sh -c '
		echo x >/usr/new; echo x >/usr/new; rm -f /usr/bin/env; mkdir /usr/d; rmdir /usr/bin; ln -s a /usr/l; mv -T /usr/lib /usr/lib2
		chmod 700 /usr; truncate -s 0 /etc/passwd; mkfifo /usr/p; cd /usr/lib; true >here; true >../up; cd "$0"
		true >link/through; cat .env; cat sub/../.env; cat deep/secrets/k
		# nothing of this is refused
		echo 1 >fine; mkdir dir; rm -r dir; cat /etc/passwd >/dev/null 2>/dev/null; true >/tmp/t; cat missing; true >no/such/dir; exit 0' "$W"
	local got; got=$(refused <<<"$stderr")
	for want in "write /usr/new read-only 2" "write /usr/bin/env read-only 1" "write /usr/d read-only 1" "write /usr/bin read-only" \
		"write /usr/l read-only 1" "write /usr/lib read-only 1" "write /usr read-only 1" "write /etc/passwd read-only 1" "write /usr/p read-only 1" \
		"write /usr/lib/here read-only 1" "write /usr/up read-only 1" "write $W/link/through read-only 1" \
		"read $W/.env hidden 2" "read $W/deep/secrets/k hidden 1"; do
		has "$got" "$want"
	done
	for not in fine "$W/dir" /tmp missing such /dev; do hasnt "$got" "$not"; done
	run -0 rein show
	has "$output" "refused read  $W/.env (hidden, times 2)"
	eq kept "$got" "$(rein show --json | refused)"
	has "$(rein audit log --json -t effects)" '"result":"refused"'
	has "$(rein audit log --json -t effects)" '/usr/new'
	# said at once, and nothing is asked for where nobody watches
	run -0 rein run --watch-files -- sh -c 'echo x >/usr/new; exit 0'
	has "$output" "refused write /usr/new (read-only)"
	run -0 --separate-stderr rein run --json --watch -- sh -c 'echo x >/usr/new; exit 0'
	has "$stderr" '"refused":null'
}

@test "files: a tree with hard links, descriptors of directories, a box that ends in the middle" {
	echo 1 >a; ln a b
	run -0 --separate-stderr rein run --json --watch-files --commit -- python3 -c '
import os
open("a", "a").write("2")
d = os.open("/usr", os.O_RDONLY)
for f in (lambda: os.open("at", os.O_WRONLY | os.O_CREAT, dir_fd=d), lambda: os.mkdir("sub", dir_fd=d), lambda: os.open("/usr/./bin/../excl", os.O_WRONLY | os.O_CREAT | os.O_EXCL)):
    try: f()
    except OSError: pass'
	eq linked "$(printf '1\n2')" "$(cat b)"
	has "$(refused <<<"$stderr")" "write /usr/at read-only 1"
	has "$(refused <<<"$stderr")" "write /usr/sub read-only 1"
	has "$(refused <<<"$stderr")" "write /usr/excl read-only 1"
	run -124 rein run --watch-files --timeout 500ms -- sh -c 'while :; do echo x >/usr/new; done 2>/dev/null'
	has "$output" "refusals in all"
}
