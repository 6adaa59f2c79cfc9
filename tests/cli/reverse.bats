#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An undo or a redo that finds something else than was left there: what is no later work, and what a person decides.
# shellcheck disable=SC2030,SC2031
load helper

# all of a tree, as far as an undo brings it back
tree() { find . -path ./.git -prune -o -printf '%y %m %p %l\n' | sort; find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort; }
number() { stat -c %i "$1"; }
staged() { git ls-files --stage --debug | grep -v '^  '; }

repository() { # [OPTION...]: three commits, the last of them in a box
	git init -q "$@" .
	echo 1 >a; echo 1 >b; git add .; git commit -qm one
	echo 2 >a; git commit -qam two
	rein run -q -- sh -c 'echo 3 >a; echo new >c; git add . && git commit -qm three'
	eq head three "$(git log -1 --format=%s)"
}

@test "git writes its index anew, and nothing is in the way of an undo; what somebody staged is" {
	repository
	was=$(number .git/index)
	git status >/dev/null
	[ "$(number .git/index)" != "$was" ] || die "git had no reason to write it"
	run -0 rein undo
	eq head two "$(git log -1 --format=%s)"
	eq a 2 "$(cat a)"
	eq clean "" "$(git status --porcelain)"
	git fsck --strict 2>&1 | { ! grep -v '^dangling\|^notice'; }
	# the way back, with the index that git wrote meanwhile
	run -0 rein redo
	eq head three "$(git log -1 --format=%s)"
	eq clean "" "$(git status --porcelain)"
	echo mine >d; git add d
	run -123 rein undo
	has "$output" ".git/index"
	has "$output" "--theirs PATH"
	eq head three "$(git log -1 --format=%s)"
	eq staged "A  d" "$(git status --porcelain)"
}

@test "every kind of index: versions 2, 3 and 4, the longer names of objects, caches of git's own, names of any length" {
	for v in 2 4; do
		mkdir "$v"; cd "$v"
		git init -q .; git config index.version "$v"; git config core.untrackedCache true
		long=$(printf 'x%.0s' {1..200}); mkdir -p "$long/$long/$long"; echo 1 >"$long/$long/$long/f"
		for i in 1 12 123 1234 12345 123456 1234567 12345678; do echo "$i" >"n$i"; done
		git add .; git commit -qm one
		rein run -q -w . -- sh -c 'echo 2 >n1; echo 2 >m; git add m; git commit -qam two'
		was=$(number .git/index)
		git status >/dev/null
		[ "$(number .git/index)" != "$was" ] || die "$v: git had no reason to write it"
		run -0 rein undo
		eq "$v" one "$(git log -1 --format=%s)"
		cd ..
	done
	mkdir three; cd three
	git init -q .; echo 1 >a; git add a; git commit -qm one
	rein run -q -w . -- sh -c 'echo later >i; git add -N i; echo 2 >a; git add a' # intent to add: version 3
	eq version 3 "$(od -An -tu1 -j7 -N1 .git/index | tr -d ' ')"
	git status >/dev/null
	run -0 rein undo
	[ ! -e i ]
	cd ..
	mkdir sha; cd sha
	need "git knows only SHA-1" git init -q --object-format=sha256 .
	echo 1 >a; git add a; git commit -qm one
	rein run -q -w . -- sh -c 'echo 2 >a; git commit -qam two'
	was=$(number .git/index)
	git status >/dev/null
	[ "$(number .git/index)" != "$was" ] || die "sha256: git had no reason to write it"
	run -0 rein undo
	eq sha256 one "$(git log -1 --format=%s)"
}

@test "an index that says anything else is later work: staged, unstaged, a mode, a flag, a conflict, or no index at all" {
	repository
	for how in 'git rm -q --cached b' 'git update-index --chmod=+x b' 'git update-index --assume-unchanged b' \
		'git update-index --skip-worktree b' 'echo z >b; git add b' 'git add -N e' 'echo DIRC >.git/index' ': >.git/index' \
		'truncate -s -1 .git/index'; do
		cp -p .git/index "$T/index"; cp -p b "$T/b"; : >e
		eval "$how"
		run -123 rein undo
		has "$output" ".git/index"
		rm e
		cat "$T/index" >.git/index; cp -p "$T/b" b
	done
}

@test "of a file that is called index and is none of git's, every change counts" {
	echo 1 >index
	rein run -q -- sh -c 'echo 2 >index'
	cp index "$T/index"; cp "$T/index" index
	run -123 rein undo
}

@test "held meanwhile: an index that git wrote anew is no conflict for a commit, one with something staged is" {
	git init -q .; echo 1 >a; echo 1 >b; git add .; git commit -qm one
	rein run -q --hold -- sh -c 'echo 2 >a; git commit -qam two'
	touch b; git status >/dev/null
	run -0 rein commit
	eq head two "$(git log -1 --format=%s)"
	rein run -q --hold -- sh -c 'echo 3 >a; git commit -qam three'
	echo mine >c; git add c
	run -123 rein commit
	has "$output" ".git/index"
	eq head two "$(git log -1 --format=%s)"
}

@test "a file that was edited later: --theirs undoes it all the same, and redo brings the edit back" {
	echo 1 >f; echo 1 >g
	rein run -q -- sh -c 'echo 2 >f; echo 2 >g; echo 2 >new'
	echo edited >>f; echo edited >new.tmp; mv new.tmp new
	later=$(tree)
	run -123 rein undo
	run -123 rein undo --theirs f
	has "$output" new
	hasnt "$output" " f:"
	eq "nothing happened" "$later" "$(tree)"
	run -0 rein undo --theirs '*'
	eq f 1 "$(cat f)"; eq g 1 "$(cat g)"; [ ! -e new ]
	run -0 rein redo
	eq "with the edits" "$later" "$(tree)"
	# now they are its own
	run -0 rein undo
	eq f 1 "$(cat f)"; [ ! -e new ]
	# the way forward has the same: a file of before that changed while it was undone
	echo other >f
	run -123 rein redo
	run -0 rein redo --theirs f
	eq f "$(printf '2\nedited')" "$(cat f)"
	run -0 rein undo
	eq "what was there" other "$(cat f)"
	command rein audit verify >/dev/null
}

@test "a conflict that no option settles says what to do instead" {
	q sh -c 'mkdir d; echo 1 >d/a; echo 2 >f'
	rein undo -q
	mkdir d; echo mine >d/a
	for how in "" "--ours d" "--ours **" "--theirs **"; do
		# shellcheck disable=SC2086
		run -123 rein redo $how
		has "$output" "d goes by neither --ours nor --theirs: put it back as it was, or move it away, then: rein redo $(newest)"
		hasnt "$output" "per path:"
	done
	mv d away
	run -0 rein redo
	eq files "1 2 mine" "$(cat d/a f away/a | xargs)"
	# somebody's file in a directory that would go
	echo more >d/more; echo 3 >f
	run -123 rein undo
	has "$output" "per path: --ours PATH"
	has "$output" "d goes by neither --ours nor --theirs: put it back as it was, then: rein undo $(newest)"
	rm d/more
	run -0 rein undo --ours f
	eq files "3 mine" "$(cat f away/a | xargs)"
}

@test "--ours leaves a file as it is, and undoes the rest; redo leaves it, too" {
	echo 1 >f; echo 1 >g; echo 1 >gone; echo 1 >mode; chmod 644 mode
	rein run -q -- sh -c 'echo 2 >f; echo 2 >g; rm gone; echo 2 >new; chmod 600 mode'
	echo edited >f; echo mine >gone; echo edited >new; chmod 640 mode
	run -123 rein undo --ours f
	run -0 rein undo --ours f --ours gone --ours new --ours mode
	eq f edited "$(cat f)"; eq g 1 "$(cat g)"; eq gone mine "$(cat gone)"; eq new edited "$(cat new)"; eq mode 640 "$(stat -c %a mode)"
	run -0 rein redo
	eq f edited "$(cat f)"; eq g 2 "$(cat g)"; eq gone mine "$(cat gone)"
	run -0 rein undo
	eq g 1 "$(cat g)"
	run -0 rein show
}

@test "what can be neither stays a conflict: directories, files with several names, what is gone, what is of another kind" {
	mkdir d; echo 1 >d/x; echo 1 >linked; ln linked other; echo 1 >file; echo 1 >lost
	rein run -q -- sh -c 'rm -r d; mkdir made; echo 1 >made/in; echo 2 >linked; echo 2 >file; echo 2 >lost'
	before=$(tree)
	check() {
		run -123 rein undo --theirs "$1" --ours nothing
		run -123 rein undo --theirs '**'
		has "$output" "$1"
	}
	mkdir d; check d; rmdir d
	echo later >made/added; check made; rm made/added
	cp -p linked "$T/linked"; echo later >>linked; check linked; cat "$T/linked" >linked; touch -r "$T/linked" linked
	cp -p file "$T/file"; rm file; mkdir file; check file; rmdir file; cp -p "$T/file" file
	rm lost; check lost; echo 2 >lost
	eq "nothing happened" "$before" "$(tree)"
}

@test "an undo that is taken back half way leaves out nothing the next time" {
	is_root || skip "mounts"
	echo 1 | tee a b >/dev/null
	q sh -c 'echo 2 >a; echo 2 >b'
	echo later >a
	# what is mounted on cannot be exchanged, and looks the same
	mount --bind b b
	after() { umount "$W/b" || true; }
	run -125 rein undo --ours a
	has "$output" "nothing was changed"
	umount b
	after() { :; }
	run -123 rein undo
	has "$output" a
	run -0 rein undo --ours a
	eq all "later 1" "$(cat a b | xargs)"
}

@test "a directory in which things were made keeps the mode it was given since then" {
	local first second
	mkdir -m 755 d e; mkdir -m 555 tight
	first=$(q sh -c 'echo 1 >d/x; echo 1 >e/x; echo 1 >top; chmod u+w tight; echo 1 >tight/x; chmod u-w tight'; newest)
	second=$(q chmod 750 e; newest)
	chmod 700 d .; chmod 500 tight
	run -0 rein undo "$first"
	eq modes "700 700 750 500" "$(stat -c %a . d e tight | xargs)"
	[ ! -e d/x ] && [ ! -e tight/x ]
	run -0 rein undo "$second"
	chmod 711 d
	run -0 rein redo "$first"
	eq modes "700 711 755 500" "$(stat -c %a . d e tight | xargs)"
	# what it changed itself it changes back, and what somebody else made of that is a conflict
	run -0 rein redo "$second"
	chmod 770 e
	run -123 rein undo "$second"
	chmod 750 e
	run -0 rein undo "$second"
	eq e 755 "$(stat -c %a e)"
	chmod 755 . d tight
}

@test "a directory that is gone, or another one by now, keeps nothing else from being undone" {
	mkdir -p out d/s
	echo one >a
	echo 1 >d/s/f
	q sh -c 'echo x >out/log; echo 2 >a; echo 2 >d/s/f'
	rm -r out d
	run -123 rein undo
	hasnt "$output" "out: "
	hasnt "$output" "d: "
	rein undo --ours out --ours d
	eq a one "$(cat a)"
	rein redo
	eq a 2 "$(cat a)"
	eq there a "$(ls)"
	mkdir d
	echo 1 >d/f
	q sh -c 'echo 2 >d/f; echo 3 >a'
	cp -r d new
	rm -r d
	mv new d
	rein undo --theirs d/f
	eq both "1 2" "$(cat d/f a | paste -sd' ')"
}

@test "an undo that would leave everything as it is does nothing, and is not one" {
	echo one >a
	q sh -c 'echo two >a'
	echo three >a
	run rein undo --ours a
	[ "$status" != 0 ]
	has "$output" "nothing to do"
	eq state committed "$(state_of "$(newest)")"
	rein undo --theirs a
	eq a one "$(cat a)"
}

@test "half of a rename is left as it is: the other half is told, by undo, redo and log" {
	local id
	echo one >a; echo x >c
	q sh -c 'mv a b; mv c d'
	id=$(newest)
	echo edited >>b
	run -0 rein undo --ours b
	has "$output" "1 deleted, 1 renamed"
	has "$(rein log -n 1)" "1 deleted, 1 renamed"
	eq tree "one one edited x" "$(cat a b c | xargs)"
	run -0 rein redo
	has "$output" "1 deleted, 1 renamed"
	eq tree "one edited x" "$(cat b d | xargs)"
	[ ! -e a ]
	rein undo -q
	eq tree "one one edited x" "$(cat a b c | xargs)"
	# alone, too: not "only times of directories"
	q mv c e
	echo edited >>e
	run -0 rein undo --ours e
	has "$output" "1 deleted"
	run -0 rein redo
	has "$output" "1 deleted"
	has "$(rein log -n 1)" "1 deleted"
}
