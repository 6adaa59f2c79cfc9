#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Deciding: commit, discard, hold; conflicts; undo and redo; what a commit preserves.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

@test "decision: without a terminal success commits, failure holds; options say otherwise" {
	run -0 rein run -- sh -c 'echo 1 >a'
	has "$output" "Committed"
	eq a 1 "$(cat a)"
	run -3 rein run -- sh -c 'echo 2 >b; exit 3'
	has "$output" "Held"
	has "$output" "rein commit"
	[ ! -e b ]
	eq reason "the command failed" "$(rein show --json | field reason)"
	rein discard -q
	run -0 rein run --discard -- sh -c 'echo 3 >c'
	has "$output" discarded
	[ ! -e c ]
	run -0 rein run --hold -- sh -c 'echo 4 >d'
	[ ! -e d ]
	rein commit -q
	eq d 4 "$(cat d)"
	run -3 rein run --on-failure commit -q -- sh -c 'echo 5 >e; exit 3'
	eq e 5 "$(cat e)"
	run -3 rein run --on-failure discard -q -- sh -c 'echo 6 >f; exit 3'
	[ ! -e f ]
	eq discarded discarded "$(rein show --json | field state)"
	run -3 rein run --commit --on-failure hold -q -- sh -c 'echo 7 >g; exit 3'
	[ ! -e g ]
	run -0 rein run --discard --on-failure commit -q -- sh -c 'echo 8 >h'
	[ ! -e h ]
	run -3 rein run --commit -q -- sh -c 'echo 9 >i; exit 3'
	eq i 9 "$(cat i)"
	run -125 rein run --commit --hold -- true
	has "$output" contradicts
	run -125 rein run --on-failure explode -- true
	has "$output" "commit|discard|hold"
}

@test "a run without changes leaves no transaction and no trace in the state" {
	local before
	q true
	before=$(find "$REIN_STATE/txn" | wc -l)
	run -0 rein run -- sh -c 'cat /etc/passwd >/dev/null; touch t; rm t'
	has "$output" "no changes"
	run -1 rein run -- false
	eq state "$before" "$(find "$REIN_STATE/txn" | wc -l)"
	eq log "" "$(rein log --ids)"
	# its directories wait for the next run, or for a collection
	[ -n "$(ls "$REIN_STATE/spare")" ]
	rein gc -q
	eq spare "" "$(find "$REIN_STATE/spare" "$REIN_STATE/trash" -mindepth 1)"
}

@test "held: listed by status and log, several at once, committed in any order, gone after discard" {
	local a b c
	a=$(held sh -c 'echo a >a')
	b=$(held sh -c 'echo b >b')
	c=$(held sh -c 'echo c >c')
	eq three 3 "$(rein log --ids --state held | wc -l)"
	has "$(rein status)" "$a"
	has "$(rein status)" "$c"
	rein commit -q "$b"
	rein commit -q "$a"
	rein discard -q "$c"
	eq ls $'a\nb' "$(ls)"
	eq status "nothing is waiting here" "$(rein status)"
	run -125 rein commit "$b"
	has "$output" "$b"
	run -125 rein discard "$a"
	run -125 rein undo "$c"
	run -125 rein redo "$a"
	run -125 rein commit
	has "$output" "no held transaction"
}

@test "names: without one, only this workspace's: another project's work is not touched from here" {
	rein run -q -- sh -c 'echo 1 >here'
	mkdir "$T/elsewhere" && cd "$T/elsewhere"
	for verb in undo redo commit discard diff "show @" "undo @"; do
		run -125 rein $verb
		has "$output" "(see: rein log)"
	done
	# a directory that is gone is nowhere
	rmdir "$T/elsewhere"
	run -125 rein undo
	cd "$W"
	eq kept 1 "$(cat here)"
	rein undo -q
	[ ! -e here ]
}

@test "names: id, prefix, @, @~1, @~2; wrong ones are told" {
	local one two three
	q sh -c 'echo 1 >1'; one=$(newest)
	q sh -c 'echo 2 >2'; two=$(newest)
	q sh -c 'echo 3 >3'; three=$(newest)
	eq @ "$three" "$(rein show --json @ | field id)"
	eq @~1 "$two" "$(rein show --json @~1 | field id)"
	eq @~ "$two" "$(rein show --json @~ | field id)"
	eq @~2 "$one" "$(rein show --json @~2 | field id)"
	eq @~0 "$three" "$(rein show --json @~0 | field id)"
	eq prefix "$one" "$(rein show --json "${one:0:3}" | field id)"
	for bad in @~3 @~x @x @@ nope ../txn . / "" "$one"x; do
		run -125 rein show "$bad"
		has "$output" "rein:"
	done
	mkdir "$T/w2" && cd "$T/w2"
	run -0 rein log
	eq elsewhere "" "$(rein log --ids)"
	eq all 3 "$(rein log --all --ids | wc -l)"
}

@test "names: one letter is enough where it is the only one; of several all are told" {
	local first=() id letter n=0 alone=''
	while [ -z "$(printf '%s\n' "${first[@]}" | sort | uniq -d)" ] || [ -z "$alone" ]; do
		[ $((n += 1)) -le 60 ]
		q sh -c "echo $n >f"
		id=$(newest)
		first+=("${id:0:1}")
		alone=$(printf '%s\n' "${first[@]}" | sort | uniq -u | head -n 1)
	done
	eq letter "$(rein log --ids | grep "^$alone")" "$(rein show --json "$alone" | field id)"
	letter=$(printf '%s\n' "${first[@]}" | sort | uniq -d | head -n 1)
	run -125 rein show "$letter"
	has "$output" "'$letter' is the beginning of several transactions"
	for id in $(rein log --ids | grep "^$letter"); do has "$output" "$id"; done
	run -125 rein show ""
}

@test "commit --only and --except: the rest stays held as a new transaction" {
	local rest
	mkdir src docs
	echo 1 | tee src/a.c src/b.c docs/x.md >/dev/null
	rein run --hold -q -- sh -c 'for f in src/*.c docs/x.md; do echo 2 >>$f; done; mkdir -p new/deep; echo n >new/deep/n; echo m >new/m; rm docs/x.md'
	run -0 rein commit --only 'src/*.c' --except 'src/b.c'
	has "$output" "the rest is held as"
	rest=$(newest)
	eq a $'1\n2' "$(cat src/a.c)"
	eq b 1 "$(cat src/b.c)"
	[ -e docs/x.md ] && [ ! -e new ]
	run -0 rein commit --only new/deep "$rest"
	eq deep n "$(cat new/deep/n)"
	[ ! -e new/m ]
	rest=$(newest)
	run -0 rein commit "$rest"
	eq b $'1\n2' "$(cat src/b.c)"
	eq m m "$(cat new/m)"
	[ ! -e docs/x.md ]
	rein undo -q
	eq b 1 "$(cat src/b.c)"
	[ -e docs/x.md ] && [ ! -e new/m ] && [ -e new/deep/n ]
}

@test "commit --only: what is left of a new or of a deleted directory comes later" {
	mkdir old && touch old/a old/b old/c
	held sh -c 'mkdir new; echo 1 >new/a; echo 2 >new/b; rm -r old' >/dev/null
	rein commit -q --only new/a --only old/a
	eq new a "$(ls new)"
	eq old $'b\nc' "$(ls old)"
	rein commit -q
	eq new $'a\nb' "$(ls new)"
	eq b 2 "$(cat new/b)"
	[ ! -e old ] || die "old is still there: $(ls old)"
	rein undo -q
	eq new a "$(ls new)"
	eq old $'b\nc' "$(ls old)"
	rein undo -q
	eq all old "$(ls)"
	eq old $'a\nb\nc' "$(ls old)"
}

@test "commit --only: an undo takes nothing along that was left out of the commit and came later" {
	local id
	id=$(held sh -c 'mkdir -p new/t; echo 1 >new/t/a; echo 2 >new/b')
	rein commit -q --only new/t/a
	rein commit -q
	run -123 rein undo "$id"
	eq all $'b\nt' "$(ls new)"
	rein undo -q
	rein redo -q "$(newest)"
	run -123 rein undo "$id"
	rein undo -q
	# the name is free, and a person takes it
	echo mine >new/b
	run -123 rein undo "$id"
	has "$output" "new: created here, was changed after the commit"
	eq mine mine "$(cat new/b)"
	rm new/b
	run -0 rein undo "$id"
	[ ! -e new ]
}

@test "commit --only: all that is in a directory, which itself is not named" {
	mkdir old && touch old/a.c old/b.c && cp -a old before
	held sh -c 'mkdir -p new/deep flat; echo 0 >flat/x.c; echo 1 >new/deep/x.c; echo 2 >new/x.c; echo 3 >x.c; echo 4 >y; rm -r old' >/dev/null
	run -0 rein commit --only '*.c'
	has "$output" "7 created, 2 deleted"
	rein discard -q
	eq there "./before/a.c ./before/b.c ./flat/x.c ./new/deep/x.c ./new/x.c ./x.c" "$(find . -type f | LC_ALL=C sort | xargs)"
	eq emptied "" "$(ls old)"
	rein undo -q
	diff -r before old
	eq all $'before\nold' "$(ls)"
	held sh -c 'mkdir n; echo 1 >n/x' >/dev/null
	run -0 rein commit --only 'n/*'
	eq x 1 "$(cat n/x)"
	eq nothing "" "$(rein log --ids --state held)"
}

@test "undo and redo of a directory that replaced another: what came into either since is not taken along" {
	mkdir c && echo 1 >c/old
	q sh -c 'rm -r c; mkdir c; echo 2 >c/new'
	echo mine >c/old
	run -123 rein undo
	eq mine mine "$(cat c/old)"
	rm c/old
	rein undo -q
	eq old 1 "$(cat c/old)"
	rein redo -q && rein undo -q
	# over a directory that came meanwhile, by --theirs
	held sh -c 'mkdir d; echo 2 >d/f' >/dev/null
	mkdir d && echo 3 >d/f
	rein commit -q --theirs d
	eq theirs 2 "$(cat d/f)"
	rein undo -q && rein redo -q && rein undo -q
	eq back 3 "$(cat d/f)"
	sleep 0.05
	echo 4 >d/f
	run -123 rein redo
	eq mine 4 "$(cat d/f)"
}

@test "commit --only: a part of what is deep in a deleted directory" {
	mkdir -p old/in/deep && touch old/a old/in/b old/in/c old/in/deep/d
	cp -a old before
	held rm -r old >/dev/null
	run -0 rein commit --only old/in/b --only old/in/deep
	eq left "old/a old/in/c" "$(find old -type f | LC_ALL=C sort | xargs)"
	[ -z "$(ls old/in/deep)" ]
	run -0 rein commit
	[ ! -e old ]
	rein undo -q && rein undo -q
	diff -r before old
}

@test "undo and redo leave the mode that a directory was given since" {
	mkdir -m 755 d && touch d/old
	q touch d/new
	chmod 700 d
	rein undo -q
	eq undone 700 "$(stat -c %a d)"
	chmod 750 d
	rein redo -q
	eq redone 750 "$(stat -c %a d)"
	# a mode of the run's own goes and comes back, or is a conflict
	q sh -c 'chmod 711 d; touch d/newer'
	rein undo -q
	eq undone 750 "$(stat -c %a d)"
	rein redo -q
	eq redone 711 "$(stat -c %a d)"
	chmod 700 d
	run -123 rein undo
	eq left 700 "$(stat -c %a d)"
}

@test "commit --only: undo and redo in a directory that is another one by now get through, and nothing gets stuck" {
	mkdir -m 750 d && touch d/old
	held sh -c 'echo 1 >d/a; echo 2 >d/b' >/dev/null
	rein commit -q --only d/a
	rein discard -q
	rein undo -q
	# as a change of branches leaves it
	mv d away && mkdir -m 700 d && touch -d '2020-01-01' d
	run -0 rein redo
	eq a 1 "$(cat d/a)"
	eq mode 700 "$(stat -c %a d)"
	eq time 2020 "$(date -r d +%Y)"
	run -0 rein undo
	[ ! -e d/a ]
	eq time 2020 "$(date -r d +%Y)"
	rmdir d
	run -123 rein redo
	mv away d
	run -0 rein redo
	run -0 rein run -q -- true
}

@test "commit --only: the rest is merged from what the run found, and loses no edit made meanwhile" {
	local rest
	seq 1 10 >f
	echo 1 >a
	held sh -c 'sed -i "s/^9$/nine/" f; echo 2 >a' >/dev/null
	sed -i 's/^2$/two/' f
	rest=$(rein commit --json --only a | field rest)
	run -123 rein commit "$rest"
	run -0 rein commit "$rest" --merge
	eq merged "1 two 3 4 5 6 7 8 nine 10 " "$(tr '\n' ' ' <f)"
}

@test "commit --except of where a directory moved: it stays as a whole, and comes as a whole with the rest" {
	local was
	mkdir -p a/x c
	echo 1 >a/x/p; echo 2 >a/q; echo 3 >g
	was=$(snap .)
	held sh -c 'rm g; mv a c' >/dev/null
	run -0 rein commit --except c
	eq stays "a/q a/x/p" "$(find . -type f -printf '%P\n' | sort | xargs)"
	run -0 rein commit
	eq moved "c/a/q c/a/x/p" "$(find . -type f -printf '%P\n' | sort | xargs)"
	[ ! -e a ]
	rein undo -q
	rein undo -q
	eq undone "$was" "$(snap .)"
}

@test "commit --only: a part of a new directory, in a directory that was there" {
	mkdir d
	held sh -c 'mkdir d/n; echo x >d/n/x; echo y >d/n/y' >/dev/null
	run -0 rein commit --only d/n/x
	eq x x "$(ls d/n)"
	run -0 rein commit
	eq y y "$(cat d/n/y)"
}

@test "commit --only: a file deep in a new directory brings the directories on the way, and nothing else" {
	held sh -c 'mkdir -p new/deep/er; echo n >new/deep/er/n; echo o >new/deep/o; mkdir new/other; echo m >new/other/m' >/dev/null
	run -0 rein commit --only new/deep/er/n
	eq all ". ./new ./new/deep ./new/deep/er ./new/deep/er/n" "$(find . | LC_ALL=C sort | xargs)"
	eq n n "$(cat new/deep/er/n)"
	run -0 rein commit
	eq o o "$(cat new/deep/o)"
	eq m m "$(cat new/other/m)"
	eq n n "$(cat new/deep/er/n)"
}

@test "another tree's paths are named as they are shown: --only, --except, --ours, --theirs, diff" {
	local w2=$T/w2 id
	mkdir "$w2"; echo 0 | tee k "$w2/k" "$w2/j" >/dev/null
	rein run --hold -q --rw "$w2" -- sh -c "echo 1 >k; echo 1 >$w2/k; echo 1 >$w2/j"
	id=$(newest)
	has "$(rein show "$id")" "$w2/k"
	eq diff "M	$w2/k" "$(rein diff --name-status "$id" "$w2/k")"
	eq diff 2 "$(rein diff --name-status "$id" "$w2" | wc -l)"
	run -0 rein commit "$id" --only "$w2/k"
	eq chosen "0 1 0" "$(cat k "$w2/k" "$w2/j" | xargs)"
	echo out | tee k "$w2/j" >/dev/null
	run -0 rein commit --ours /k --theirs "$w2/j"
	eq settled "out 1 1" "$(cat k "$w2/k" "$w2/j" | xargs)"
}

@test "commit --only: the rest is of the same action; where the commit fails there is none" {
	local id rest
	rein run --hold -q --agent ada -- sh -c 'echo 1 >a; echo 2 >b; echo 3 >c'
	id=$(newest)
	rest=$(rein commit --json --only a | field rest)
	for key in action agent level reach; do
		eq $key "$(rein show --json "$id" | field $key)" "$(rein show --json "$rest" | field $key)"
	done
	has "$(rein show --json "$rest" | field agent)" ada
	mv "$REIN_STATE/audit" "$T/audit" && echo 1 >"$REIN_STATE/audit"
	run -125 rein commit "$rest" --only b
	rm "$REIN_STATE/audit" && mv "$T/audit" "$REIN_STATE/audit"
	hasnt "$output" "the rest"
	eq newest "$rest" "$(newest)"
	eq ls a "$(ls)"
	run -0 rein commit "$rest"
	eq ls $'a\nb\nc' "$(ls)"
}

# paths ID: of all that it is to change
paths() {
	rein show --json "$1" | python3 -c 'import json, sys; print(*(c["path"] for c in json.load(sys.stdin)["changes"]))'
}

@test "commit --only: what --ours settled is held for no other time" {
	local rest
	echo 1 >y; echo 1 >z; mkdir old; echo 1 >old/a; echo 1 >old/b
	held sh -c 'echo 2 >x; echo 2 >y; echo 2 >z; rm -r old' >/dev/null
	echo out >y; echo out >old/a
	# not chosen, but decided; what is in nobody's way stays held, and so does what is and was not named
	rest=$(rein commit --json --only x --ours y --ours z | field rest)
	eq held "old old/a old/b z" "$(paths "$rest")"
	eq files "2 out 1" "$(cat x y z | xargs)"
	# chosen, and decided: a directory in which something stays, stays
	rest=$(rein commit --json "$rest" --except z --ours old/a | field rest)
	eq held z "$(paths "$rest")"
	eq files out "$(cat old/*)"
	run -0 rein commit "$rest"
	eq nothing "" "$(rein log --ids --state held)"
	eq z 2 "$(cat z)"
	for _ in 1 2 3; do rein undo -q; done
	eq undone "out 1 out 1" "$(cat y z old/a old/b | xargs)"
	[ ! -e x ]
	held sh -c 'echo 3 >x; rm -r old' >/dev/null
	echo outer >old/b
	rest=$(rein commit --json --only x --ours old | field rest)
	eq held old/a "$(paths "$rest")"
	rein commit -q "$rest"
	eq files "3 outer" "$(cat x old/* | xargs)"
	# all of it is settled: there is no rest
	held sh -c 'echo 4 >x; mv y n' >/dev/null
	echo outer >n
	run -0 rein commit --json --only x --ours n
	hasnt "$output" '"rest"'
	eq nothing "" "$(rein log --ids --state held)"
	eq files "4 out outer" "$(cat x y n | xargs)"
	# one file is one decision
	ln z zz
	held sh -c 'echo 5 >x; echo 5 >z' >/dev/null
	echo outer >z
	run -125 rein commit --only x --ours z
	has "$output" "one file"
	rest=$(rein commit --json --only x --ours 'z*')
	hasnt "$rest" '"rest"'
	eq files "5 outer" "$(cat x zz | xargs)"
}

@test "a commit that fails leaves out nothing the next time: --ours, --only, --theirs, --merge" {
	local id own
	is_root || skip "mounts"
	seq 1 20 >text
	echo 1 | tee a b >/dev/null
	id=$(held sh -c 'echo box >a; echo box >b; mkdir -p new/deep; echo x >new/x; echo y >new/deep/y; sed -i s/^2$/two/ text')
	echo out >a
	sed -i 's/^19$/nineteen/' text
	# no journal can be written: it fails after all else was prepared
	mount -t tmpfs -o nr_inodes=1 none "$REIN_STATE/journal"
	after() { umount "$REIN_STATE/journal" || true; }
	rein show --json "$id" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["changes"])' >"$T/before"
	own=$(stat -c '%a %Y %s' "$REIN_STATE/txn/$id/r0/upper/text")
	run -125 rein commit "$id" --ours a --merge
	# what is held is what the run wrote, not what was merged for the attempt
	eq own "$own" "$(stat -c '%a %Y %s' "$REIN_STATE/txn/$id/r0/upper/text")"
	eq text "two 19" "$(sed -n '2p;19p' "$REIN_STATE/txn/$id/r0/upper/text" | xargs)"
	[ ! -e "$REIN_STATE/txn/$id/own" ]
	run -125 rein commit "$id" --theirs a --theirs text
	run -125 rein commit "$id" --only b --only new/x
	rein show --json "$id" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["changes"])' >"$T/after"
	diff "$T/before" "$T/after"
	eq held "$id" "$(rein log --ids)"
	eq b 1 "$(cat b)"
	umount "$REIN_STATE/journal"
	after() { :; }
	run -123 rein commit "$id"
	has "$output" a
	run -0 rein commit "$id" --only b --only new/x --only text --merge
	eq new x "$(ls new)"
	eq text "2 two 19 nineteen" "$(sed -n '2{=;p};19{=;p}' text | xargs)"
	[ ! -e "$REIN_STATE/txn/$id/own" ]
	run -0 rein commit --theirs a
	eq all "box box x y" "$(cat a b new/x new/deep/y | xargs)"
}

@test "a commit that is taken back half way has everything again that it left out" {
	local id
	is_root || skip "mounts"
	mkdir z; echo 1 | tee a z/f >/dev/null
	id=$(held sh -c 'mkdir new; echo x >new/x; echo y >new/y; echo 2 >z/f; echo 2 >a')
	# what is mounted on cannot be exchanged, and looks the same
	mount --bind z/f z/f
	after() { umount "$W/z/f" || true; }
	run -125 rein commit "$id" --except new/y
	has "$output" "nothing was changed"
	umount z/f
	after() { :; }
	eq held "$id" "$(rein log --ids)"
	[ ! -e new ]
	# a was there and back: that is nobody's change
	run -0 rein commit "$id"
	eq all "2 2 x y" "$(cat a z/f new/x new/y | xargs)"
}

@test "commit --only: files that are one file in the rest stay one" {
	held sh -c 'echo 1 >p; ln p q; mkdir d; ln p d/r; echo o >o' >/dev/null
	run -0 rein commit --only o
	run -0 rein commit
	eq names "3 3 3" "$(stat -c %h p q d/r | xargs)"
	eq one 1 "$(stat -c %i p q d/r | sort -u | wc -l)"
	run -0 rein undo
	eq ls o "$(ls)"
}

@test "a layer that lies elsewhere: what is one file in it is one in the tree" {
	is_root || skip "mounts"
	mkdir "$T/disk"
	mount -t tmpfs none "$T/disk"
	mkdir "$T/disk/"{lower,upper,work,w}
	echo 1 >"$T/disk/lower/f"
	after() { umount "$T/disk/w"; umount "$T/disk"; }
	mount -t overlay -o "lowerdir=$T/disk/lower,upperdir=$T/disk/upper,workdir=$T/disk/work" none "$T/disk/w"
	cd "$T/disk/w"
	q sh -c 'echo 2 >f; ln f g; mkdir d; ln f d/h'
	eq names "3 3 3" "$(stat -c %h f g d/h | xargs)"
	run -0 rein undo
	eq f 1 "$(cat f)"
	eq ls f "$(ls)"
	# the first of them, in a directory, is left out
	held sh -c 'mkdir d; echo 1 >d/a; echo 1 >d/b; ln d/a z; ln d/a y' >/dev/null
	run -0 rein commit --except d/a
	eq d b "$(ls d)"
	eq names "2 2" "$(stat -c %h y z | xargs)"
	cd "$W"
}

@test "commit --only: where there is no room for the rest, half of it does not stay" {
	local id
	is_root || skip "mounts"
	mkdir "$T/disk"
	mount -t tmpfs -o size=4m none "$T/disk"
	after() { umount "$T/disk"; }
	mkdir "$T/disk/w" && cd "$T/disk/w"
	id=$(held sh -c 'echo 1 >a; head -c 1500000 /dev/urandom >b; head -c 1500000 /dev/urandom >c')
	run -125 rein commit --only a
	has "$output" "No space left"
	eq stores "$id" "$(ls "$T"/disk/.rein-*)"
	eq txn "$id" "$(ls "$REIN_STATE/txn")"
	run -0 rein commit
	eq ls $'a\nb\nc' "$(ls)"
	cd "$W"
}

# A disk of its own, with the workspace and the state on it.
small_disk() {
	mkdir "$T/disk"
	mount -t tmpfs -o "$1" none "$T/disk"
	# what was thrown away may still be going
	after() { for _ in $(seq 100); do ! umount "$T/disk" 2>/dev/null || break; sleep 0.1; done; }
	export REIN_STATE=$T/disk/state
	mkdir "$T/disk/w" && cd "$T/disk/w"
}

@test "a command that fills the disk: it is held, and gives the room back when it is thrown away" {
	is_root || skip "mounts"
	small_disk size=8m,nr_inodes=2000
	echo 1 >a
	run -1 rein run -- sh -c 'echo 2 >a; cat /dev/zero >big; false'
	has "$output" "Held"
	run -0 rein log
	has "$output" "held"
	run -0 rein discard
	eq a 1 "$(cat a)"
	[ "$(stat -fc %a .)" -gt 1000 ]
	run -1 rein run -- sh -c 'mkdir many; while true >many/$((i += 1)); do :; done 2>/dev/null; false'
	has "$output" "Held"
	run -0 rein discard
	run -0 rein gc
	q sh -c 'echo 3 >a'
	eq a 3 "$(cat a)"
	# others fill it while something waits
	held sh -c 'echo 4 >a; echo 1 >b' >/dev/null
	cat /dev/zero >big || true
	run -0 rein commit
	eq a 4 "$(cat a)"
	run -0 rein undo
	eq a 3 "$(cat a)"
	cd "$W"
}

@test "a command that fills the disk, and did more than can be written down then, stops nobody else" {
	local fill='mkdir m; while [ "$i" != 8000 ]; do : >m/a-name-that-makes-the-list-of-changes-a-long-one-$((i += 1)); done; cat /dev/zero >big'
	is_root || skip "mounts"
	small_disk size=16m,nr_inodes=20000
	run -125 rein run --limit free=none -- sh -c "$fill; false"
	has "$output" "cannot be held: make room"
	run -0 rein log
	has "$output" "No space left"
	run -0 rein status
	run -0 rein discard @
	has "$output" "not known"
	# what is rolled back is gone, and its list with it
	run -124 rein run --limit free=none --timeout 5s -- sh -c "$fill; sleep 60"
	run -0 rein show @
	q sh -c 'echo 1 >a'
	eq ls a "$(ls)"
	cd "$W"
}

@test "what the caller's shell lets files grow to is told, and ends nothing half way" {
	echo 1 >a
	run -125 bash -c 'ulimit -f 1; rein run --commit -- sh -c "echo 2 >a"'
	has "$output" "File too large"
	eq a 1 "$(cat a)"
	run -153 rein run --discard -q -- sh -c 'ulimit -f 1; exec head -c 9000 /dev/zero >b'
}

@test "commit --except: a path of any length is left out" {
	cat >deep.py <<-'EOF'
		import os
		for i in range(30):
		    os.mkdir("d" * 200)
		    os.chdir("d" * 200)
		open("kept", "w").close()
		open("out", "w").close()
	EOF
	held sh -c 'python3 deep.py; echo 1 >top' >/dev/null
	# what is left out cannot be held by itself so far down: then nothing is committed, and all is held as before
	run -125 rein commit --except '**/out'
	eq ls deep.py "$(ls)"
	run -0 rein commit
	eq ls 3 "$(find . -maxdepth 1 | tail -n +2 | wc -l)"
	rein undo -q
}

@test "commit --only that matches nothing is an error and changes nothing" {
	held sh -c 'echo 1 >a; echo 2 >b' >/dev/null
	run -125 rein commit --only 'nothing*'
	has "$output" "--only 'nothing*': no change"
	eq ls "" "$(ls)"
	rein commit -q
	eq ls $'a\nb' "$(ls)"
}

@test "commit --only and --except: one pattern of several that names nothing is an error, and nothing is committed" {
	local id
	mkdir old; echo 1 >old/x; mkdir still
	id=$(held sh -c 'echo 1 >a; echo 2 >secret; mv old/x new; echo t >still/t; rm still/t')
	for bad in '--except secrte' '--except secret --except nothing' '--only a --only nothing' '--except still'; do
		# shellcheck disable=SC2086  # two words
		run -125 rein commit "$id" $bad
		has "$output" "'${bad##* }': no change of transaction $id"
		# shellcheck disable=SC2086
		run -125 --separate-stderr rein commit --json "$id" $bad
		eq code usage "$(field error.code <<<"$output")"
		has "$(field error.message <<<"$output")" "'${bad##* }'"
	done
	eq ls $'old\nstill' "$(ls)"
	eq state held "$(state_of "$id")"
	# a directory for what is in it, and the old name of a rename, name something
	run -0 rein commit "$id" --except secret --except old
	eq ls $'a\nnew\nold\nstill' "$(ls)"
	eq x 1 "$(cat old/x)"
}

@test "a name that is shown escaped can be given as it is shown: --only, --except, --ours, diff; its own letters come first" {
	local id nl=$'a\nb' odd=$'d\xff\te' back='c\n'
	id=$(held sh -c 'echo 1 >"$1"; mkdir "$2"; echo 2 >"$2/f"; echo 3 >"$3"; echo 4 >anb' - "$nl" "$odd" "$back")
	has "$(rein show "$id")" 'a\nb'
	has "$(rein diff "$id" 'a\nb')" "+4" # as a pattern it is anb
	rein commit -q "$id" --only anb
	id=$(newest)
	has "$(rein diff "$id" 'a\nb')" "+1"
	has "$(rein diff --name-status "$id" 'd\xff\te/')" f
	has "$(rein diff "$id" 'c\\n')" "+3"
	eq json 1 "$(rein diff --json "$id" 'a\nb' | grep -o '"kind":"created"' | wc -l)"
	run -0 rein commit "$id" --except 'a\nb' --except 'c\\n'
	[ -e "$odd/f" ] && [ ! -e "$nl" ] && [ ! -e "$back" ]
	id=$(newest)
	echo out >"$nl"
	run -123 rein commit "$id"
	has "$output" 'a\nb: created here'
	run -0 rein commit "$id" --ours 'a\nb'
	eq kept out "$(cat "$nl")"
	eq other 3 "$(cat "$back")"
}

@test "conflict: content, deletion, creation, directory, type changed outside: nothing is committed, each is listed" {
	mkdir dir deldir
	echo 1 | tee content deleted type deldir/f keep >/dev/null
	held sh -c 'echo 2 >>content; echo 2 >>deleted; echo mine >created; echo x >dir/x; echo 2 >>type; rm -rf deldir; echo 2 >>keep' >/dev/null
	echo outside >>content
	rm deleted
	echo theirs >created
	rm -r dir
	rm type && mkdir type
	echo new >deldir/later
	snap . >"$T/before"
	run -123 rein commit
	for p in content deleted created dir/x type deldir; do has "$output" "$p"; done
	hasnt "$output" keep
	has "$output" "nothing was changed"
	snap . >"$T/after"
	diff "$T/before" "$T/after"
	eq held held "$(rein show --json @ | field state)"
	run -123 --separate-stderr rein commit --json
	eq code conflict "$(field error.code <<<"$output")"
	rein discard -q
}

@test "conflict: at the end of a run the object is the last line all the same" {
	local pid status=0
	echo 1 >file; mkfifo "$T/in"
	rein run --json --commit -- sh -c 'echo 2 >file; echo ready; read -r x' 3>&- <"$T/in" >"$T/out" 2>"$T/err" &
	pid=$!
	exec 4>"$T/in"
	until_true 10 grep -q ready "$T/out"
	echo other >file
	echo go >&4; exec 4>&-
	wait $pid || status=$?
	eq status 123 "$status"
	eq code conflict "$(tail -n 1 "$T/err" | field error.code)"
	has "$(cat "$T/err")" "cannot be committed"
	eq file other "$(cat file)"
	rein discard -q
}

@test "conflict: a directory's mode that both sides changed; its time alone is none" {
	mkdir -m 755 d
	rein run -q --hold -- chmod 700 d
	chmod 711 d
	run -123 rein commit
	has "$output" " d:"
	eq mode 711 "$(stat -c %a d)"
	rein discard -q
	rein run -q --commit -- chmod 700 d
	chmod 711 d
	run -123 rein undo
	eq mode 711 "$(stat -c %a d)"
	chmod 700 d
	mkdir e
	rein run -q --hold -- touch -d @5 e
	touch e
	run -0 rein commit
}

@test "conflict: --ours keeps, --theirs takes, per path; the commit then goes through and can be undone" {
	echo 1 | tee a b c >/dev/null
	held sh -c 'echo box >>a; echo box >>b; echo box >>c' >/dev/null
	echo out >>a
	echo out >>b
	run -123 rein commit --ours a
	has "$output" b
	eq untouched $'1\nout' "$(cat b)"
	run -0 rein commit --ours a --theirs b
	eq a $'1\nout' "$(cat a)"
	eq b $'1\nbox' "$(cat b)"
	eq c $'1\nbox' "$(cat c)"
	run -0 rein undo
	eq a $'1\nout' "$(cat a)"
	eq b $'1\nout' "$(cat b)"
	eq c 1 "$(cat c)"
	# a path gone outside comes back with --theirs, one made outside is replaced
	held sh -c 'echo box >>a; echo box >n' >/dev/null
	rm a; echo out >n
	run -123 rein commit
	run -0 rein commit --theirs a --theirs n
	eq a $'1\nout\nbox' "$(cat a)"
	eq n box "$(cat n)"
	rein undo -q
	[ ! -e a ]
	eq n out "$(cat n)"
}

@test "conflict: a directory stands for what is in it, and a path for itself, whatever its letters" {
	mkdir -p d/e o; echo 1 | tee d/a d/e/b o/c '[id].js' '*' >/dev/null
	held sh -c 'for f in d/a d/e/b o/c "[id].js" "*" x.js; do echo box >"$f"; done' >/dev/null
	for f in d/a d/e/b o/c '[id].js' '*'; do echo out >"$f"; done
	run -123 rein commit --theirs d/
	hasnt "$output" " d/"
	has "$output" " o/c:"
	run -0 rein commit --only '[id].js' --theirs '[id].js'
	eq id box "$(cat '[id].js')"
	[ ! -e x.js ]
	run -0 rein commit --theirs d --ours o --ours '\*'
	eq theirs "box box" "$(cat d/a d/e/b | xargs)"
	eq ours "out out" "$(cat o/c '*' | xargs -d '\n')"
	# the way back has the same patterns
	echo later | tee d/a d/e/b >/dev/null
	run -0 rein undo --ours d/e --theirs d
	eq undone "out later" "$(cat d/a d/e/b | xargs)"
}

@test "paths from the current directory: ./ and ../, of diff, commit and undo" {
	git init -q .; mkdir -p s/x; echo 1 | tee f s/f s/x/f >/dev/null
	held sh -c 'echo 2 | tee f s/f s/x/f >/dev/null' >/dev/null
	cd s
	eq here s/f "$(rein diff --name-status @ ./f | cut -f2)"
	eq above f "$(rein diff --name-status @ ../f | cut -f2)"
	eq all "s/f s/x/f" "$(rein diff --name-status @ . | cut -f2 | xargs)"
	run -125 rein commit --only ./s/f
	run -0 rein commit --only ./x
	eq only "1 1 2" "$(cat ../f f x/f | xargs)"
	echo out | tee ../f f >/dev/null
	run -0 rein commit --ours ./x/../f --theirs ../../w/f
	eq both "2 out" "$(cat ../f f | xargs)"
	echo later >../f
	run -0 rein undo --theirs ./..
	eq undone out "$(cat ../f)"
}

@test "conflict: --ours of what lies in a directory that moves as a whole keeps it there" {
	mkdir d e; echo 1 | tee d/f d/g e/f e/g >/dev/null
	held rm -r d >/dev/null
	echo out >d/f
	run -0 rein commit --ours d/f
	eq kept out "$(cat d/f)"
	[ ! -e d/g ]
	run -0 rein undo
	eq kept out "$(cat d/f)"
	eq back 1 "$(cat d/g)"
	# one that was replaced: all of it or nothing
	held sh -c 'rm -r e; mkdir e; echo box >e/f' >/dev/null
	echo out >e/f
	run -125 rein commit --ours e/f
	has "$output" "all of it or nothing"
	eq kept out "$(cat e/f)"
	run -0 rein commit --ours e
	eq kept "1 out" "$(cat e/g e/f | xargs)"
	# made on both sides, with other things in it: what is left out is not looked for by the undo
	held sh -c 'mkdir n; echo box >n/a; echo box >b' >/dev/null
	mkdir n; echo out >n/c
	run -0 rein commit --ours n
	has "$output" "1 created"
	eq n c "$(ls n)"
	run -0 rein undo
	[ ! -e b ]
	eq n out "$(cat n/c)"
}

@test "conflict: --ours of a rename's new name keeps the old one, too" {
	echo 1 | tee old other >/dev/null
	mkdir dir; echo f >dir/f; echo g >dir/g
	held sh -c 'mv old new; echo 2 >other; mv dir moved' >/dev/null
	echo out >new; mkdir moved
	run -123 rein commit
	run -0 rein commit --ours new --ours moved
	eq new out "$(cat new)"
	eq old 1 "$(cat old)"
	eq other 2 "$(cat other)"
	eq dir $'f\ng' "$(ls dir)"
	eq moved "" "$(ls moved)"
	run -0 rein undo
	eq other 1 "$(cat other)"
	eq old 1 "$(cat old)"
}

@test "conflict: of a rename one half is kept: what comes is told as made, and so is it by undo, redo, log and show" {
	local id
	echo one >a; echo x >c
	id=$(held sh -c 'mv a b; mv c d')
	echo edit >>a
	run -123 rein commit
	run -0 rein commit --ours a
	has "$output" "1 created, 1 renamed"
	has "$(rein log -n 1)" "1 created, 1 renamed"
	has "$(rein show "$id")" "created    b"
	eq bytes 4 "$(rein show --json "$id" | field summary.bytes_new)"
	run -0 rein undo
	has "$output" "1 created, 1 renamed"
	run -0 rein redo
	has "$output" "1 created, 1 renamed"
	eq tree "one edit one x" "$(cat a b d | xargs)"
}

@test "conflict: why it was held is told no more when it is committed" {
	local id pid
	echo 1 >file; mkfifo "$T/in"
	rein run --commit -- sh -c 'echo 2 >file; echo ready; read -r x' 3>&- <"$T/in" >"$T/out" 2>/dev/null &
	pid=$!
	exec 4>"$T/in"
	until_true 10 grep -q ready "$T/out"
	echo other >file
	echo go >&4; exec 4>&-
	wait $pid || true
	id=$(newest)
	has "$(rein log -n 1)" conflict
	run -0 rein commit "$id" --theirs file
	hasnt "$(rein log -n 1)" conflict
	hasnt "$(rein show "$id")" conflict
	eq reason null "$(rein show --json "$id" | field reason)"
	rein undo -q "$id"
	eq reason null "$(rein show --json "$id" | field reason)"
	eq undone other "$(cat file)"
}

@test "conflict: --merge merges text three ways, refuses where both sides changed the same lines" {
	seq 1 20 >f
	seq 1 20 >g
	held sh -c 'sed -i s/^2$/two/ f; sed -i s/^2$/two/ g' >/dev/null
	sed -i 's/^19$/nineteen/' f
	sed -i 's/^2$/zwei/' g
	run -123 rein commit --merge
	has "$output" g
	has "$output" "cannot be merged"
	hasnt "$output" "--merge"
	eq f nineteen "$(sed -n 19p f)"
	eq f 2 "$(sed -n 2p f)"
	run -0 rein commit --merge --ours g
	eq f two "$(sed -n 2p f)"
	eq f nineteen "$(sed -n 19p f)"
	eq g zwei "$(sed -n 2p g)"
	rein undo -q
	eq f 2 "$(sed -n 2p f)"
	eq f nineteen "$(sed -n 19p f)"
}

@test "conflict: --merge keeps the workspace's attributes, and the run's version while anything else is in conflict" {
	local id
	seq 1 20 | tee f g >/dev/null
	id=$(held sh -c 'sed -i s/^2$/two/ f; echo box >g')
	sed -i 's/^19$/nineteen/' f
	chmod 750 f
	echo out >g
	run -123 rein commit "$id" --merge
	hasnt "$output" "f:"
	has "$output" "g:"
	# somebody thinks better of it: what he took back does not come again out of the merge
	sed -i 's/^nineteen$/19/' f
	run -0 rein commit "$id" --merge --ours g
	eq f "two 19" "$(sed -n '2p;19p' f | xargs)"
	eq mode 750 "$(stat -c %a f)"
	# both changed the mode, to another
	id=$(held sh -c 'chmod 700 f; sed -i s/^3$/three/ f')
	chmod 740 f
	run -123 rein commit "$id" --merge
	chmod 750 f
	run -0 rein commit "$id" --merge
	eq mode 700 "$(stat -c %a f)"
	# no file any more
	id=$(held sh -c 'sed -i s/^4$/four/ f')
	rm f; mkfifo f
	run -123 timeout 10 rein commit "$id" --merge
}

@test "conflict: --merge joins directories that both sides made; a file in both must say the same" {
	local a b
	a=$(held sh -c 'mkdir -p t/s; echo 1 | tee t/a t/same t/s/x t/one >/dev/null')
	b=$(held sh -c 'mkdir -p t/s/deep t/u; echo 1 >t/same; echo 2 | tee t/b t/s/y t/s/deep/z t/one t/u/q >/dev/null')
	run -0 rein commit "$a"
	snap t >"$T/before"
	run -123 rein commit "$b"
	run -123 rein commit "$b" --merge
	has "$output" " t/one:"
	hasnt "$output" same
	snap t | diff "$T/before" -
	run -0 rein commit "$b" --merge --theirs t/one --except t/u
	eq joined "a b one s s/deep s/deep/z s/x s/y same" "$(cd t && find . -mindepth 1 -printf '%P\n' | sort | xargs)"
	eq one 2 "$(cat t/one)"
	# the rest is what was left out, and finds its directory
	run -0 rein commit
	eq rest 2 "$(cat t/u/q)"
	run -0 rein undo
	run -0 rein undo "$b"
	snap t | diff "$T/before" -
	run -0 rein redo "$b"
	run -0 rein undo "$b"
	run -0 rein undo "$a"
	[ ! -e t ]
	# a file in the way of a directory is none to be joined
	b=$(held sh -c 'mkdir t; echo 2 >t/f')
	echo 1 >t
	run -123 rein commit --merge
}

@test "conflict: a change of mode or time outside is a change, reading is none" {
	echo 1 | tee a b >/dev/null
	held sh -c 'echo 2 >>a; echo 2 >>b' >/dev/null
	cat a b >/dev/null
	ls -la >/dev/null
	chmod 600 b
	run -123 rein commit
	has "$output" "b"
	hasnt "$output" " a:"
	run -0 rein commit --theirs b
	eq a $'1\n2' "$(cat a)"
}

@test "a tree that a symbolic link leads elsewhere by now is neither committed into nor undone in" {
	local id done
	mkdir -p "$T/p/sub" "$T/victim"
	cd "$T/p/sub"
	echo 1 >a
	done=$(q sh -c 'rm a; echo b >b'; newest)
	id=$(held sh -c 'echo x >planted; echo y >other')
	mv "$T/p" "$T/q" && mkdir "$T/p" && ln -s "$T/victim" "$T/p/sub"
	cd "$W"
	run -125 rein commit "$id" --only planted
	has "$output" "reached through a symbolic link"
	run -125 rein commit "$id"
	cp -a "$T/q/sub/b" "$T/victim/b"
	run -125 rein undo "$done"
	eq victim b "$(ls "$T/victim")"
	# a link above it, too
	rm -r "$T/p" && ln -s "$T/victim" "$T/p" && mkdir "$T/victim/sub"
	run -125 rein commit "$id" --only planted
	eq sub "" "$(ls "$T/victim/sub")"
	rm "$T/p" && mv "$T/q" "$T/p"
	run -0 rein commit "$id"
	run -0 rein undo "$done"
	eq all $'a\nother\nplanted' "$(ls "$T/p/sub")"
}

@test "undo and redo in any order, as long as the paths are apart" {
	local one two three
	echo 0 >f
	q sh -c 'echo 1 >one'; one=$(newest)
	q sh -c 'echo 2 >two; echo x >>f'; two=$(newest)
	q sh -c 'echo 3 >three'; three=$(newest)
	rein undo -q "$one"
	[ ! -e one ] && [ -e two ] && [ -e three ]
	rein undo -q "$three"
	rein undo -q "$two"
	eq f 0 "$(cat f)"
	eq ls f "$(ls)"
	rein redo -q "$three"
	rein redo -q "$one"
	rein redo -q "$two"
	eq ls $'f\none\nthree\ntwo' "$(ls)"
	eq f $'0\nx' "$(cat f)"
	for _ in 1 2 3 4; do rein undo -q "$two"; rein redo -q "$two"; done
	eq f $'0\nx' "$(cat f)"
	eq state committed "$(state_of "$two")"
	rein undo -q "$two"
	eq state undone "$(state_of "$two")"
	run -125 rein undo "$two"
}

@test "undo and redo without a name: what was committed last, what was undone last" {
	local first
	echo 0 >f
	first=$(held sh -c 'echo 1 >g')
	q sh -c 'echo 1 >f'
	q sh -c 'echo 2 >f'
	rein commit -q "$first"
	run -0 rein undo
	has "$output" "$first"
	for _ in 1 2; do rein undo -q; done
	eq f 0 "$(cat f)"
	for _ in 1 2; do rein redo -q; done
	eq f 2 "$(cat f)"
	[ ! -e g ]
	rein redo -q
	eq g 1 "$(cat g)"
	rein undo -q; rein undo -q
	eq f 1 "$(cat f)"
}

@test "undo, redo, discard of what cannot be: refused, and the record does not say that it was done" {
	local id before
	id=$(held sh -c 'echo 1 >a')
	before=$(rein audit log --events | wc -l)
	run -125 rein undo "$id"
	run -125 rein redo "$id"
	eq record "$before" "$(rein audit log --events | wc -l)"
	rein commit -q "$id"
	before=$(rein audit log --events | wc -l)
	run -125 rein discard "$id"
	run -125 rein redo "$id"
	eq record "$before" "$(rein audit log --events | wc -l)"
}

@test "undo of stacked work: last first; the earlier one alone is refused and nothing is lost" {
	local one two
	echo 0 >f
	q sh -c 'echo 1 >>f'; one=$(newest)
	q sh -c 'echo 2 >>f'; two=$(newest)
	run -123 rein undo "$one"
	has "$output" "f"
	eq f $'0\n1\n2' "$(cat f)"
	rein undo -q "$two"
	rein undo -q "$one"
	eq f 0 "$(cat f)"
	rein redo -q "$one"
	rein redo -q "$two"
	eq f $'0\n1\n2' "$(cat f)"
}

@test "undo of stacked work: half a note of an own move, from a full disk, spoils no other" {
	echo 0 >f
	q sh -c 'echo 1 >f'
	printf half >>"$REIN_STATE/moved"
	q sh -c 'echo 2 >f'
	rein undo -q
	rein undo -q
	eq f 0 "$(cat f)"
}

@test "undo of stacked work: the notes of own moves are found among many" {
	q sh -c 'mkdir d; for i in $(seq 200); do echo 1 >d/$i; done'
	q sh -c 'for i in $(seq 200); do echo 2 >d/$i; done'
	rein undo -q
	python3 -c 'import struct, sys
sys.stdout.buffer.write(b"".join(struct.pack("<4Q", 1, i, 1, 2) for i in range(300000)))' >"$T/notes"
	cat "$T/notes" >>"$REIN_STATE/moved"
	rein undo -q @~1
	[ ! -e d ]
}

@test "diff of a transaction whose file was changed since says so" {
	local id
	echo 0 >f
	q sh -c 'echo 1 >f'
	id=$(newest)
	hasnt "$(rein diff "$id")" "changed since"
	q sh -c 'echo 2 >f'
	has "$(rein diff "$id")" "the new content as it is now: it was changed since"
	rein undo -q
	hasnt "$(rein diff "$id")" "changed since"
	rein undo -q
	hasnt "$(rein diff "$id")" "changed since"
	# one that is gone was not taken away by the run
	rein redo -q "$id"
	rm f
	has "$(rein diff "$id")" "the new content is gone: it was removed since"
	echo 0 >f
	id=$(held sh -c 'echo 1 >f')
	rm f
	has "$(rein diff "$id")" "the old content is gone: it was removed since"
}

@test "undo never overwrites later work: edited, deleted, replaced, added inside a created directory, brought back" {
	echo 0 | tee edited deleted removed >/dev/null
	q sh -c 'echo 1 >>edited; echo 1 >>deleted; rm removed; mkdir dir; echo d >dir/d; echo c >created'
	local t w
	t=$(newest)
	snap . >"$T/committed"
	try_undo() { run -123 rein undo "$t"; has "$output" "nothing was changed"; has "$output" "$1"; }
	cp -a edited "$T/e"; echo later >>edited; try_undo edited; eq edited $'0\n1\nlater' "$(cat edited)"
	rm edited; try_undo edited; cp -a "$T/e" edited
	run rein undo "$t" # another inode now: still later work
	[ "$status" = 123 ] || die "a replaced file was overwritten"
	echo new >removed; try_undo removed; eq removed new "$(cat removed)"; rm removed
	echo later >dir/later; try_undo dir; eq later later "$(cat dir/later)"
}

@test "fidelity: hard links survive a change, an undo, a new link" {
	echo 1 >a
	ln a b
	ln a "$T/outside"
	q sh -c 'echo 2 >>a'
	eq b $'1\n2' "$(cat b)"
	eq outside $'1\n2' "$(cat "$T/outside")"
	[ a -ef b ]
	rein undo -q
	eq b 1 "$(cat b)"
	[ a -ef b ] && [ a -ef "$T/outside" ]
	q sh -c 'echo x >n; ln n m; ln m o'
	[ n -ef m ] && [ m -ef o ]
	eq count 3 "$(stat -c %h n)"
	rein undo -q
	eq ls $'a\nb' "$(ls)"
}

@test "fidelity: modes, times, xattrs, ACLs, symlinks, fifos, sparse and empty files, empty directories" {
	umask 022
	mkdir -p box native
	make_all() {
		echo plain >plain; chmod 4751 plain; touch -d '2001-02-03 04:05:06.789' plain
		: >empty; chmod 400 empty
		truncate -s 10M sparse; printf end >>sparse
		ln -s 'target with space' link; ln -s /abs dangling
		mkfifo -m 640 fifo
		mkdir -p dir/empty; chmod 1777 dir/empty; chmod 2750 dir
		echo x >x; setfattr -n user.note -v 'v 1' x 2>/dev/null || true
		echo acl >acl; setfacl -m "u:$(id -u):r,m::rwx" acl 2>/dev/null || true
		touch -h -d '2002-03-04 05:06:07' link
		touch -d '2003-04-05 06:07:08' x acl empty fifo sparse dir/empty dir
	}
	(cd native && make_all)
	declare -f make_all >"$HOME/make"
	rein run --commit -q -- bash -c '. "$HOME/make"; cd box && make_all'
	snap native | sed 's/ native / /' >"$T/a"
	snap box >"$T/b"
	diff "$T/a" "$T/b"
	eq times "$(cd native && stat -c %y dir dir/empty link)" "$(cd box && stat -c %y dir dir/empty link)"
	[ "$(du -k box/sparse | cut -f1)" -lt 1000 ] || die "the hole is gone"
	# only attributes change
	snap box >"$T/before"
	q sh -c 'chmod 700 box/plain; touch -d 2010-01-01 box/x; setfattr -n user.two -v 2 box/x 2>/dev/null; chmod 755 box/dir; true'
	eq mode 700 "$(stat -c %a box/plain)"
	eq time 2010 "$(date -r box/x +%Y)"
	rein undo -q
	snap box >"$T/after"
	diff "$T/before" "$T/after"
	eq none "" "$(getfattr -R -d -m 'overlay' box 2>/dev/null)"
}

@test "diff: a new file that can be run, a new directory that others write to" {
	held sh -c 'umask 022; echo 1 | tee plain run setid >/dev/null; chmod +x run; chmod 4711 setid; mkdir dir; mkdir -m 1777 open' >/dev/null
	eq diff "dir;open, mode 1777;plain;run, mode 0755;setid, mode 4711" "$(rein diff | sed -n 's/^created //p' | paste -sd ';')"
}

@test "a directory that was made anew with another mode is shown, and so is one inside it" {
	local id
	mkdir -m 755 -p d/in same; echo 1 | tee d/in/f same/f >/dev/null
	id=$(held sh -c 'umask 0; for x in d same; do cp -a $x new; rm -r $x; mv new $x; done; chmod 777 d; chmod 711 d/in')
	eq shown "d d/in" "$(rein diff --name-status "$id" | cut -f2 | xargs)"
	has "$(rein diff "$id")" "modified d, mode 0755 -> 0777"
	has "$(rein diff "$id")" "attributes d/in, mode 0755 -> 0711"
	has "$(rein show "$id")" "1 modified, 1 with new attributes"
	rein commit -q
	eq mode "777 711" "$(stat -c %a d d/in | xargs)"
	rein undo -q
	eq mode "755 755" "$(stat -c %a d d/in | xargs)"
	rein redo -q
	chmod 700 d/in
	run -123 rein undo
}

@test "fidelity: file to directory and back, opaque directories, renamed directories, overwritten symlinks" {
	mkdir -p d/sub e other
	echo 1 | tee d/f d/sub/g e/h file >/dev/null
	ln -s file link
	snap . >"$T/before"
	q sh -c 'rm -rf d && echo now-a-file >d && rm file && mkdir file && echo in >file/in
		rm -rf e && mkdir e && echo fresh >e/fresh && mv other moved && ln -sfn moved link'
	eq d now-a-file "$(cat d)"
	eq e fresh "$(ls e)"
	eq link moved "$(readlink link)"
	eq in in "$(cat file/in)"
	rein undo -q
	snap . >"$T/after"
	diff "$T/before" "$T/after"
}

@test "rename: a directory that existed, with content; into another; over an empty one; shown and undone" {
	mkdir -p src/a/b keep empty
	echo x | tee src/a/f src/a/b/g >/dev/null
	snap . >"$T/before"
	run -0 rein run --commit -- sh -c 'mv src lib && mv lib/a keep/a && echo more >>keep/a/f'
	eq f $'x\nmore' "$(cat keep/a/f)"
	eq g x "$(cat keep/a/b/g)"
	[ ! -e src ] && [ -d lib ]
	has "$(rein show)" "->"
	rein undo -q
	snap . >"$T/after"
	diff "$T/before" "$T/after"
	q python3 -c 'import os; os.rename("src", "empty"); os.rename("empty/a", "empty/z")'
	eq g x "$(cat empty/z/b/g)"
	# what moved is one file, and none that went
	run -0 rein diff --stat
	has "$output" " D src/  0 files, 0 B"
	has "$output" " 2 files, +0 -0"
	rein undo -q
	snap . >"$T/after"
	diff "$T/before" "$T/after"
}

@test "a file of another's making: what cannot be written cannot be changed, and is said" {
	echo 1 >ro
	chmod 444 ro
	mkdir locked
	echo 2 >locked/f
	chmod 555 locked
	run rein run -q --commit -- sh -c 'rm -f ro && echo replaced >ro'
	eq ro replaced "$(cat ro)"
	rein undo -q
	eq ro 1 "$(cat ro)"
	eq mode 444 "$(stat -c %a ro)"
	run rein run -q --commit -- rm -f locked/f
	[ "$status" -ne 0 ] || die "a directory without write permission was written to"
	eq f 2 "$(cat locked/f)"
	chmod 755 locked
}

@test "two at once: a discard waits for a commit, and whoever comes second is told" {
	local id pids=() i status=0
	for i in commit discard; do
		echo 1 >a
		id=$(held sh -c 'echo 2 >a')
		exec 4>"$REIN_STATE/lock"
		flock 4 # as a commit that takes its time
		rein discard "$id" >"$T/discard" 2>&1 3>&- 4>&- &
		pids[0]=$!
		rein $i "$id" >"$T/$i.too" 2>&1 3>&- 4>&- &
		pids[1]=$!
		sleep 0.5
		eq waits held "$(state_of "$id")"
		exec 4>&-
		wait "${pids[0]}" || status=$?
		wait "${pids[1]}" || status=$?
		eq "one was refused" 125 "$status"
		has "$(cat "$T/discard" "$T/$i.too")" "is already"
		if [ "$(state_of "$id")" = committed ]; then
			eq a 2 "$(cat a)"
			rein undo -q "$id"
		fi
		eq a 1 "$(cat a)"
		eq journal "" "$(ls "$REIN_STATE/journal")"
	done
}

@test "a work tree that is a filesystem of its own: git sees nothing of what is kept there, and in the end nothing is" {
	is_root || skip "mounts"
	mkdir "$T/disk"
	mount -t tmpfs none "$T/disk"
	after() { umount "$T/disk"; }
	cd "$T/disk"
	git init -q . && echo 1 >f && git add f && git commit -qm one
	q sh -c 'echo 2 >f'
	held sh -c 'echo 3 >g' >/dev/null
	eq kept 2 "$(find .rein-0 -mindepth 1 -maxdepth 1 -type d | wc -l)"
	git add -A
	eq added f "$(git diff --cached --name-only)"
	rein discard -q
	eq kept 1 "$(find .rein-0 -mindepth 1 -maxdepth 1 -type d | wc -l)"
	git add -A
	eq added f "$(git diff --cached --name-only)"
	rein undo -q --theirs .git/index
	rein gc -q --keep-size 1
	eq ls ".git f" "$(ls -A | xargs)"
	cd "$W"
}

@test "discard leaves nothing of the content behind" {
	held sh -c 'echo UNIQUE-CONTENT-1234 >a' >/dev/null
	grep -rqs UNIQUE-CONTENT-1234 "$REIN_STATE"
	rein discard -q
	! grep -rqs --exclude=meta UNIQUE-CONTENT-1234 "$REIN_STATE"/txn/*/r0
}

@test "discarded: the log still says what it was, with the command as a shell would take it" {
	rein run -q --discard -- touch "it's" 'a b' $'x\ny'
	run -0 rein log
	has "$output" "touch \$'it\\'s' 'a b' \$'x\\ny'"
	has "$output" "3 created"
}

@test "a tree far deeper than the limit of open files is committed, undone and thrown away" {
	ulimit -S -n 256
	deep='import os
for i in range(700):
	os.mkdir("d"); os.chdir("d")
open("f", "w").write("x")'
	run -0 rein run -- sh -c 'ulimit -n'
	has "$output" 256
	run -0 rein run -- python3 -c "$deep"
	has "$output" "701 created"
	[ -d d/d/d ]
	run -0 rein undo
	[ ! -e d ]
	run -0 rein run --discard -- python3 -c "$deep"
	has "$output" "701 created: discarded"
}

@test "gc: by count, age and size; held ones stay; --dry-run only tells; what is kept can be undone" {
	local i keep
	for i in 1 2 3 4 5 6; do q sh -c "head -c 100000 /dev/zero >f$i"; done
	keep=$(held sh -c 'echo held >held')
	run -0 rein gc --dry-run --keep 2
	has "$output" "would remove"
	eq all 7 "$(rein log --ids | wc -l)"
	run -0 rein gc --keep 4
	eq left 5 "$(rein log --ids | wc -l)"
	run -0 rein gc --json --keep-age 1ms
	eq left "$keep" "$(rein log --ids)"
	eq removed 4 "$(field removed <<<"$output")"
	rein commit -q "$keep"
	rein undo -q
	rein redo -q
	q sh -c 'rm f*'
	run -0 rein gc --keep-size 1K
	has "$output" "0 kept"
	run -125 rein gc --keep many
	run -125 rein gc --keep-size 3Q
	eq held held "$(cat held)"
}

@test "a directory that is gone in the middle of a commit: the rest is taken back, and the way out is told" {
	local id
	mkdir d e; echo 1 >d/f; echo 1 >e/f
	id=$(held sh -c 'echo 2 >d/f; echo 2 >e/f')
	rein commit -q
	# as if it had died at the end: that is no matter of where they are by now
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	mv d "$T/away"
	run -0 rein log
	has "$output" "finished 1 transaction"
	hasnt "$output" "give it up"
	mv "$T/away" d
	# as if it had died before it came to e/f, which somebody replaces
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	sed -i 's/^state\t.*/state\theld/' "$REIN_STATE/txn/$id/meta"
	mv e/f "$T/f"; mv "$REIN_STATE/txn/$id/r0/upper/e/f" e/f; mv "$T/f" "$REIN_STATE/txn/$id/r0/upper/e/f"
	mv d "$T/away"; echo 3 >e/g; mv e/g e/f
	run -0 rein log
	has "$output" "transaction $id is half done: 'd' was moved away or removed meanwhile: move it back"
	has "$output" "give it up: rein discard --force $id)"
	run -125 rein run --hold -- sh -c 'echo 4 >g'
	has "$output" "rein discard --force $id"
	run -125 rein discard "$id"
	has "$output" "rein discard --force $id"
	run -0 rein discard --force "$id"
	has "$output" "gave up $id: the tree stays as it is. What it took from there is in $REIN_STATE/txn/$id/r0 until"
	grep -rqs 1 "$REIN_STATE/txn/$id/r0" || die "what was replaced is gone"
	run -0 rein run -q --commit -- sh -c 'echo 4 >g'
}

@test "what somebody removes after an interrupted commit is removed, and keeps nothing from being finished" {
	local id
	echo 1 >f
	q sh -c 'rm f; echo 1 >n'
	id=$(newest)
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	rm n
	run -0 rein log
	has "$output" "finished 1 transaction"
	hasnt "$output" "give it up"
	eq tree "" "$(ls)"
	run -123 rein undo
	run -0 rein undo --ours n
	eq f 1 "$(cat f)"
}

@test "a directory that is gone outside comes again by --theirs, with what it had in the run, and is undone" {
	mkdir d; echo 1 >d/f; chmod 644 d/f
	held sh -c 'chmod 600 d/f; chmod 644 d/f; chmod 700 d' >/dev/null
	rm -r d
	run -0 rein commit --theirs d
	eq d/f 1 "$(cat d/f)"
	run -0 rein undo
	eq tree "" "$(ls)"
	run -0 rein redo
	echo 2 >d/g
	run -123 rein undo
	eq d $'f\ng' "$(ls d)"
}

@test "gc: what was given up half done keeps what it took from the tree as long as others do" {
	local id
	mkdir d e
	echo PRECIOUS >d/f
	q sh -c 'rm d/f; echo 1 >e/n'
	id=$(newest)
	# as if it had died before e/n, which somebody else made meanwhile; and the way back to d is gone
	mv "$REIN_STATE/txn/$id/ops" "$REIN_STATE/journal/$id"
	mv e/n "$REIN_STATE/txn/$id/r0/upper/e/n"
	echo 2 >e/n; rm -r d
	has "$(rein log 2>&1)" "give it up: rein discard --force $id)"
	run -0 rein discard --force "$id"
	rein gc -q
	grep -rqs PRECIOUS "$REIN_STATE/txn/$id" || die "the only copy is gone"
	q sh -c 'echo 2 >m'
	rein gc -q --keep 1
	[ ! -e "$REIN_STATE/txn/$id" ]
}

@test "gc: a store that cannot be removed now keeps no other" {
	local one two
	is_root || skip "mounts"
	mkdir "$T/disk"
	mount -t tmpfs none "$T/disk"
	after() { umount "$T/disk"; }
	mkdir "$T/disk/w" && cd "$T/disk/w"
	q sh -c 'echo 1 >a'
	cd "$W"
	q sh -c 'echo 1 >a'; one=$(newest)
	mount -o remount,ro "$T/disk"
	for _ in 1 2; do
		q sh -c 'date +%N >a'; two=$(newest)
		run -125 rein gc --keep 1
		has "$output" "Read-only"
		[ ! -e "$REIN_STATE/txn/$one" ]
		one=$two
	done
	mount -o remount,rw "$T/disk"
	run -0 rein gc
	eq empty "" "$(find "$T/disk" -name '.rein-*')"
}

@test "discard: thousands of files are removed by a process of no importance, or by gc" {
	gone() { [ -z "$(ls -A "$REIN_STATE/txn/$1/r0" 2>/dev/null)" ]; }
	rein run -q --discard -- sh -c 'i=0; while [ $i -lt 1200 ]; do echo $i >f$i; i=$((i + 1)); done'
	eq tree "" "$(ls)"
	id=$(ls "$REIN_STATE/txn")
	until_true 20 gone "$id" || die "not removed: $(find "$REIN_STATE/txn" | head)"
	has "$(rein log)" discarded
	# whoever was to remove it was killed: the next collection does it
	mkdir -p "$REIN_STATE/txn/$id/r0/upper"
	touch "$REIN_STATE/txn/$id/r0/upper/left"
	rein gc -q
	gone "$id" || die "gc left $(find "$REIN_STATE/txn/$id")"
	has "$(rein log)" discarded
}

@test "a private directory that was another tree's before: nothing of that tree is taken for the command's doing" {
	local before
	mkdir "$W/one" "$W/two"
	cd "$W/one"
	if is_root; then chown 12345:12345 .; fi
	chmod 2751 .
	setfattr -n user.of -v one . || true
	rein run --writable -q -- true
	[ -n "$(ls "$REIN_STATE/spare")" ]
	cd "$W/two"
	before=$(stat -c '%a %u:%g' .)
	run -0 rein run --writable -- true
	has "$output" "no changes"
	eq "the other tree" "$before" "$(stat -c '%a %u:%g' .)"
	eq attributes "" "$(getfattr -m user. -d .)"
	eq transactions "" "$(rein log --ids)"
}

@test "a directory of somebody else's that one may write to: committed, undone, done again; its time is its own" {
	is_root || skip "needs another owner"
	mkdir "$T/shared" "$T/state"
	chmod 1777 "$T/shared"
	chown 65534 "$T/state"
	chmod 711 "$T" "$HOME" "$REIN_TEST_DIR"
	cd "$T/shared"
	as() { HOME=$T/state REIN_STATE=$T/state/s setpriv --reuid 65534 --regid 65534 --clear-groups "$REIN_PUBLIC/rein" "$@"; }
	as run -q -- sh -c 'mkdir d; echo x >d/x; echo y >y'
	eq made "d d/x y" "$(find . -mindepth 1 -printf '%P\n' | sort | paste -sd' ')"
	as undo
	eq undone "" "$(find . -mindepth 1 ! -name '.rein-*')"
	as redo
	eq again "x y" "$(cat d/x y | paste -sd' ')"
}

@test "a filesystem where others may rename: what they put in place of the private directory is neither committed, followed nor emptied" {
	local id
	is_root || skip "mounts, and needs another owner"
	mkdir "$T/disk" "$T/state" "$T/state/work" "$T/state/upper"
	mount -t tmpfs -o mode=777 none "$T/disk"
	after() { umount "$T/disk"; }
	echo 1 >"$T/state/work/mine"
	chown -R 65534 "$T/state"
	chmod 711 "$T" "$HOME" "$REIN_TEST_DIR"
	mkdir -m 755 "$T/disk/w" && cd "$T/disk/w"
	as() { HOME=$T/state REIN_STATE=$T/state/s setpriv --reuid 65534 --regid 65534 --clear-groups "$REIN_PUBLIC/rein" "$@"; }
	other() { setpriv --reuid 65533 --regid 65533 --clear-groups sh -ec "$1"; }
	chown 65534 .
	# rather where nobody but its owner can move it
	as run --hold -q -- sh -c 'echo 1 >f'
	eq place "" "$(ls -d "$T"/disk/.rein-* 2>/dev/null)"
	as discard -q
	# where that is nowhere, it is looked at
	chmod 777 .
	as run --hold -q -- sh -c 'echo 1 >f'
	id=$(as log --ids -n 1)
	other "cd $T/disk; mv .rein-65534 was; mkdir -p .rein-65534/$id/r0/upper; echo evil >.rein-65534/$id/r0/upper/f; chmod -R 777 .rein-65534"
	run -125 as commit
	has "$output" "is not the directory that was made for the changes"
	[ ! -e f ]
	other "cd $T/disk; rm -r .rein-65534/$id/r0; ln -s $T/state .rein-65534/$id/r0"
	run -125 as commit
	has "$output" "is not the directory that was made for the changes"
	other "cd $T/disk; rm -r .rein-65534; mkdir .rein-65534; mkdir d; ln -s $T/state d/r0; ln -s ../d .rein-65534/$id"
	run as discard
	eq mine 1 "$(cat "$T/state/work/mine")"
	other "cd $T/disk; rm -r .rein-65534 d; mv was .rein-65534"
	as gc -q --keep 1
	eq left "w" "$(ls -A "$T/disk")"
	cd "$W"
}

@test "a directory that is made anew in the box: what somebody puts there under the same name is no less his" {
	local id
	mkdir d
	echo old >d/old
	id=$(held sh -c 'rm -r d; mkdir d; echo run >d/n')
	echo his >d/n
	run -123 rein commit "$id"
	has "$output" "conflict  d:"
	eq text his "$(cat d/n)"
	eq old old "$(cat d/old)"
}

@test "two runs at once that make the same directory: neither deletes what the other put there, --merge joins them" {
	local id pid
	mkfifo "$T/wait"
	rein run --hold -q -- sh -c 'mkdir docs; echo b >docs/b; cat >/dev/null' <"$T/wait" 3>&- &
	pid=$!
	exec 7>"$T/wait"
	until_true 20 bash -c '[ -n "$(find "$REIN_STATE"/txn -path "*docs/b" 2>/dev/null)" ]'
	q sh -c 'mkdir docs; echo a >docs/a'
	exec 7>&-
	wait "$pid"
	id=$(rein log --ids --state held)
	hasnt "$(rein diff --name-status "$id")" "docs/a"
	# without root the overlay shows it as one directory from the start
	if is_root; then
		run -123 rein commit "$id"
		has "$output" "created outside meanwhile"
	fi
	rein commit --merge "$id"
	eq both "a b" "$(ls docs | paste -sd' ')"
}

@test "--except of a rename's new name leaves the old one where it is" {
	mkdir d
	echo x >d/a
	echo z >z
	held sh -c 'mv d e; echo zz >z'
	rein commit --except e
	eq z zz "$(cat z)"
	eq old x "$(cat d/a)"
	[ ! -e e ]
}

@test "a workspace that is moved away while the command runs: what it did is held once it is there again" {
	local pid status=0
	mkdir "$W/a" && cd "$W/a"
	echo 1 >f
	mkfifo "$T/in"
	rein run --commit -- sh -c 'echo 2 >f; echo ready; read -r x' <"$T/in" >"$T/out" 2>&1 3>&- &
	pid=$!
	exec 5>"$T/in"
	until grep -q ready "$T/out"; do sleep 0.01; done
	mv "$W/a" "$W/b"
	exec 5>&-
	wait "$pid" || status=$?
	eq status 125 "$status"
	has "$(cat "$T/out")" "is kept until its tree is there again"
	cd "$W"
	mv b a && cd a
	eq f 1 "$(cat f)"
	eq state held "$(state_of "$(newest)")"
	rein commit -q
	eq f 2 "$(cat f)"
}

@test "a directory whose time is ahead of the clock gets it back from an undo" {
	mkdir d
	touch -d '2040-01-01 00:00:00.5 UTC' d .
	q sh -c 'echo 1 >d/f'
	eq year "$(date +%Y)" "$(stat -c %y d | cut -c1-4)"
	rein undo -q
	eq time 2208988800.500000000 "$(stat -c %.9Y d)"
	q rm -r d
	eq time 2040 "$(rein undo -q; stat -c %y . | cut -c1-4)"
}

@test "conflict: attributes that another run set are not lost, nor content that looks the same" {
	echo one >f
	echo two >linked
	ln linked other
	touch -d '2020-01-01 12:00:00' linked
	run -0 rein run --hold -q -- sh -c 'echo more >>f; echo more >>linked'
	held=$(rein log --ids | head -n 1)
	run -0 rein run --approve --commit -q -- setfattr -n user.mark -v here f
	run -123 rein commit "$held"
	has "$output" "f: "
	run -0 rein discard "$held"
	[ "$(getfattr --only-values -n user.mark f)" = here ]
	# the same the other way round: later work is not overwritten by an undo, and goes first
	run -0 rein run --approve --commit -q -- sh -c 'echo more >>f'
	content=$(rein log --ids | head -n 1)
	run -0 rein run --approve --commit -q -- setfattr -n user.mark -v there f
	attribute=$(rein log --ids | head -n 1)
	run -123 rein undo "$content"
	[ "$(getfattr --only-values -n user.mark f)" = there ]
	run -0 rein undo "$attribute"
	run -0 rein undo "$content"
	[ "$(cat f)" = one ] && [ "$(getfattr --only-values -n user.mark f)" = here ]
	# a file with several names is written in place, and its time can be set back
	run -0 rein run --hold -q -- sh -c 'echo more >>linked'
	held=$(rein log --ids | head -n 1)
	run -0 rein run --approve --commit -q -- sh -c "echo 2nd >linked; touch -d '2020-01-01 12:00:00' linked"
	[ "$(cat other)" = 2nd ]
	run -123 rein commit "$held"
	[ "$(cat other)" = 2nd ]
}
