#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Words and forms: help, JSON, quiet and verbose, errors, damaged state, completion.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

verbs() { rein help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'; }
paths() { python3 -c 'import json, sys; print(json.dumps([c["path"] for c in json.load(sys.stdin)["changes"]]))'; }
json_ok() { python3 -m json.tool >/dev/null; }

@test "help: every verb explains itself on stdout; the overview names each" {
	local v n=0
	run -0 --separate-stderr rein help
	eq stderr "" "$stderr"
	for v in $(verbs); do
		run -0 --separate-stderr rein "$v" --help || run -0 --separate-stderr rein help "$v"
		[ -n "$output" ] || die "no help for $v"
		n=$((n + 1))
	done
	[ $n -ge 10 ]
	run -125 rein
	has "$output" Usage
	run -0 rein --help
	run -0 rein --version
	has "$output" "rein 0."
	run -0 rein version
}

@test "bad input: each error says what is wrong and what to do, exit 125, nothing happens" {
	run -125 rein frobnicate
	has "$output" "no verb 'frobnicate'"
	has "$output" "rein run -- frobnicate"
	run -125 rein help frobnicate
	run -125 rein run --frob -- true
	has "$output" "unknown option '--frob'"
	has "$output" "rein run --help"
	run -125 rein log -Z
	run -125 rein run --timeout
	has "$output" "--timeout needs a value"
	run -125 rein run --commit=yes -- true
	has "$output" "takes no value"
	run -125 rein run --timeout soon -- true
	has "$output" "90s, 5m, 2h"
	run -125 rein log -n minus
	has "$output" "not a number"
	run -125 rein log --state dreaming
	has "$output" "running|held"
	run -125 rein completion tcsh
	has "$output" "bash|zsh|fish"
	run -125 rein run --
	has "$output" "no command"
	run -125 env REIN_STATE=relative rein log
	has "$output" "absolute"
	run -125 env -u HOME -u REIN_STATE rein log
	has "$output" "HOME"
	run -125 rein undo
	has "$output" "no committed transaction"
	run -125 rein show
	run -125 rein undo a b
	run -125 rein diff -U 4294967296
	has "$output" "--unified"
	local v
	# a variable that is not set is no place
	for v in "-w" "--workspace" "--canary" "--rw" "-p" "--env-file"; do
		run -125 rein run "$v" "" -- touch made
		has "$output" "''"
		[ ! -e made ]
	done
	run -125 rein run --workspace= -- touch made
	# what nobody looks at is not passed over
	for v in "log x" "status x" "gc --dry-run x" "show a x" "commit a x" "discard a x" "undo a x" "redo a x" "ps x" "stats a x" \
		"pause a x" "resume a x" "kill a x" "start x" "safe x" "doctor x" "metrics x" "version x" "help log x" "completion bash x" \
		"policy init a x" "policy trust a x" "policy untrust a x" "policy suggest a x"; do
		# shellcheck disable=SC2086
		run -125 rein $v
		has "$output" "'x'" || die "rein $v: $output"
	done
	for v in version metrics help completion; do
		run -125 rein $v --frob
		has "$output" "unknown option '--frob'"
	done
	[ ! -e .rein.yaml ]
	eq nothing "" "$(rein log --all --ids)"
}

@test "--json: valid for every verb, on stdout (run: the last line of stderr), also when it fails" {
	local id
	run -0 --separate-stderr rein run --json --commit -- sh -c 'echo data; echo 1 >a'
	eq stdout data "$output"
	json_ok <<<"$stderr"
	eq decision commit "$(field decision <<<"$stderr")"
	eq exit 0 "$(field exit <<<"$stderr")"
	eq kind created "$(field transaction.changes.1.kind <<<"$stderr")"
	id=$(field transaction.id <<<"$stderr")
	run -0 --separate-stderr rein run --json -- true
	eq none null "$(field transaction <<<"$stderr")"
	for c in "log" "show $id" "status" "undo $id" "redo $id" "gc --dry-run" "log --all"; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr rein $c --json
		json_ok <<<"$output" || die "rein $c --json: $output"
	done
	held sh -c 'echo 2 >b' >/dev/null
	run -0 --separate-stderr rein status --json
	eq waiting held "$(field transactions.0.state <<<"$output")"
	run -0 --separate-stderr rein commit --json
	eq committed committed "$(field state <<<"$output")"
	held sh -c 'echo 3 >c' >/dev/null
	run -0 --separate-stderr rein discard --json
	eq discarded discarded "$(field state <<<"$output")"
	# failures
	for c in "show --json nope" "commit --json" "undo --json nope" "log --json --state x" "gc --json --keep x" "completion --json x"; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein $c
		json_ok <<<"$output" || die "rein $c --json: '$output' '$stderr'"
		[ -n "$(field error.message <<<"$output")" ]
	done
	for c in "help --json x" "version --json x" "metrics --json x" "policy --json x" "log --frob --json" "frobnicate --json" "audit log --frob --json"; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein $c
		[ -n "$(field error.message <<<"$output")" ] || die "rein $c: '$output' '$stderr'"
	done
	# standard output is the command's, also if there is none to run
	for c in "--workspace $W/none -- true" "--frob -- true" "" "--timeout soon -- true" "-- $W/none"; do
		# shellcheck disable=SC2086
		run --separate-stderr rein run --json $c
		eq stdout "" "$output"
		[ -n "$(tail -n 1 <<<"$stderr" | field error.message)" ] || die "rein run --json $c: '$stderr'"
	done
	run -125 --separate-stderr rein run --frob --json -- true
	[ -n "$(tail -n 1 <<<"$stderr" | field error.message)" ]
	run -125 --separate-stderr rein run --frob -- true --json
	hasnt "$stderr" '{'
	for c in "none -- true" "" "none --frob"; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein attach --json $c
		eq stdout "" "$output"
		[ -n "$(tail -n 1 <<<"$stderr" | field error.message)" ] || die "rein attach --json $c: '$stderr'"
	done
	eq version "$(rein version)" "rein $(rein version --json | field version)"
	# names that are no UTF-8
	q sh -c 'echo x >"$1"' sh $'\xff\n"'
	run -0 --separate-stderr rein show --json
	json_ok <<<"$output"
	has "$output" '"path_hex":"ff0a22"'
}

@test "--json: the documented keys, no more and no fewer" {
	python3 "$BATS_TEST_DIRNAME/schema.py" "$REIN_SOURCE/docs/json.md"
}

@test "diff: unified, --stat, --name-status, binary and huge files summarised, --json" {
	need "diff is not built" sh -c 'rein help | grep -q "^  diff"'
	printf 'one\ntwo\nthree\n' >t
	printf 'a\0b' >bin
	held sh -c 'sed -i s/two/TWO/ t; printf "a\0c" >bin; echo n >new; mkdir d; echo x >d/x; chmod 600 t; rm -f none' >/dev/null
	run -0 rein diff
	has "$output" "-two"
	has "$output" "+TWO"
	has "$output" "+n"
	has "$output" "d/x"
	hasnt "$output" $'\e['
	has "$output" bin
	has "$output" binary
	run -0 rein diff --stat
	has "$output" t
	run -0 rein diff --name-status
	has "$output" new
	run -0 --separate-stderr rein diff --json
	json_ok <<<"$output"
	eq "all of it" '["", "bin", "d", "d/x", "new", "t"]' "$(paths <<<"$output")"
	eq "some of it" '["d", "d/x", "new"]' "$(rein diff --json @ d new | paths)"
	eq "some of it" '["d/x"]' "$(rein diff --json @ 'd/*' | paths)"
	eq "none of it" '[]' "$(rein diff --json @ zzz | paths)"
	rein commit -q
	run -0 rein diff @
	has "$output" "+TWO"
	rein undo -q
	run -0 rein diff @
	has "$output" "+TWO"
	run -125 rein diff nope
}

@test "diff and show: symlinks, fifos and changes of type are told, and the lines that went with them" {
	local a
	printf 'a\nb\n' >f1 && mkdir dd && echo in >dd/in && printf '1\n2\n3\n' >notes && printf 'a\0b' >bin
	ln -s old lk && ln -s x ltof
	held sh -c 'ln -s /etc/passwd l1; mkfifo p; rm f1; ln -s /etc/passwd f1; rm -r dd; echo x >dd; ln -sfn new lk
		rm notes bin ltof; mkdir notes bin; echo x >notes/x; echo q >ltof' >/dev/null
	for a in held committed undone; do
		run -0 rein diff @
		has "$output" "created symlink l1 -> /etc/passwd"
		hasnt "$output" "+/etc/passwd"
		has "$output" "created fifo p"
		has "$output" $'modified f1, type file -> symlink, target /etc/passwd\n--- a/f1\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n'
		has "$output" $'modified dd, type directory -> file\n'
		has "$output" $'modified notes, type file -> directory\n--- a/notes\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-1\n-2\n-3\n'
		has "$output" $'modified bin, type file -> directory\n  (binary: 3 B -> none)'
		has "$output" "modified symlink lk, target old -> new"
		has "$output" "modified ltof, type symlink -> file, target was x"
		run -0 rein diff @ --stat
		has "$output" " A l1  symlink"
		has "$output" " M notes  file -> directory  +0 -3"
		has "$output" "+3 -6 lines"
		run -0 rein diff @ --name-status
		has "$output" $'A\tl1\tsymlink'
		has "$output" $'A\tp\tfifo'
		has "$output" $'M\tf1\tfile -> symlink'
		has "$output" $'A\tnotes/x'
		run -0 rein show
		has "$output" "l1 (symlink)"
		has "$output" "p (fifo)"
		has "$output" "notes/ (file -> directory)"
		case $a in held) rein commit -q ;; committed) rein undo -q ;; esac
	done
}

@test "names are told whole, however long, and cut between characters where they are cut" {
	local long w
	long=$(printf 'd%.0s' {1..200})
	long=$long/$long/$long/$long/$long/$long/$long
	held sh -c 'mkdir -p "$1"; echo 1 >"$1/file"' sh "$long" >/dev/null
	has "$(rein diff --name-status)" "$long/file"
	has "$(rein show)" "$long/file"
	has "$(rein diff --stat)" "$long/file"
	rein discard -q
	# ä has two bytes; a box is listed from its beginning to its end
	command rein run -y -q --discard -- sh -c 'sleep 20; : "$1"' sh "$(printf 'ä%.0s' {1..300})" 3>&- &
	until_true 10 sh -c 'rein ps --json | grep -q sleep'
	for w in 130 131 132 133; do
		COLUMNS=$w rein ps | iconv -f UTF-8 -t UTF-8 >/dev/null || die "half a character at $w columns"
	done
	rein stats "$(rein ps --json | field boxes.0.id)" | iconv -f UTF-8 -t UTF-8 >/dev/null
	rein kill "$(rein ps --json | field boxes.0.id)"
	wait || true
}

@test "diff of what another program can apply: patch turns the old tree into the new one" {
	need "diff is not built" sh -c 'rein help | grep -q "^  diff"'
	need "patch is not installed" command -v patch
	seq 1 50 >a; seq 1 9 >b; printf 'no newline' >c
	cp -a . "$T/old"
	held sh -c 'sed -i "s/^7$/seven/;40d" a; rm b; printf "still none" >c; echo new >n' >/dev/null
	rein diff >"$T/patch"
	(cd "$T/old" && patch -s -p1 <"$T/patch")
	rein commit -q
	diff -r . "$T/old"
}

@test "doctor: says what this machine can enforce, as text and as JSON" {
	need "doctor is not built" sh -c 'rein help | grep -q "^  doctor"'
	run rein doctor
	[ "$status" -le 1 ] || die "status $status: $output"
	has "$output" namespaces
	run --separate-stderr rein doctor --json
	json_ok <<<"$output"
}

@test "doctor: where a run would fail for want of a place or a program, it says so and what to do" {
	local how
	rein doctor -q || skip "kernel: this machine cannot"
	for how in "-u HOME -u REIN_STATE" "-u REIN_STATE HOME=relative" "REIN_STATE=relative" "REIN_STATE=/proc/none" "REIN_STATE=$T/file/state" "REIN_STATE=/"; do
		: >"$T/file"
		is_root && [ "$how" = "REIN_STATE=/" ] && continue
		# shellcheck disable=SC2086
		run env $how rein run -q --discard -- touch x
		eq "run with $how" 125 "$status"
		# shellcheck disable=SC2086
		run -125 env $how rein doctor
		has "$output" "missing   State"
		has "$output" REIN_STATE
		has "$output" "cannot run here"
		# shellcheck disable=SC2086
		run -125 --separate-stderr env $how rein doctor --json
		eq able false "$(field able <<<"$output")"
	done
	run -0 rein doctor
	has "$output" "$REIN_STATE"
	mkdir "$T/gone" && cd "$T/gone" && rmdir "$T/gone"
	run -0 rein doctor
	has "$output" "it was removed: go to one that is there"
	cd "$W"
	[ ! -e "$REIN_STATE" ] || die "it made something"
	mkdir "$T/alone"
	cp "$REIN_BUILD/rein" "$T/alone"
	run "$T/alone/rein" doctor
	[ -e /usr/local/libexec/rein/rein-box ] || { eq status 125 "$status"; has "$output" "missing   Programs"; has "$output" reinstall; }
	# only what went wrong
	hasnt "$(rein doctor -q)" " ok "
	hasnt "$(rein doctor -q)" "rein can run here"
}

@test "doctor: in a chroot, where the kernel makes no user namespace, it says so, and so does a run" {
	need "kernel: no chroot here" unshare -Urm true
	local root='' user how
	is_root && root=1
	mkdir "$T/other"
	for user in ${root:+root} other; do
		how=(unshare "${root:+-m}"); [ -n "$root" ] || how=(unshare -Urm)
		how+=(sh -c 'mount --rbind / "$1" && cd "$1" && shift && exec chroot . "$@"' sh "$T/other")
		[ $user = root ] || how+=(setpriv --bounding-set=-all --inh-caps=-all)
		run -125 "${how[@]}" env -C "$W" "$REIN_BUILD/rein" doctor
		has "$output" "missing   User namespaces"
		has "$output" chroot
		has "$output" "cannot run here"
		run -125 "${how[@]}" env -C "$W" "$REIN_BUILD/rein" run --approve -- touch x
		has "$output" "in a chroot the kernel makes none"
	done
}

@test "quiet and verbose" {
	for v in "run --commit" "run --hold" "run --discard"; do
		# shellcheck disable=SC2086
		run -0 rein $v -q -- sh -c 'echo 1 >>a'
		eq "rein $v -q" "" "$output"
	done
	run -0 rein commit -q
	eq commit "" "$output"
	run -0 rein undo -q
	eq undo "" "$output"
	run -0 rein redo -q
	eq redo "" "$output"
	run -0 rein gc -q
	eq gc "" "$output"
	run -0 rein run -v -- true
	has "$output" "workspace $W"
	has "$output" "network none"
	# errors are said even so
	run -125 rein undo -q nope
	has "$output" nope
}

@test "untrusted text is escaped: a file name or a command cannot drive the terminal" {
	q sh -c 'echo x >"$1"; : "$2"' sh $'\e[31mred\a' $'\e]0;title\a'
	for v in show log status "diff --name-status"; do
		# shellcheck disable=SC2086
		run rein $v
		hasnt "$output" $'\e'
		hasnt "$output" $'\a'
	done
	held sh -c 'echo y >>"$1"' sh $'\e[31mred\a' >/dev/null
	echo z >>$'\e[31mred\a'
	run -123 rein commit
	hasnt "$output" $'\e'
}

damage() { # FILE HOW
	case $2 in
	truncate) truncate -s $(($(stat -c %s "$1") / 2)) "$1" ;;
	empty) : >"$1" ;;
	garbage) head -c 300 /dev/urandom >"$1" ;;
	flip) python3 -c '
import sys
p = sys.argv[1]; b = bytearray(open(p, "rb").read()); b[len(b) // 2] ^= 0x55; open(p, "wb").write(b)' "$1" ;;
	missing) rm "$1" ;;
	esac
}

@test "damaged state: changes and ops truncated, emptied, flipped: refused with words, the tree stays, others work" {
	local id good how file
	echo 0 >other
	q sh -c 'echo 1 >>other'; good=$(newest)
	for file in changes ops; do
		for how in truncate empty garbage flip missing; do
			rm -f f && echo 0 >f
			q sh -c 'echo 1 >>f'
			id=$(newest)
			damage "$REIN_STATE/txn/$id/$file" $how
			run rein undo "$id"
			[ "$status" = 125 ] || die "$file $how: status $status: $output"
			has "$output" "rein:"
			eq "f after $file $how" $'0\n1' "$(cat f)"
			run -0 rein log
			has "$output" "$id"
		done
	done
	for how in truncate flip; do
		id=$(held sh -c 'echo 2 >>f')
		damage "$REIN_STATE/txn/$id/changes" $how
		run -125 rein commit "$id"
		eq f $'0\n1' "$(cat f)"
	done
	rein undo -q "$good"
	eq other 0 "$(cat other)"
}

@test "damaged state: a description that cannot be read is told, never collected, and loses nothing" {
	local id how
	for how in truncate empty garbage; do
		id=$(held sh -c "echo PRECIOUS >>p")
		damage "$REIN_STATE/txn/$id/meta" $how
		run -125 rein commit "$id"
		has "$output" "$id"
		run -0 rein log
		run -0 rein gc -q --keep 1 --keep-age 1ms
		grep -rqs PRECIOUS "$REIN_STATE/txn/$id" || die "the content of $id is gone"
	done
	[ ! -e p ]
}

@test "an interrupted commit is finished by whoever comes next, and said; a damaged journal stops everything" {
	local id
	echo 0 >f
	q sh -c 'echo 1 >>f'
	id=$(newest)
	# as if the last step (the journal is put away) had been lost
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	run -0 rein log
	has "$output" "interrupted"
	eq f $'0\n1' "$(cat f)"
	[ -e "$REIN_STATE/txn/$id/ops" ]
	rein undo -q "$id"
	eq f 0 "$(cat f)"
	rein redo -q
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	cp "$REIN_STATE/journal/$id" "$T/journal"
	damage "$REIN_STATE/journal/$id" flip
	run -125 rein run --commit -- sh -c 'echo 2 >>f'
	has "$output" "$id"
	eq f $'0\n1' "$(cat f)"
	cp "$T/journal" "$REIN_STATE/journal/$id"
	run -0 rein log
	rein undo -q "$id"
	eq f 0 "$(cat f)"
}

@test "the state: private to its user, made on demand, refused when another's" {
	q sh -c 'echo 1 >a'
	eq mode 700 "$(stat -c %a "$REIN_STATE")"
	rm -rf "$T/home2"; mkdir "$T/home2"
	HOME=$T/home2 run -0 env -u REIN_STATE "HOME=$T/home2" rein run --commit -q -- sh -c 'echo 2 >b'
	[ -d "$T/home2/.local/state/rein/txn" ]
	env -u REIN_STATE XDG_STATE_HOME="$T/xdg" rein run --commit -q -- sh -c 'echo 3 >c'
	[ -d "$T/xdg/rein/txn" ]
	if is_root; then
		mkdir "$T/foreign" && chown 1:1 "$T/foreign"
		run -125 env REIN_STATE="$T/foreign" rein log
		has "$output" "belongs to another user"
	else
		run -125 env REIN_STATE=/etc/rein-test-state rein log
		has "$output" "/etc/rein-test-state"
	fi
	chmod 755 "$REIN_STATE"
	run -0 rein log
	eq mode 700 "$(stat -c %a "$REIN_STATE")"
}

# VERB...: the options that its help names
options_of() { rein "$@" --help | sed -n 's/^  \(-[a-zA-Z],\|   \) \(--[a-z-]*\).*/\2/p'; }
letters_of() { rein "$@" --help | sed -n 's/^  \(-[a-zA-Z]\), --.*/\1/p'; }
audit_verbs() { rein audit help | sed -n 's/^  \([a-z-]*\)  *.*/\1/p'; }
all_verbs() { verbs; audit_verbs | sed 's/^/audit /'; }

@test "slips: what was probably meant is named, and what cannot be meant is not" {
	run -125 rein rnu -- touch made
	has "$output" "did you mean 'rein run'?"
	run -125 command rein ls
	hasnt "$output" "did you mean"
	has "$output" "rein run -- ls"
	run -125 command rein make
	hasnt "$output" "did you mean"
	run -125 rein run --comit -- touch made
	has "$output" "unknown option '--comit'; did you mean '--commit'?"
	run -125 rein run --limt=memory=1G -- touch made
	has "$output" "did you mean '--limit'?"
	run -125 rein run --xyzzy -- touch made
	hasnt "$output" "did you mean"
	run -125 rein audit log --sinse 1d
	has "$output" "did you mean '--since'?"
	run -125 rein run --allow-host https://example.org/x,ro -- touch made
	has "$output" "a host is wanted, not a URL: example.org"
	# "$NOTHING"
	run -125 rein run -- ""
	has "$output" "no command: rein run"
	# of a policy that is not there nothing is known about the command
	run -120 rein run -p none.yaml -- touch made
	hasnt "$output" unknown
	run -125 rein diff
	has "$output" "no transaction here"
	run -125 rein diff --stat --name-status
	has "$output" "keep one"
	# as git takes it
	run -125 rein diff src/main.c
	has "$output" "no transaction 'src/main.c' (see: rein log); of a path: rein diff @ src/main.c"
	run -125 rein diff zzzz
	hasnt "$output" "of a path"
	[ ! -e made ]
}

@test "--allow-host: this machine is not localhost, and its hint names a port" {
	run -125 rein run --allow-host localhost:8080 -- touch made
	has "$output" "this machine is host.rein.internal:8080"
	run -125 rein run --allow-host LOCALHOST -- touch made
	has "$output" "this machine is host.rein.internal:PORT"
	[ ! -e made ]
	run -0 rein run --allow-host 127.0.0.1:8080 -- true
	has "$output" "this machine is host.rein.internal:8080"
	run -0 rein run --allow-host '[::1]:8080' -- true
	has "$output" "this machine is host.rein.internal:8080"
	run -0 rein run --allow-host 192.0.2.7 -- true
	hasnt "$output" "this machine"
	run rein run --allow-host example.org -- getent ahostsv4 host.rein.internal
	has "$output" "to allow: --allow-host host.rein.internal:PORT"
}

@test "help audit: what rein audit --help prints, and of each of its verbs" {
	eq all "$(rein audit --help)" "$(rein help audit)"
	eq log "$(rein audit log --help)" "$(rein help audit log)"
	has "$(rein help audit log)" --follow
	run -125 rein help audit nothing
	run -125 rein help audit log x
	has "$output" "one too many"
}

@test "completion: bash loads it and completes verbs, options, choices and ids" {
	rein completion bash >"$T/c.bash"
	bash -n "$T/c.bash"
	complete_line() { # WORDS...: the last one is being completed
		bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _command_offset() { COMPREPLY=("offset $1"); }; _rein 2>&1; printf "%s\n" "${COMPREPLY[@]}"' _ "$T/c.bash" "$@"
	}
	eq undo undo "$(complete_line rein un)"
	has "$(complete_line rein run --time)" --timeout
	eq choice host "$(complete_line rein run --net h)"
	q sh -c 'echo 1 >a'
	has "$(complete_line rein show '')" "$(newest)"
	# of this workspace, and what the verb can use
	local done held
	done=$(newest) held=$(held touch later)
	has "$(complete_line rein undo '')" "$done"
	hasnt "$(complete_line rein undo '')" "$held"
	has "$(complete_line rein commit '')" "$held"
	hasnt "$(complete_line rein discard '')" "$done"
	mkdir "$T/other"
	hasnt "$(cd "$T/other" && complete_line rein commit '')" "$held"
	rein discard -q "$held"
	local v o
	for v in $(verbs); do has "$(complete_line rein "$v")" "$v"; done
	for v in $(audit_verbs); do has "$(complete_line rein audit "$v")" "$v"; done
	while read -r v; do
		# shellcheck disable=SC2086
		o=$(complete_line rein $v - | tr '\n' ' ')
		# shellcheck disable=SC2086
		for w in $(options_of $v) $(letters_of $v); do has " $o" " $w "; done
	done < <(all_verbs | grep -v '^audit$')
	# an option of one verb is none of another
	hasnt "$(complete_line rein audit show -)" --follow
	has "$(complete_line rein policy '')" explain
	has "$(complete_line rein help '')" classify
	has "$(complete_line rein completion '')" zsh
	: >"a file"
	eq file "a file" "$(complete_line rein run -p 'a f')"
	eq file "a file" "$(complete_line rein audit verify --anchor 'a f')"
	# the command's own completion begins where the command does
	eq command "offset 3" "$(complete_line rein run -- ls -)"
	eq command "offset 5" "$(complete_line rein run --timeout 5s --hold ls -)"
	eq command "offset 4" "$(complete_line rein run -w . ls '')"
	eq command "offset 4" "$(complete_line rein attach box -- l)"
	has "$(complete_line rein run --timeout 5s --ho)" --hold
}

@test "completion: zsh and fish know every verb and option" {
	local v o w
	rein completion zsh >"$T/_rein"
	rein completion fish >"$T/rein.fish"
	while read -r v; do
		# shellcheck disable=SC2086
		for w in $(options_of $v); do
			grep -qE -- "^complete -c rein -n '__rein_at $v'.* -l ${w#--}( |\$)" "$T/rein.fish" || die "fish: rein $v $w"
		done
	done < <(all_verbs | grep -v '^audit$')
	need "zsh is not installed" command -v zsh
	zsh -n "$T/_rein"
	# what it hands to zsh's own functions
	zsh_line() {
		zsh -f -c '_arguments() { print -rl -- "$@" }; _describe() { print -rl -- ${(P)2} }; compadd() { print -rl -- "$@" }; _normal() { print normal $CURRENT }
			compdef() { : }; source "$1"; shift; words=("$@"); CURRENT=$#; _rein' _ "$T/_rein" "$@"
	}
	for v in $(verbs); do has "$(zsh_line rein '')" "$v:"; done
	for v in $(audit_verbs); do has "$(zsh_line rein audit '')" "$v:"; done
	has "$(zsh_line rein policy '')" explain
	while read -r v; do
		# shellcheck disable=SC2086
		o=$(zsh_line rein $v '')
		# shellcheck disable=SC2086
		for w in $(options_of $v); do has "$o" "$w"; done
		# shellcheck disable=SC2086
		for w in $(letters_of $v); do grep -qE -- "^\*?$w[+[]" <<<"$o" || die "zsh: rein $v $w"; done
	done < <(all_verbs | grep -v '^audit$')
}

@test "completion: fish loads it and completes verbs, options, choices and ids" {
	local v w id
	need "fish is not installed" command -v fish
	rein completion fish >"$T/rein.fish"
	id=$(held sh -c 'echo 1 >a')
	# fish_line TEXT: what fish offers there, without the explanations; that it says nothing else is part of it
	fish_line() { fish --no-config -c 'source "$argv[1]"; complete -C "$argv[2]"' "$T/rein.fish" "$1" 2>&1 | cut -f1; }
	w=$(fish_line 'rein ')
	for v in $(verbs); do grep -qx -- "$v" <<<"$w" || die "rein $v: $w"; done
	w=$(fish_line 'rein audit ')
	for v in $(audit_verbs); do grep -qx -- "$v" <<<"$w" || die "rein audit $v: $w"; done
	eq option --on-failure "$(fish_line 'rein run --on-f')"
	eq choices "commit discard hold" "$(fish_line 'rein run --on-failure ' | sort | tr '\n' ' ' | sed 's/ $//')"
	eq id "$id" "$(fish_line 'rein commit ')"
	has "$(fish_line 'rein policy ')" explain
	eq "a verb of audit" --incremental "$(fish_line 'rein audit verify --inc')"
	eq "not there" "" "$(fish_line 'rein undo --on-f')"
}

@test "nobody reads any more: what was begun is done all the same; a list ends quietly" {
	local id
	bash -c 'rein run -v --commit -- sh -c "echo a; sleep 1; touch made" 2>&1 | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}"'
	until_true 5 test -e made || die "not committed: $(rein log -n 1)"
	# the command itself has the signal as ever
	run -0 rein run -q -- sh -c 'grep SigIgn /proc/self/status; grep SigCgt /proc/self/status'
	hasnt "$output" "SigIgn:	0000000000001000"
	id=$(held touch later)
	(exec 2> >(true); sleep 0.3; rein commit -v "$id" || true)
	eq committed committed "$(state_of "$id")"
	run -141 bash -c 'trap - PIPE; (sleep 0.3; exec rein help) | true; exit "${PIPESTATUS[0]}"'
}

@test "closed descriptors: no file of the state takes their place" {
	local n pid
	command rein run -y -q --discard -- sleep 20 3>&- <&- >&- 2>&- &
	pid=$!
	until_true 10 pgrep -P "$pid" >/dev/null
	for n in 0 1 2; do eq "descriptor $n" /dev/null "$(readlink "/proc/$pid/fd/$n")"; done
	kill "$pid"
	wait "$pid" || true
	run -125 bash -c 'rein help <&- >&-'
	has "$output" "cannot be written"
	run -125 bash -c 'rein classify <&-'
}

@test "output to a full device is an error, not silence" {
	q sh -c 'echo 1 >a'
	local v
	for v in --version --help version "help run" "completion fish" "run --help" "audit help"; do
		run -125 bash -c "rein $v >/dev/full"
		has "$output" "cannot be written"
		run -125 bash -c "rein $v >&-"
	done
	# once is enough
	for v in 'classify --json ls' 'audit export' 'audit report' log; do
		run -125 bash -c "rein $v 2>&1 >/dev/full"
		eq "$v" 1 "${#lines[@]}"
	done
	run bash -c 'rein log --json >/dev/full'
	[ "$status" -ne 0 ] || die "a report that could not be written was taken for done"
}

@test "-v shows every refusal of the network, not the first ones only" {
	local try='for i in 1 2 3 4 5 6 7 8 9 10 11; do getent hosts n$i.invalid; done; touch x'
	run -0 rein run --discard --approve --allow-host example.org -- sh -c "$try"
	eq few 8 "$(grep -c "refused n" <<<"$output")"
	has "$output" "and 3 more"
	run -0 rein run -v --discard --approve --allow-host example.org -- sh -c "$try"
	eq all 11 "$(grep -c "refused n" <<<"$output")"
	hasnt "$output" "more refusals"
}

@test "a box may write to /run under both of its names: nothing is said of it" {
	run -3 rein run --discard --approve -- sh -c 'touch /var/run/x /run/y; exit 3'
	hasnt "$output" "outside the workspace"
	run -3 rein run --discard --approve -- sh -c 'touch /etc/x; exit 3'
	has "$output" "outside the workspace"
}
