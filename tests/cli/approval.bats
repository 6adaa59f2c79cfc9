#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whose yes is enough: how many people a rule wants, which ones and until when; and what is announced before it runs.
# shellcheck disable=SC2154
load helper

# No approval is slipped in.
j() { command rein run -p "$HOME/p.yaml" "$@"; }
on_tty() { python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"; }
# rule DECIDE...: for touch
rule() { printf 'version: 1\nrules:\n  - {id: my.touch, match: {program: touch}, decide: %s}\n' "$1" >"$HOME/p.yaml"; }
approvals() { command rein audit log --json -t approval; }
held() { command rein log --json | python3 -c 'import json, sys; print(*(t["id"] for t in json.load(sys.stdin)["transactions"] if t["state"] == "held"))'; }
after() { command rein start -q >/dev/null 2>&1 || true; }

more_setup() {
	export TERM=xterm-256color REIN_AGENT=""
	echo 1 >old
}

@test "two people: one yes is none, with --approve, at the terminal, with commit, in a box" {
	rule 'ask, minimum: 2'
	run j -- touch ran
	eq status 121 "$status"
	run j --approve -- touch ran
	eq status 121 "$status"
	has "$output" "2 people have to approve it"
	hasnt "$output" "a person can approve it"
	run on_tty -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" -- touch ran
	eq "nobody is asked in vain" 121 "$status"
	hasnt "$output" "[y]es"
	eq "nobody said yes" "" "$(approvals)"
	run j --approve --json -- touch ran
	has "$(printf '%s\n' "$output" | tail -1 | field approval_missing)" "2 people"
	eq end "did not run" "$(printf '%s\n' "$output" | tail -1 | field end)"
	eq exit 121 "$(printf '%s\n' "$output" | tail -1 | field exit)"
	# held by its words
	rule 'hold, minimum: 2'
	run j --approve --commit -- touch ran
	eq status 121 "$status"
	has "$output" "2 people have to approve it"
	hasnt "$output" "rein commit"
	[ ! -e ran ]
	run command rein commit
	eq commit 121 "$status"
	has "$output" "2 people"
	run on_tty "ommit=>c" -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" -- touch ran
	eq "at the terminal" 121 "$status"
	[ ! -e ran ]
	# by what it did
	printf 'version: 1\neffects:\n  - {id: my.new, match: {change: [created], path: [ran]}, decide: hold, minimum: 2}\n' >"$HOME/p.yaml"
	run j --approve --commit -- touch ran
	eq status 121 "$status"
	run command rein commit
	eq commit 121 "$status"
	[ ! -e ran ]
	eq "nobody said yes" "" "$(approvals)"
	run -0 command rein discard
}

@test "the one whose box it is visits it as one person" {
	rule 'ask, minimum: 2'
	j --discard -- sleep 60 3>&- >/dev/null 2>&1 &
	until_true 10 eval '[ -n "$(command rein ps --json | field boxes.0.id 2>/dev/null)" ]'
	box=$(command rein ps --json | field boxes.0.id)
	run command rein attach --approve "$box" -- touch ran
	eq status 121 "$status"
	has "$output" "2 people"
	run -0 command rein attach "$box" -- true
	command rein kill -q "$box"
	wait || true
}

@test "which people: the user by name, or a group he is in; nobody else" {
	for by in "$(id -un)" "$(id -gn)"; do
		rule "ask, approvers: [somebody-else, \"$by\"]"
		run j --approve -q -- touch "ran"
		eq "$by" 0 "$status"
		command rein undo -q
	done
	for by in somebody-else "$(id -un)x" "x$(id -un)" "$(id -u)"; do
		rule "ask, approvers: [\"$by\"]"
		run j --approve -- touch ran
		eq "$by" 121 "$status"
		has "$output" "only these may approve it: $by; '$(id -un)'"
		[ ! -e ran ]
	done
	# that it allows is not a matter of approvers
	rule "allow, approvers: [somebody-else]"
	run -0 j -q -- touch ran
}

@test "what is held for others stays held: in parts, by other names, after a crash, with nothing but its own rule" {
	rule "hold, approvers: [somebody-else]"
	run j --hold -- sh -c 'echo a >a; touch b'
	id=$(held)
	for how in "" "--only a" "--except a" "--merge" "--theirs *"; do
		# shellcheck disable=SC2086
		run command rein commit "$id" $how
		eq "commit $how" 121 "$status"
		has "$output" "only these may approve it: somebody-else"
	done
	[ ! -e a ] && [ ! -e b ]
	eq "one transaction" "$id" "$(held)"
	has "$(command rein show "$id")" "to approve  1 of somebody-else"
	eq review somebody-else "$(command rein show "$id" --json | field reviews.0.approvers.0)"
	# its process is killed, and whoever comes next finds what it did
	rm -rf "$REIN_STATE"
	command rein run -p "$HOME/p.yaml" -- sh -c 'touch b; sleep 77.5' 3>&- >/dev/null 2>&1 &
	until_true 10 eval '[ -n "$(command rein ps --json | field boxes.0.id 2>/dev/null)" ]'
	sleep 0.2
	kill -KILL $!
	wait $! || true
	until_true 10 eval '[ -n "$(held)" ]'
	run command rein commit "$(held)"
	eq "after a crash" 121 "$status"
	# a description that cannot be read lets nothing pass
	id=$(held)
	sed -i 's/^review\t.*/review\tx/' "$REIN_STATE/txn/$id/meta"
	run command rein commit "$id"
	[ "$status" -ne 0 ]
	[ ! -e b ]
}

@test "two rules, by its words and by what it did: both must be satisfied" {
	cat >"$HOME/p.yaml" <<-E
		version: 1
		rules:
		  - {id: words, match: {program: touch}, decide: hold, approvers: [somebody-else]}
		effects:
		  - {id: did, match: {change: [created]}, decide: hold, approvers: ["$(id -un)"]}
	E
	run j --approve --commit -- touch ran
	eq status 121 "$status"
	run command rein commit
	eq commit 121 "$status"
	sed -i "s/\[somebody-else\]/[\"$(id -un)\"]/" "$HOME/p.yaml"
	run -0 j --approve --commit -- touch ran
	[ -e ran ]
}

@test "a more specific rule, of the project too, asks besides and not instead" {
	rule 'ask, minimum: 2'
	printf 'version: 1\nrules:\n  - {id: mine, match: {program: touch, path: [ran], arguments: [ran]}, decide: ask}\n' >.rein.yaml
	run j --approve -- touch ran
	eq status 121 "$status"
	has "$output" "rule: mine"
	has "$output" "2 people have to approve it"
	cat >"$HOME/p.yaml" <<-E
		version: 1
		effects:
		  - {id: many, match: {change: [created]}, decide: hold, minimum: 2}
		  - {id: one, match: {change: [created], path: [ran], type: [executable, symlink]}, decide: hold}
	E
	rm .rein.yaml
	run j --approve --commit -- ln -s old ran
	eq status 121 "$status"
	has "$output" "rule: one"
	run command rein commit
	eq commit 121 "$status"
	[ ! -L ran ]
}

@test "until when: nobody's answer is a no; what was held too long is not committed any more" {
	rule 'ask, expires: 300ms'
	run on_tty -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" -- touch ran
	eq status 120 "$status"
	has "$output" "nobody answered within"
	[ ! -e ran ]
	eq answer deny "$(approvals | field decision)"
	rule 'hold, expires: 200ms'
	run j -- touch ran
	eq held 121 "$status"
	sleep 0.3
	run command rein commit
	eq "too late" 120 "$status"
	has "$output" "nobody approved it in the time"
	[ ! -e ran ]
	run -0 command rein diff
	run -0 command rein discard
	rule 'hold, expires: 1h'
	run j -- touch ran
	run -0 command rein commit
	[ -e ran ]
}

@test "an environment's approvers, and their number" {
	printf 'version: 1\nenvironments:\n  production: {tier: approve, minimum: 2}\n  live: {tier: approve, approvers: [somebody-else]}\n  mine: {tier: approve, approvers: ["%s"]}\n' "$(id -un)" >"$HOME/p.yaml"
	for e in production live unheard-of; do
		run j --environment $e -- touch ran
		eq $e 121 "$status"
	done
	for e in production live; do
		run j --environment $e --approve -- touch ran
		eq $e 121 "$status"
	done
	[ ! -e ran ]
	run -0 j --environment mine --approve -- touch ran
	[ -e ran ]
}

@test "advisory: who would have had to approve is on the record, and nobody is waited for" {
	printf 'version: 1\nmode: advisory\nenvironments:\n  staging: {tier: notify, wait: 60s}\nrules:\n  - {id: my.touch, match: {program: touch}, decide: ask, minimum: 2}\n' >"$HOME/p.yaml"
	run -0 j --environment staging -- touch ran
	[ -e ran ]
}

@test "announced: told, on the record, and cancelled by a signal or by the switch until the time is over" {
	cat >"$HOME/p.yaml" <<-E
		version: 1
		environments:
		  staging: {tier: notify, wait: 400ms}
		  slow: {tier: notify, wait: 60s}
		rules:
		  - {id: own, match: {program: curl}, decide: allow}
		alerts:
		  - {id: curled, when: {type: decision, rule: own}, count: 1, within: 1m, command: "touch $HOME/told"}
	E
	from=$(date +%s%N)
	run j --environment staging -- curl -sX POST http://service.invalid/
	[ $(($(date +%s%N) - from)) -ge 400000000 ] || die "it did not wait"
	has "$output" "in 'staging', in 400 ms"
	has "$output" "Ctrl-C cancels it"
	eq "it ran" 6 "$status"
	# what stays in the workspace is not announced
	run -0 j --environment slow -- touch ran
	for signal in TERM HUP; do
		rm -f "$T/out"
		command rein run -p "$HOME/p.yaml" --environment slow -- curl -sX POST http://service.invalid/ 3>&- >"$T/out" 2>&1 &
		until_true 10 grep -q "Ctrl-C" "$T/out"
		kill -$signal $!
		st=0; wait $! || st=$?
		eq "$signal" 120 "$st"
		has "$(cat "$T/out")" "cancelled"
	done
	eq answer deny "$(approvals | tail -1 | field decision)"
	until_true 10 test -e "$HOME/told"
	run on_tty 'Ctrl-C=>\x03' -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" --environment slow -- curl -sX POST http://service.invalid/
	eq Ctrl-C 120 "$status"
	sed -i 's/400ms/2s/' "$HOME/p.yaml"
	rm -f "$T/out"
	j --environment staging -- curl -sX POST http://service.invalid/ 3>&- >"$T/out" 2>&1 &
	until_true 10 grep -q "Ctrl-C" "$T/out"
	command rein stop --all -q --reason drill
	st=0; wait $! || st=$?
	eq stopped 119 "$st"
	command rein start -q
}

@test "policy check tells of rules that two people would have to satisfy" {
	rule 'ask, minimum: 2'
	run -0 command rein policy check -p "$HOME/p.yaml"
	has "$output" "rule 'my.touch' wants 2 people"
	run command rein policy explain -p "$HOME/p.yaml" 'touch x'
	has "$output" "2 approvals"
}
