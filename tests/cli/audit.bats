#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The record from outside: its verbs on a made-up history.
load helper

more_setup() { "$REIN_BUILD/tests/record/record-fill" "$REIN_STATE" 60 3 >/dev/null; }
log_file() { echo "$REIN_STATE/audit/00000001.log"; }

@test "nothing that was recorded speaks to the terminal" {
	rein run -q -- echo $'a\e[31mred' >/dev/null
	rein audit hold --reason $'a\e[31mred' >/dev/null
	local how
	for how in log 'log -e' 'similar echo a' 'hold --list' "show $(rein audit log --json | sed 's/.*"id":"\([^"]*\)".*/\1/;1q')"; do
		# shellcheck disable=SC2086
		run rein audit $how
		eq "$how" 0 "$status"
		hasnt "$output" $'\e'
	done
	has "$(rein audit similar echo a)" 'a\x1b[31mred'
}

@test "what could not be started has an end on the record" {
	run -127 rein run -- no-such-command-here
	echo '#!/no/such/interpreter' >script
	run -126 rein run -- ./script
	local log
	log=$(rein audit log)
	has "$(grep no-such-command-here <<<"$log")" "exit 127"
	has "$(grep '[.]/script' <<<"$log")" "exit 126"
	hasnt "$log" running
	has "$(rein audit log -t run.end --json)" "no-such-command-here: command not found"
}

@test "log: paths are found as people name them" {
	mkdir -p src && echo a >src/a.c
	rein run -q -- sh -c 'mkdir dist && echo x >dist/o'
	eq named "[\"$W/dist\"]" "$(rein audit log -t effects --json -n 1 | field effects.paths)"
	rein run -q -- sh -c 'echo b >src/a.c'
	local glob
	for glob in dist 'dist/**' '**/dist/**' "$W/dist" "$W/dist/**" 'w/di*'; do
		has "$(rein audit log -p "$glob")" "mkdir dist"
		hasnt "$(rein audit log -p "$glob")" "echo b"
	done
	for glob in a.c src/a.c 'src/*.c' '**/src/*.c' "$W/src" "$W/src/*.c" 'src/**'; do
		has "$(rein audit log -p "$glob")" "echo b"
		hasnt "$(rein audit log -p "$glob")" "mkdir dist"
	done
	for glob in rc/a.c dist/src; do has "$(rein audit log -p "$glob" 2>&1)" "nothing in the record"; done
}

@test "prune: kept for longer than there are times is kept" {
	rein run -q -- true
	printf 'segment-size=2K\n' >"$REIN_STATE/audit/config"
	rein run -q -- true && rein run -q -- true
	[ -e "$REIN_STATE/audit/00000002.log" ]
	has "$(rein audit prune --keep-age 210000d)" "removed 0 segments"
	[ -e "$REIN_STATE/audit/00000001.log" ]
}

@test "what cannot be written, and what is not looked at, is told" {
	rein run -q -- true
	local how
	for how in 'report --format html' 'report --format json' 'export --format csv'; do
		# shellcheck disable=SC2086
		run rein audit $how -o /dev/full
		eq "$how" 125 "$status"
		has "$output" "No space left"
	done
	run rein audit verify one.json two.json
	eq operands 125 "$status"
	has "$output" "one proof"
}

@test "log: filters, text, counts, JSON; nothing found is said" {
	eq lines 5 "$(rein audit log -n 5 --json | wc -l)"
	[ "$(rein audit log -n 1000 --json --type request | wc -l)" = 60 ]
	run rein audit log --agent claude --type request -n 3
	has "$output" claude
	hasnt "$output" codex
	rein audit log -n 1000 --json --text "git push" | while read -r line; do has "$line" push; done
	run rein audit log --agent nobody
	eq status 0 "$status"
	has "$output" "nothing in the record matches"
	run -125 rein audit log --nonsense
	run -125 rein audit log --since whenever
}

@test "options: of its own verb only, each refused with words; --help, -q and letters together as everywhere" {
	local v
	rein run -q -- true
	for v in "prune --keep-age 1d --since 2d" "hold --agent a --reason r" "verify --reason r" "rebuild x" "rotate-key x" "log x" \
		"prune --keep-age 1d --keep-size x" "prune --keep-age x" "alerts --wait x" "log --type run_start" "log --level high" \
		"export --decision maybe" "log -n x" "log -n -1" "show a b" "frob" "report x" "log --json=1"; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein audit $v
		eq "rein audit $v" "" "$output"
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein audit $v --json
		[ -n "$(field error.message <<<"$output")" ] || die "rein audit $v --json: $output"
	done
	run -125 rein audit prune --keep-age 1d --keep-size x
	has "$output" "'x'"
	for v in $(rein audit help | sed -n 's/^  \([a-z-]*\)  *.*/\1/p'); do
		run -0 --separate-stderr rein audit "$v" --help
		has "$output" "Usage: rein audit $v"
		eq same "$output" "$(rein audit help "$v")"
	done
	run -125 rein audit help nothing
	[ "$(rein audit log -ern1 --no-pager | wc -l)" = 2 ]
	eq nothing "" "$(rein audit log -q --agent nobody 2>&1)"
	eq "before all times" "" "$(rein audit log -q --until 1970-01-01 2>&1)"
}

@test "--json: every verb on the record answers in JSON" {
	local id
	ok() { run -0 --separate-stderr rein audit "$@" --json && python3 -m json.tool <<<"$output" >/dev/null || die "rein audit $*: '$output' '$stderr'"; }
	rein run -q -- true
	ok verify; ok report; ok alerts; ok alerts --list; ok prove 1; ok prune --keep-age 10d --dry-run
	rein audit prove 1 >proof
	ok verify proof
	ok hold --reason why
	id=$(field id <<<"$output")
	ok hold --list
	eq hold "$id" "$(field 0.id <<<"$output")"
	eq reason why "$(field 0.reason <<<"$output")"
	ok release "$id" --reason "because"
	ok hold --list
	ok anchor -o heads; ok rotate-key; ok rebuild; ok export --archive arch; ok verify --archive arch
	run -125 --separate-stderr rein audit verify --archive none --json
	eq "not looked at" io "$(field error.code <<<"$output")"
}

@test "log: one line an action with what became of it, told whole whatever made it match" {
	local id
	eq lines 60 "$(rein audit log --no-pager -n 1000 | grep -c '^[0-9][0-9]:')"
	run rein audit log --no-pager --decision deny
	has "$output" "refused"
	hasnt "$output" "committed"
	run rein audit log --no-pager --type decision -n 1
	has "$output" decision
	id=$(rein audit log -n 1 --json --type undo | field txn)
	if [ -n "$id" ]; then has "$(rein audit log --no-pager --txn "$id")" "undone"; fi
	id=$(rein audit log -n 1 --json --type commit | field txn)
	has "$(rein audit log --no-pager --txn "$id")" "committed"
	[ "$(rein audit log --no-pager -e -n 1000 | wc -l)" -gt 200 ]
}

@test "show: the whole story of an action, in order" {
	local id
	id=$(rein audit log -n 1 --json --type commit | field action)
	run rein audit show "$id"
	has "$output" request
	has "$output" decision
	has "$output" commit
	eq same "$(rein audit show "$id" --json | wc -l)" "$(rein audit log -n 1000 --json --action "$id" | wc -l)"
	run -125 rein audit show nosuchthing
}

@test "verify: whole; a changed byte, a cut, a foreign key are told and the status says so" {
	local key
	rein audit verify
	rein audit verify --all
	rein audit verify -i
	key=$(rein audit verify --json | field key)
	rein audit verify --key "$key"
	run -125 rein audit verify --key "0000000000000000000000000000000000000000000000000000000000000000"
	cp "$(log_file)" keep
	sed -i '0,/claude/s//cloude/' "$(log_file)"
	run -125 rein audit verify
	has "$output" "NOT whole"
	head -c 2000 keep >"$(log_file)"
	run -125 rein audit verify --json
	eq whole false "$(field whole <<<"$output")"
	cat keep >"$(log_file)"
	rein audit verify
}

@test "verify: the independent verifier says the same" {
	python3 "$REIN_SOURCE/tests/record/verify.py" "$REIN_STATE/audit"
	sed -i '0,/claude/s//cloude/' "$(log_file)"
	run -1 python3 "$REIN_SOURCE/tests/record/verify.py" "$REIN_STATE/audit"
}

@test "prove: an event and the growth of the record, checked without it" {
	local id
	id=$(rein audit log -n 1 --json --type request | field id)
	rein audit prove "$id" >p
	rein audit prove 10 100 >c
	mv "$REIN_STATE" gone
	rein audit verify p
	rein audit verify c
	sed -i 's/"line":/"line":1/' p
	run -125 rein audit verify p
	mv gone "$REIN_STATE"
}

@test "export: every format, and an archive that verifies elsewhere" {
	local f
	for f in jsonl csv cef syslog ocsf; do
		rein audit export --format $f -o out.$f
		[ "$(wc -l <out.$f)" -gt 100 ] || die "$f is short"
	done
	python3 -c 'import csv, json
for n in ("out.jsonl", "out.ocsf"):
    for l in open(n): json.loads(l)
rows = list(csv.reader(open("out.csv", newline="")))
assert len({len(r) for r in rows}) == 1, "rows of different length"'
	run -125 rein audit export --format xml
	rein audit export --archive arch
	REIN_STATE=/nonexistent rein audit verify --archive arch
	truncate -s -1 arch/00000001.log
	run -125 rein audit verify --archive arch
}

@test "report: html, markdown, JSON; a broken record is said in it" {
	rein audit report --format html -o r.html
	grep -q '<svg' r.html
	run ! grep -Eq '<script|https?://' r.html
	rein audit report --format md | grep -q '^# What the agents did'
	eq actions 60 "$(rein audit report --format json | field actions)"
	sed -i '0,/claude/s//cloude/' "$(log_file)"
	rein audit report --format md | grep -q 'NOT whole'
	eq whole false "$(rein audit report --format json | field integrity.whole)"
}

@test "hold, prune, release: old segments go, what is held stays, the rest is provable" {
	local hold
	printf 'segment-size=20K\n' >"$REIN_STATE/audit/config"
	"$REIN_BUILD/tests/record/record-fill" "$REIN_STATE" 400 3 >/dev/null
	hold=$(rein audit hold --reason 'case 17' | cut -d' ' -f2)
	has "$(rein audit hold --list)" "case 17"
	has "$(rein audit prune --keep-size 20K)" "removed 0"
	rein audit release "$hold" --reason done
	has "$(rein audit prune --keep-size 40K --dry-run)" "would remove"
	hasnt "$(rein audit prune --keep-size 40K)" "removed 0"
	run ! test -e "$(log_file)"
	rein audit verify
	python3 "$REIN_SOURCE/tests/record/verify.py" "$REIN_STATE/audit"
	rein audit log -n 5
}

@test "a loss is accepted in writing, and only when there is one" {
	run -125 rein audit accept-loss --reason x
	truncate -s 3000 "$(log_file)"
	run -125 rein audit accept-loss
	rein audit accept-loss --reason 'disk died'
	has "$(rein audit verify)" "earlier one was lost"
	has "$(rein audit log --type repair --json)" "disk died"
}

@test "similar, anchor, rotate-key, rebuild, alerts, metrics" {
	has "$(rein audit similar git push origin dev)" "git push"
	rein audit anchor -o heads
	rein audit rotate-key
	rein audit verify --anchor heads
	rein audit rebuild
	has "$(rein audit alerts --json)" '"fired":'
	has "$(rein audit log --type alert --rule agent.new --json)" 'first time (claude)'
	rein audit alerts 2>again
	[ ! -s again ]
	has "$(rein audit alerts --list --json)" '[]'
	rein metrics >m
	grep -q '^rein_actions_total 60$' m
	grep -q '^rein_record_whole 1$' m
}

@test "without a record every verb says so and none makes one" {
	local how v
	export REIN_STATE=$T/empty
	run -125 rein audit log
	has "$output" "no record"
	run -125 rein audit verify
	run -125 rein audit report
	run -125 rein metrics
	[ ! -e "$T/empty" ]
	# its place is that of the transactions, or there is none
	for how in "REIN_STATE=relative" "-u HOME -u REIN_STATE" "-u REIN_STATE HOME=relative"; do
		for v in "audit log" "audit rebuild" metrics "policy diff"; do
			# shellcheck disable=SC2086
			run -125 env $how rein $v
			case $how in REIN*) has "$output" absolute ;; *) has "$output" "set HOME" ;; esac
		done
	done
}
