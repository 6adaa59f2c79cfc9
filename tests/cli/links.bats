#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files with several names: one file inside the box, after the commit, after an undo.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

# same A B...: all are names of one file
same() {
	local first=$1 name
	for name; do
		[ "$first" -ef "$name" ] || die "$first and $name are two files"
	done
}
apart() { ! [ "$1" -ef "$2" ] || die "$1 and $2 are one file"; }

@test "written through one name, read through the others: in the box, after commit, undo and redo" {
	mkdir -p d/e
	echo old >a
	ln a b
	ln a d/e/c
	local ino
	ino=$(stat -c %i a)
	run -0 rein run -q -- sh -c 'echo new >>d/e/c; cat a b; stat -c %h a b d/e/c; stat -c %i a b d/e/c | sort -u | wc -l'
	eq seen "$(printf 'old\nnew\nold\nnew\n3\n3\n3\n1')" "$output"
	same a b d/e/c
	eq inode "$ino" "$(stat -c %i a)"
	eq committed "$(printf 'old\nnew')" "$(cat b)"
	rein undo -q
	same a b d/e/c
	eq undone old "$(cat a)"
	rein redo -q
	same a b d/e/c
	eq redone "$(printf 'old\nnew')" "$(cat d/e/c)"
}

@test "rein diff tells what became of every name, before and after" {
	local id
	echo old >a
	ln a b
	q sh -c 'echo new >a'
	id=$(newest)
	eq committed 2 "$(rein diff "$id" | grep -c '^-old')"
	rein undo -q
	eq undone 2 "$(rein diff "$id" | grep -c '^+new')"
}

@test "a change stays when the name it was made through goes" {
	echo old >a
	ln a b
	q sh -c 'echo new >a; rm a'
	[ ! -e a ]
	eq b new "$(cat b)"
	rein undo -q
	same a b
	eq undone old "$(cat a)"
}

@test "names move, alone and with their directory, by rename and by link; the file stays one" {
	mkdir d
	echo old >a
	ln a b
	ln a d/c
	q sh -c 'mv a x; mv d e; ln b y; rm b; chmod 600 y; echo more >>e/c'
	same x e/c y
	eq content "$(printf 'old\nmore')" "$(cat x)"
	eq mode 600 "$(stat -c %a x)"
	[ ! -e a ] && [ ! -e b ] && [ ! -e d ]
	rein undo -q
	same a b d/c
	eq undone old "$(cat d/c)"
	eq mode 644 "$(stat -c %a a)"
}

@test "attributes through one name belong to all; times of directories stay" {
	mkdir d
	echo old >a
	ln a d/b
	touch -d @1000000000 d
	q chmod 640 a
	same a d/b
	eq mode 640 "$(stat -c %a d/b)"
	eq time 1000000000 "$(stat -c %Y d)"
	q touch -d @1100000000 d/b
	eq mtime 1100000000 "$(stat -c %Y a)"
	rein undo -q
	rein undo -q
	eq mode 644 "$(stat -c %a d/b)"
}

@test "replaced is not written: the other names keep the file" {
	echo old >a
	ln a b
	q sh -c 'rm a; echo new >a'
	apart a b
	eq b old "$(cat b)"
	rein undo -q
	same a b
	q sh -c 'echo other >t; mv t a'
	apart a b
	eq b old "$(cat b)"
	rein undo -q
	# equal bytes are not the same file
	cp -p a c
	q sh -c 'mv c a'
	apart a b
	eq b old "$(cat b)"
}

@test "a name outside the workspace follows, as it would" {
	echo old >a
	ln a ../outside
	q sh -c 'echo new >a'
	same a ../outside
	eq outside new "$(cat ../outside)"
	rein undo -q
	eq undone old "$(cat ../outside)"
}

@test "in a directory its owner cannot enter, a name follows too" {
	mkdir d
	echo old >a
	ln a d/b
	chmod 0 d
	q sh -c 'echo new >a; rm a'
	chmod 755 d
	eq content new "$(cat d/b)"
	chmod 0 d
	rein undo -q
	chmod 755 d
	same a d/b
	eq undone old "$(cat a)"
}

@test "symbolic links and fifos with several names stay one" {
	ln -s target l
	ln l m
	mkfifo f
	ln f g
	mkdir d
	q sh -c 'mv l d/l; chmod 600 f; mv g d/'
	same f d/g
	eq symlinks "$(stat -c %i m)" "$(stat -c %i d/l)"
	rein undo -q
	eq symlinks "$(stat -c %i m)" "$(stat -c %i l)"
	same f g
}

@test "a link made without a trace in the workspace is noticed: refused once, then watched" {
	mkdir d
	echo old >d/a
	sleep 0.1
	q true		# the tree is known now, and has no links
	ln d/a ../outside
	run -123 rein run -q --commit -- sh -c 'echo new >d/a'
	eq untouched old "$(cat ../outside)"
	rein discard -q
	run -0 rein run -q --commit -- sh -c 'echo new >d/a'
	same d/a ../outside
	eq outside new "$(cat ../outside)"
}

@test "of a file with several names none can be left out of a commit alone" {
	echo 1 >a; ln a b
	held sh -c 'echo 2 >>a; echo n >n' >/dev/null
	run -125 rein commit --except b
	has "$output" "one file"
	run -125 rein commit --only a
	eq b 1 "$(cat b)"
	[ ! -e n ]
	run -0 rein commit --only n
	eq b 1 "$(cat b)"
	run -0 rein commit --only a --only b
	eq b $'1\n2' "$(cat b)"
	eq nothing "" "$(rein log --ids --state held)"
	# attributes are the file's, too
	held sh -c 'chmod 700 a; echo m >m' >/dev/null
	run -125 rein commit --except b
	eq mode 644 "$(stat -c %a b)"
	rein discard -q
	# nor by what settles a conflict
	held sh -c 'echo 3 >>a' >/dev/null
	echo out >>b
	run -125 rein commit --ours b --theirs a
	has "$output" "one file"
	eq b $'1\n2\nout' "$(cat b)"
	run -0 rein commit --theirs a --theirs b
	eq b $'1\n2\n3' "$(cat b)"
}

# editor FILE TEXT: save anew, as editors do
editor() { echo "$2" >"$T/new" && mv "$T/new" "$1"; }

@test "a new name of a file that was saved anew outside: a conflict, left out or made a file of its own" {
	local id
	echo one >a
	held sh -c 'ln a b; mkdir d; ln a d/e; echo 1 >d/f; echo x >c' >/dev/null
	editor a two
	run -123 rein commit
	has "$output" "b: created here, is another name of a file that was replaced outside"
	has "$output" "d/e: created here, is another name"
	run -123 rein commit --merge
	run -123 rein commit --theirs b
	eq nothing a "$(ls)"
	run -0 rein commit --ours b --ours d/e
	eq files "two 1 x" "$(cat a d/f c | xargs)"
	[ ! -e b ] && [ ! -e d/e ]
	rein undo -q
	eq undone a "$(ls)"
	id=$(held sh -c 'ln a b; mkdir d; ln a d/e; ln a z')
	editor a three
	run -0 rein commit --ours z --theirs '**'
	same b d/e
	apart a b
	eq files "three two" "$(cat a b | xargs)"
	[ ! -e z ]
	rein undo -q
	eq undone a "$(ls)"
	rein redo -q
	same b d/e
	eq files "three two" "$(cat a b | xargs)"
	rein undo -q
	# gone is no better, and a redo is told the same way
	held sh -c 'ln a b' >/dev/null
	cp -p a "$T/a"; rm a
	run -123 rein commit
	run -0 rein commit --theirs b
	eq b three "$(cat b)"
	rein undo -q
	cp -p "$T/a" a
	q ln a b
	rein undo -q
	editor a four
	run -123 rein redo
	has "$output" "b: created here, is another name"
	eq a four "$(cat a)"
	[ ! -e b ]
}

@test "a redo of a name whose file was saved anew since: left out, or made a file of its own" {
	local id
	echo one >a
	q sh -c 'ln a b; mkdir d; ln a d/e; echo 1 >d/f; echo x >c'
	id=$(newest)
	rein undo -q
	editor a two
	run -123 rein redo
	has "$output" "b: created here, is another name"
	has "$output" "d/e: created here, is another name"
	run -123 rein redo --theirs b
	# what comes with its directory is left out with it, or not at all
	run -123 rein redo --ours b --ours d/e
	has "$output" "d/e comes with its directory: --ours d leaves all of that out, --theirs d/e makes it a file of its own"
	hasnt "$output" "per path:"
	eq nothing a "$(ls)"
	run -0 rein redo --ours b --ours d
	eq files "a c" "$(echo *)"
	eq content "two x" "$(cat a c | xargs)"
	rein undo -q
	eq undone a "$(ls)"
	rein redo -q
	eq redone "a c" "$(echo *)"
	rein undo -q
	q sh -c 'ln a b; mkdir d; ln a d/e; echo 1 >d/f; echo x >c'
	rein undo -q
	editor a three
	run -0 rein redo --theirs '**'
	same b d/e
	apart a b
	eq files "three two 1 x" "$(cat a b d/f c | xargs)"
	run -0 rein diff
	has "$output" "+two"
	rein undo -q
	eq undone a "$(ls)"
	run -0 rein redo
	same b d/e
	eq files "three two 1 x" "$(cat a d/e d/f c | xargs)"
	# it is a file like any other now
	echo more >>b
	run -123 rein undo
	eq b "two more" "$(xargs <b)"
	# all of it left as it is would be no redo
	rm -r b c d
	q ln a b
	rein undo -q
	rm a
	run -125 rein redo --ours b
	run -0 rein redo --theirs b
	eq files b "$(ls)"
	eq b three "$(cat b)"
}

@test "a redo of a file that moved, with its change, when its old name is another file's by now" {
	echo one >a; ln a ../outside
	q sh -c 'mv a c; echo more >>c'
	same c ../outside
	rein undo -q
	same a ../outside
	editor a two
	run -123 rein redo
	run -123 rein redo --theirs c
	eq nothing a "$(ls)"
	# the old name stays, the new one is a file of its own
	run -0 rein redo --ours a --theirs c
	eq files "two one more" "$(cat a c | xargs)"
	eq outside one "$(cat ../outside)"
	rein undo -q
	eq undone "a two" "$(ls) $(cat a)"
	eq outside one "$(cat ../outside)"
	rein redo -q
	eq files "two one more" "$(cat a c | xargs)"
	rein undo -q
	rm a ../outside
	# neither: the rest is done
	echo one >a; ln a ../outside
	q sh -c 'mv a c; chmod 600 c; echo x >x'
	rein undo -q
	editor a two
	run -0 rein redo --ours c
	eq files "a x" "$(echo *)"
	eq mode 644 "$(stat -c %a ../outside)"
	rein undo -q
	# another name of it is known: there the change goes
	rm a ../outside
	echo one >a; ln a b; ln a ../outside
	q sh -c 'mv a c; mv b d; echo more >>c'
	rein undo -q
	same a b ../outside
	editor a two
	run -0 rein redo --theirs '**'
	eq files "c d" "$(echo *)"
	same c d ../outside
	eq content "one more" "$(xargs <../outside)"
	rein undo -q
	same b ../outside
	eq undone "two one" "$(cat a b | xargs)"
}

@test "new names of one new file, divided by a commit: files of their own, told, undone in any order" {
	local id rest
	# in a new directory and outside of one, and one that takes a real file's place
	echo old >m
	for order in "rest id" "id rest"; do # a directory that has the rest in it stays as long as that
		id=$(held sh -c 'echo 1 >x; ln x y; ln x z; mkdir -p new; echo 2 >new/x; ln new/x new/y; echo 3 >t; ln t n; mv t m')
		run -0 rein commit --only x --only new/x --only m
		has "$output" "m and 2 more had other names in the run"
		rest=$(newest)
		eq links "1 1 1" "$(stat -c %h x new/x m | xargs)"
		eq files "1 2 3" "$(cat x new/x m | xargs)"
		[ ! -e y ] && [ ! -e z ] && [ ! -e new/y ] && [ ! -e n ]
		# nothing of ours looks like later work
		rein undo -q "$id"
		eq undone m "$(ls -d x y z m n new/* 2>/dev/null)"
		rein redo -q "$id"
		eq links "1 1 1" "$(stat -c %h x new/x m | xargs)"
		run -0 rein commit "$rest"
		hasnt "$output" "other names"
		same y z
		apart x y
		apart new/x new/y
		apart m n
		eq files "1 1 2 3" "$(cat y z new/y n | xargs)"
		for which in $order; do rein undo -q "${!which}"; done
		eq undone "m old" "$(ls -d x y z m n new/* 2>/dev/null) $(cat m)"
		rein redo -q "$id"
		rein redo -q "$rest"
		eq files "1 1 1 2 2 3 3" "$(cat x y z new/x new/y m n | xargs)"
		rein undo -q "$rest"
		rein undo -q "$id"
		mkdir -p new
	done
	rmdir new
	held sh -c 'echo 1 >x; ln x y' >/dev/null
	echo 2 >y
	run -0 rein commit --json --ours y
	eq told true "$(field changes.1.parted <<<"$output")"
	eq links 1 "$(stat -c %h x)"
	rein undo -q
	eq undone "2 m y" "$(cat y) $(echo *)"
	# all of them, and it is one
	q sh -c 'echo 1 >x; ln x z'
	same x z
}

@test "one name of a file was saved anew: the others, moved and new ones too, stay one file with the run's change" {
	echo one >a; ln a b; ln a d
	held sh -c 'echo more >>a; mv b c; ln d z' >/dev/null
	editor a two
	run -123 rein commit
	run -0 rein commit --ours a --theirs '*'
	same c d z
	eq files "two one more" "$(cat a c | xargs)"
	[ ! -e b ]
	rein undo -q
	same b d
	eq undone "two one" "$(cat a b | xargs)"
	rein redo -q
	same c d z
	eq redone "two one more" "$(cat a z | xargs)"
}

@test "names that are several files by now: --merge loses nobody's edit; each is left or taken" {
	printf '1\n2\n3\n' >a; ln a b; ln a d
	held sh -c 'echo 4 >>a' >/dev/null
	editor a $'0\n1\n2\n3'
	run -123 rein commit --merge
	eq a "0 1 2 3" "$(xargs <a)"
	eq b "1 2 3" "$(xargs <b)"
	run -0 rein commit --ours a --theirs b --theirs d
	eq a "0 1 2 3" "$(xargs <a)"
	eq b "1 2 3 4" "$(xargs <b)"
	same b d
	rein undo -q
	eq undone "1 2 3" "$(xargs <b)"
	# one file still: merged once, for all of its names
	held sh -c 'echo 4 >>b' >/dev/null
	printf '0\n1\n2\n3\n' >d
	run -0 rein commit --merge
	same b d
	eq merged "0 1 2 3 4" "$(xargs <b)"
}

@test "names of one file, given and taken by several transactions: undone and done in any order" {
	local one two
	echo 1 >f
	q ln f x; one=$(newest)
	q ln f y; two=$(newest)
	rein undo -q
	rein undo -q
	eq undone f "$(ls)"
	rein redo -q "$two"
	rein redo -q "$one"
	same f x y
	rein undo -q "$one"
	rein undo -q "$two"
	eq undone f "$(ls)"
	# two boxes at once
	ln f g
	one=$(held rm f)
	two=$(held sh -c 'rm g; echo 1 >h')
	rein commit -q "$one"
	rein commit -q "$two"
	eq gone h "$(ls)"
	rein undo -q "$one"
	rein undo -q "$two"
	same f g
	# what would part them stays a conflict
	rm g
	one=$(held ln f n)
	two=$(held sh -c 'echo 2 >>f')
	rein commit -q "$one"
	run -123 rein commit "$two"
	has "$output" "f: modified here, changed outside"
	same f n
	rein undo -q "$one"
	rein commit -q "$two"
	q ln f m
	run -123 rein undo "$two"
	rein undo -q
	rein undo -q "$two"
	eq undone 1 "$(cat f)"
}

@test "two names of one file, the second made in the box, are renamed onto each other and exchanged: nothing happens" {
	mkdir d
	echo old >a
	cat >"$T/exchange.py" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for a, b in ((b"a", b"b"), (b"b", b"d/c"), (b"d/c", b"a")):
    if libc.renameat2(-100, a, -100, b, 2) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    os.rename(a, b)
END
	run -0 rein run -q --commit -- sh -c "ln a b; ln b d/c; python3 $T/exchange.py; cat a b d/c"
	eq seen $'old\nold\nold' "$output"
	same a b d/c
	rein undo -q
	eq undone $'.:\na\nd\n\n./d:' "$(ls -R)"
}

@test "a merge of a file with two names is undone and done again" {
	seq 7 >a
	ln a b
	held sh -c 'sed s/1/one/ a >t; cat t >a; rm t' >/dev/null
	sed s/7/seven/ a >"$T/t"; cat "$T/t" >b
	run -0 rein commit --merge
	eq merged "one 2 3 4 5 6 seven" "$(xargs <a)"
	run -0 rein undo
	eq undone "1 2 3 4 5 6 seven" "$(xargs <a)"
	same a b
	run -0 rein redo
	eq redone "one 2 3 4 5 6 seven" "$(xargs <b)"
	same a b
}

@test "a new name of a changed file, whose own names are left out: it is a file of its own, and they stay as they are" {
	local how words
	for how in "--only n" "--ours **" "--only x --only a" "--only d"; do
		rm -rf -- *; echo old >a; ln a b; echo z >z
		held sh -c 'echo box >>a; ln a n; mkdir d; ln b d/n; mv a x' >/dev/null
		if [ "$how" = "--ours **" ]; then echo outside >>b; fi
		cp -a . "$T/before"
		read -ra words <<<"$how"
		run -0 rein commit "${words[@]}"
		case $how in
		"--only n") eq n $'old\nbox' "$(cat n)"; eq a old "$(cat a)"; same a b; apart a n ;;
		"--ours **") eq b $'old\noutside' "$(cat b)" ;;
		"--only x --only a") eq x $'old\nbox' "$(cat x)"; eq b old "$(cat b)"; [ ! -e a ] ;;
		"--only d") eq d/n $'old\nbox' "$(cat d/n)"; eq b old "$(cat b)"; same a b ;;
		esac
		run -0 rein undo
		eq a "$(cat "$T/before/a")" "$(cat a)"
		same a b
		eq tree $'a\nb\nz' "$(ls)"
		run -0 rein redo
		run -0 rein undo
		rein discard -q || true
		rm -rf "$T/before"
	done
}

@test "two files of the run are one outside by now: --theirs makes them what each was in the run" {
	echo 1 >a; ln a a2; echo 2 >c; ln c c2
	held sh -c 'echo x >>a; echo y >>c' >/dev/null
	ln -f a c
	run -0 rein commit --theirs c --theirs '*'
	eq a "1 x" "$(xargs <a)"
	eq c "2 y" "$(xargs <c)"
	same a a2
	same c c2
	run -0 rein undo
	eq a 1 "$(cat a)"
	same a a2 c
	eq c2 2 "$(cat c2)"
	run -0 rein redo
	eq c "2 y" "$(xargs <c)"
	eq a "1 x" "$(xargs <a)"
}
