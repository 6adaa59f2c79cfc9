#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Transactions on filesystems that are not what one has at home. Root mounts them, and tries them also as an ordinary user.
# shellcheck disable=SC2016,SC2030,SC2031,SC2164,SC2317
load helper

# disk NAME MIB COMMAND...: a fresh filesystem at $D, made by COMMAND on a file
disk() {
	local name=$1 size=$2; shift 2
	is_root || skip "mounts"
	need "kernel: no loop devices" test -e /dev/loop-control
	need "$1 is missing" command -v "$1"
	truncate -s "${size}M" "$T/image"
	"$@" "$T/image" >/dev/null 2>&1 || die "$* failed"
	D=$T/disk
	mkdir "$D"
	need "kernel: no $name here" mount -o loop "$T/image" "$D"
	after() { for _ in $(seq 100); do ! umount "$D" 2>/dev/null || break; sleep 0.1; done; }
	chmod 755 "$T" "$D"
	export REIN_STATE=$D/state
	mkdir "$D/w" && cd "$D/w"
}

# as_user COMMAND...: with a state of its own on the same disk
as_user() {
	mkdir -p "$D/other" && chown 65534:65534 "$D/other"
	HOME=$D/other REIN_STATE=$D/other/state PATH=$REIN_PUBLIC:$PATH setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

# tree: all that counts here, but for the stores of transactions
tree() { find . -name '.rein-*' -prune -o -type d -printf '%p %m %U\n' -o -printf '%p %m %U %s %T@\n' | sort; }

# whole seconds only, and the rest of this one is long enough for what follows
is_early() { [ "$(date +%N | cut -c1)" -lt 3 ]; }
early_in_a_second() { until_true 3 is_early; }

@test "XFS: a directory that is replaced keeps its time, and so does the one that comes back" {
	disk xfs 300 mkfs.xfs -q
	mkdir d e
	touch -d @1000000000.5 d e
	q sh -c 'rmdir d; mkdir d; touch -d @1100000000.25 d; rmdir e; echo 1 >e'
	eq d 1100000000.25 "$(stat -c %.2Y d)"
	run -0 rein undo
	eq "d, undone" 1000000000.50 "$(stat -c %.2Y d)"
	eq "e, undone" 1000000000.50 "$(stat -c %.2Y e)"
	run -0 rein redo
	eq "d, redone" 1100000000.25 "$(stat -c %.2Y d)"
	run -0 rein undo
	eq "d, undone again" 1000000000.50 "$(stat -c %.2Y d)"
	cd "$W"
}

@test "XFS, full: a file with several names that cannot be written is as it was, and so is the transaction" {
	disk xfs 300 mkfs.xfs -q
	export REIN_STATE=$T/home/state
	head -c 3000000 /dev/zero >a
	ln a b
	id=$(held sh -c 'echo y >>b')
	cat /dev/zero >../fill 2>/dev/null || true
	sync -f ../fill
	truncate -s -1M ../fill # room for names, and for a copy that shares its blocks
	run -125 rein commit
	has "$output" "No space left"
	eq "its state" held "$(state_of "$id")"
	eq a 3000000 "$(stat -c %s a)"
	rm ../fill
	run -0 rein commit
	eq "a, committed" 3000002 "$(stat -c %s a)"
	cd "$W"
}

@test "times of whole seconds: what somebody changes within the second is still noticed" {
	disk ext4 16 mkfs.ext4 -q -I 128
	early_in_a_second
	echo aaaa >f; mkdir d; echo 1 >d/1
	held sh -c 'echo box1 >f; rm -r d' >/dev/null
	printf mine 1<>f; echo 2 >d/2
	run -123 rein commit
	has "$output" "conflict  f"
	has "$output" "conflict  d"
	eq f mine "$(cat f)"
	eq d $'1\n2' "$(ls d)"
	run -0 rein discard
	q sh -c 'echo box2 >f'
	printf hers 1<>f
	run -123 rein undo
	eq f hers "$(cat f)"
	cd "$W"
}

@test "btrfs: a workspace that is a subvolume, and subvolumes inside one" {
	disk btrfs 150 mkfs.btrfs -q
	need "btrfs is missing" command -v btrfs
	btrfs subvolume create sv >/dev/null
	btrfs subvolume create sv/in >/dev/null
	echo 1 >sv/1; echo 2 >sv/in/2; echo KEY=x >sv/.env; echo 3 >three
	for as in env as_user; do
		if [ $as = as_user ]; then chown -R 65534:65534 .; fi
		tree >"$T/before"
		run -0 $as rein run --approve --commit -q -- sh -c 'ls -A sv; echo x >>sv/1; rm sv/in/2; echo n >sv/in/n; echo y >>three'
		hasnt "$output" .env
		hasnt "$output" ".rein-$($as id -u)"
		eq "sv, $as" "1 x" "$(xargs <sv/1)"
		eq "sv/in, $as" n "$(ls sv/in)"
		run -0 $as rein undo
		tree | diff "$T/before" - || die "undo differs"
		cd sv
		run -0 $as rein run --approve --commit -q --workspace . -- sh -c 'echo x >>1'
		eq "a workspace, $as" "1 x" "$(xargs <1)"
		run -0 $as rein undo
		cd ..
		tree | diff "$T/before" - || die "undo of the subvolume differs"
	done
	cd "$W"
}

@test "btrfs: a read-only snapshot inside the workspace is read-only for the command, and what is hidden in it stays so" {
	disk btrfs 150 mkfs.btrfs -q
	need "btrfs is missing" command -v btrfs
	btrfs subvolume create sv >/dev/null
	echo 1 >sv/1; echo KEY=x >sv/.env
	btrfs subvolume snapshot -r sv snap >/dev/null
	for as in env as_user; do
		if [ $as = as_user ]; then chown 65534:65534 . sv sv/1; fi
		run -0 $as rein run --approve --commit -- sh -c 'cat snap/1; ls -A snap; echo x >snap/2 || :; rm snap/1 || :; rmdir snap || :; echo y >y'
		has "$output" "snap/2: Read-only file system"
		has "$output" "cannot remove 'snap/1': Read-only file system"
		hasnt "$output" .env
		eq "y, $as" y "$(cat y)"
		run -0 $as rein undo
		run -0 $as rein run --approve --verbose --discard -- sh -c 'echo y >y'
		has "$output" "$PWD/snap inside $PWD is read-only here: it is a read-only subvolume"
		run -0 $as rein run -q -- cat snap/1
		eq "snap, $as" 1 "$output"
		# asked for, it is refused; and one that can be written to is a tree of its own then, too
		run -125 $as rein run --approve --rw snap -- sh -c 'echo ran; echo x >y'
		has "$output" "read-only subvolume"
		hasnt "$output" ran
		run -0 $as rein run --approve --commit -q --rw sv --ro snap -- sh -c 'echo x >>sv/1; cat snap/1'
		eq "sv, $as" "1 x" "$(xargs <sv/1)"
		run -0 $as rein undo
		run -0 $as rein run --approve --commit -q --hide snap -- sh -c 'ls; echo x >>sv/1'
		hasnt "$output" snap
		run -0 $as rein undo
	done
	cd "$W"
}

@test "a read-only filesystem is refused with that reason, and nothing runs" {
	is_root || skip "mounts"
	D=$T/disk
	mkdir "$D"
	mount -t tmpfs none "$D"
	after() { umount "$D"; }
	mkdir -p "$D/w" && echo 1 >"$D/w/f"
	mount -o remount,ro "$D"
	cd "$D/w"
	run -125 rein run -- sh -c 'echo ran; echo 2 >f'
	has "$output" "read-only filesystem"
	hasnt "$output" ran
	run -125 command rein run --approve --hold -- touch g
	has "$output" "read-only filesystem"
	run -0 rein doctor
	has "$output" "missing   This directory"
	has "$output" "cannot change anything in this directory"
	run -0 rein run -q -- cat f
	eq f 1 "$output"
	cd "$W"
}

@test "a filesystem that cannot exchange names is refused before the command runs; reading works" {
	is_root || skip "mounts"
	need "kernel: no FUSE" test -e /dev/fuse
	need "bindfs is missing" command -v bindfs
	D=$T/disk
	mkdir "$D" "$T/below"
	echo 1 >"$T/below/f"
	bindfs "$T/below" "$D"
	after() { umount "$D"; }
	cd "$D"
	run -125 rein run -- sh -c 'echo ran; echo 2 >f'
	has "$output" "does not exchange names"
	hasnt "$output" ran
	run -0 rein doctor
	has "$output" "missing   This directory"
	eq left f "$(ls -A "$T/below")"
	run -0 rein run -q -- cat f
	eq f 1 "$output"
	cd "$W"
	run -0 rein doctor
	has "$output" "ok        This directory"
}

@test "fuse-overlayfs: names that it takes for its own are refused before anything is moved" {
	is_root || skip "mounts"
	need "kernel: no FUSE" test -e /dev/fuse
	need "fuse-overlayfs is missing" command -v fuse-overlayfs
	D=$T/disk
	mkdir "$D" "$T/low" "$T/up" "$T/work"
	fuse-overlayfs -o "lowerdir=$T/low,upperdir=$T/up,workdir=$T/work" "$D" 2>/dev/null
	after() { umount "$D"; }
	mkdir "$D/w" && cd "$D/w"
	echo 1 >f; echo 1 >x
	id=$(held sh -c 'echo 2 >f; echo 2 >.wh.x; mkdir d; echo 2 >d/.wh.y; echo 2 >d/z')
	run -125 rein commit
	has "$output" "'.wh.x' cannot be committed: its filesystem"
	eq tree $'f\nx' "$(ls -A)"
	eq f 1 "$(cat f)"
	run -125 rein commit --except .wh.x
	has "$output" "'d/.wh.y' cannot be committed"
	eq "its state" held "$(state_of "$id")"
	run -0 rein commit --except .wh.x --except d
	eq tree $'f\nx' "$(ls -A)"
	run -0 rein undo
	eq f "1" "$(cat f)"
	cd "$W"
	# elsewhere they are names like others
	q sh -c 'echo 1 >.wh.x'
	eq .wh.x 1 "$(cat .wh.x)"
}

@test "an append-only directory: nothing is committed that could not be taken back" {
	is_root || skip "chattr"
	mkdir d; echo 1 >o
	need "kernel: no append-only directories here" chattr +a d
	after() { chattr -a "$W/d"; }
	run -125 rein run -- sh -c 'echo 1 >d/n; echo 2 >o'
	has "$output" "'d' is immutable or append-only"
	# the command has ended well, and what it did is not lost
	id=$(newest)
	has "$output" "exit 0, and what it did is held: $id"
	has "$output" "keep: rein commit $id"
	eq "its state" held "$(state_of "$id")"
	rein discard -q "$id"
	id=$(held sh -c 'echo 1 >d/n; echo 2 >o')
	run -125 rein commit
	has "$output" "'d' is immutable or append-only"
	eq o 1 "$(cat o)"
	eq d "" "$(ls d)"
	chattr -a d
	run -0 rein commit
	chattr +a d
	run -125 rein undo
	has "$output" "'d' is immutable or append-only"
	eq "its state" committed "$(state_of "$id")"
	chattr -a d
	run -0 rein undo
	eq o 1 "$(cat o)"
}
