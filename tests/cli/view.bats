#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a box sees, through the command line. REIN is the program; REIN_TEST_USER=1 runs it as an
# ordinary user (the test itself must be root then).

setup() {
	D=$(mktemp -d /var/tmp/rein-view-cli.XXXXXX)
	chmod 755 "$D"
	export HOME=$D/home REIN_STATE=$D/state
	mkdir -p "$D/home" "$D/proj"
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_CONFIG_NOSYSTEM=1
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	AS=
	if [ -n "${REIN_TEST_USER:-}" ]; then
		[ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
		AS="setpriv --reuid 65534 --regid 65534 --clear-groups --"
	fi
	own
	cd "$D/proj"
}

teardown() {
	cd /
	rm -rf "$D"
}

# Everything belongs to whom Rein runs as.
own() {
	[ -z "$AS" ] || chown -R 65534:65534 "$D"
}

# What the box shows is asked here, not what the policy thinks of looking at it.
rein() {
	if [ "$1" = run ]; then
		shift
		set -- run --approve "$@"
	fi
	$AS "$REIN" "$@"
}

privileged() {
	[ "$(id -u)" = 0 ] && [ -z "$AS" ] || skip "as root only"
}

tree() {
	find "$1" -printf '%P %y %m %s %T@\n' | sort
}

@test "secrets in the workspace are absent, and nothing is left behind" {
	mkdir -p a/secrets .git/refs/heads .git/objects && echo ref: refs/heads/main >.git/HEAD
	echo 1 >.env; echo 2 >.env.example; echo 3 >a/x.key; echo 4 >a/secrets/s; echo 5 >.git/refs/heads/y.key
	own
	before=$(tree .)
	run rein run -q --commit -- sh -c 'find . -type f | sort; cat a/x.key'
	[ "$status" = 1 ]
	[[ $output == *"No such file"* ]]
	[[ $output == *"./.env.example"* && $output == *"y.key"* ]]
	[[ $output != *"./.env"$'\n'* && $output != *"./a/x.key"* && $output != *"secrets/s"* ]]
	[ "$before" = "$(tree .)" ]
}

# So many directories that several look at them at once.
large_tree() {
	mkdir $(seq -f 'd%g' 1 1100)
	own
	rein run -q --discard -- true
	sleep 0.1
}

@test "a large tree: a secret put there before the run is not seen, however it came" {
	large_tree
	# made long ago, elsewhere on the same file system
	mkdir "$D/in" "$D/instead" && echo s >"$D/in/.env" && echo s >"$D/instead/.env" && echo s >"$D/file"
	own
	sleep 0.1
	ways=(
		'echo s >d500/.env'
		'mkdir -p d501/new/deep; echo s >d501/new/deep/.env'
		'mv "$D/in" d502/'
		'mv d503 "$D/away"; mv "$D/instead" d503'
		'touch -r d504 "$D/times"; mv "$D/file" d504/x.key; touch -r "$D/times" d504'
		'ln -s ../d506 d505/secrets; echo s >d506/password'
		'echo s >.env'
	)
	for way in "${ways[@]}"; do
		eval "$way"
		run rein run -q --discard -- find . -name '.env*' -o -name '*.key' -o -name secrets -o -name password
		[ "$status" = 0 ]
		[ -z "$output" ]
		find . -type f -delete
		find . -type l -delete
		rein run -q --discard -- true
	done
}

@test "a large tree: of secrets that come all the time, only those are seen that came after the start" {
	large_tree
	$AS bash -c 'for ((i = 0; ; i++)); do
		[ ! -e ../stop ] || exit 0
		case $((i % 3)) in
		0) p=d$((RANDOM % 1100 + 1))/.env.$i; echo s >$p ;;
		1) p=n$i/.env.$i; mkdir n$i; echo s >$p ;;
		2) p=m$i/.env.$i; mkdir ../m$i; echo s >../m$i/.env.$i; mv ../m$i . ;;
		esac
		echo "$p ${EPOCHREALTIME/./}" >>../came
		sleep 0.002
	done' &
	for _ in $(seq 12); do
		start=${EPOCHREALTIME/./}
		rein run -q --discard --writable -- find . -name '.env*' >"$D/found"
		sed "s|^./|$start |" "$D/found" >>"$D/seen"
	done
	touch "$D/stop"
	wait
	[ "$(wc -l <"$D/came")" -gt 12 ]
	awk 'NR == FNR { came[$1] = $2; next } came[$2] < $1 { print "seen:", $2; bad = 1 } END { exit bad }' "$D/came" "$D/seen"
	run rein run -q --discard -- find . -name '.env*'
	[ -z "$output" ]
}

@test "an agent may make such a file itself, and it is committed" {
	run rein run -q --commit -- sh -c 'echo mine >.env; cat .env'
	[ "$status" = 0 ]
	[ "$output" = mine ]
	[ "$(cat .env)" = mine ]
}

@test "a hidden file is never overwritten or deleted by a commit" {
	echo real >.env; mkdir -p conf/secrets; echo s >conf/secrets/s
	own
	run rein run -q --commit -- sh -c 'echo other >.env'
	[ "$status" = 123 ]
	[ "$(cat .env)" = real ]
	run rein run -q --commit -- rm -rf conf
	[ "$status" = 123 ]
	[ "$(cat conf/secrets/s)" = s ]
}

@test "a hidden file in the way: what is told then works" {
	local id
	echo real >.env; own
	run rein run -q --commit -- sh -c 'echo other >.env; echo new >beside'
	[ "$status" = 123 ]
	[[ $output == *"never overwritten"*"--ours PATH"*"rein diff"* && $output != *--merge* && $output != *--theirs* ]]
	id=$(rein log --ids -n 1)
	run rein commit "$id" --merge --theirs .env
	[ "$status" = 123 ]
	[[ $output == *"never overwritten"* && $output != *"be merged"* ]]
	[[ $(rein diff "$id" .env) == *+other* ]]
	rein commit -q "$id" --ours .env
	[ "$(cat .env beside)" = $'real\nnew' ]
}

@test "a named path is shown although a pattern hides it" {
	echo cert >public.pem
	own
	run rein run -q --discard --ro public.pem -- cat public.pem
	[ "$output" = cert ]
}

@test "the home is readable, its secrets are not, and it cannot be written" {
	mkdir -p "$HOME/.ssh" "$HOME/.aws"; echo key >"$HOME/.ssh/id"; echo x >"$HOME/.profile"; echo c >"$HOME/.aws/credentials"
	mkdir -p "$D/elsewhere"; mv "$HOME/.aws" "$D/elsewhere/aws"; ln -s "$D/elsewhere/aws" "$HOME/.aws"
	own
	run rein run -q --discard -- sh -c 'cat ~/.profile; ls ~/.ssh ~/.aws/; cat ~/.ssh/id ~/.aws/credentials; echo n >~/new'
	[[ $output == x* ]]
	[[ $output != *key* && $output != *$'\n'c$'\n'* ]]
	[ ! -e "$HOME/new" ]
}

@test "the secrets of the account are hidden, whatever HOME says" {
	[ -n "$AS" ] || skip "as an ordinary user"
	mkdir -p me/.ssh; echo seen >me/.ssh/id; own
	sed "/^[^:]*:[^:]*:65534:/d" /etc/passwd >"$D/passwd"; echo "me:x:65534:65534::$D/proj/me:/bin/sh" >>"$D/passwd"
	run unshare -m sh -c "mount --bind $D/passwd /etc/passwd && for home in HOME=$D/home HOME=rel -uHOME; do
		env \$home $AS $REIN run --approve -q --discard -- sh -c 'cat me/.ssh/id; echo ran'; done"
	[[ $output == *ran*ran*ran* && $output != *seen* ]]
}

@test "Rein's own state is hidden" {
	rein run -q --commit -- true
	run rein run -q --discard -- sh -c 'ls "$REIN_STATE"/* && echo seen'
	[ "$status" != 0 ]
	[[ $output != *seen* ]]
}

@test "Rein's own configuration is hidden, wherever it is" {
	mkdir -p real/rein "$HOME/.config/rein"; ln -s real xdg
	echo '# seen' | tee real/rein/notes >"$HOME/.config/rein/notes"; own
	export XDG_CONFIG_HOME=$D/proj/xdg
	run rein run -q --discard -- sh -c 'cat xdg/rein/* real/rein/* ~/.config/rein/*'
	[ "$status" = 1 ]
	[[ $output != *seen* ]]
}

@test "caches are kept for the workspace and never reach the real one" {
	mkdir "$HOME/.cache"; own
	rein run -q --commit -- sh -c 'echo kept >~/.cache/f'
	[ ! -e "$HOME/.cache/f" ]
	run rein run -q --commit -- cat "$HOME/.cache/f"
	[ "$output" = kept ]
	mkdir "$D/other"; own; cd "$D/other"
	run rein run -q --commit -- cat "$HOME/.cache/f"
	[ "$status" != 0 ]
}

@test "without a cache directory one is named in the environment" {
	run rein run -q --discard -- sh -c 'mkdir -p "$XDG_CACHE_HOME" && echo "$XDG_CACHE_HOME"'
	[ "$output" = /tmp/.cache ]
	export XDG_CACHE_HOME=/tmp/mine
	run rein run -q --discard -- sh -c 'echo "$XDG_CACHE_HOME"'
	[ "$output" = /tmp/mine ]
}

@test "where there is no network npm and pip ask for it once" {
	run rein run -q --discard -- sh -c 'echo "$npm_config_fetch_retries,$PIP_RETRIES"'
	[ "$output" = 0,0 ]
	PIP_RETRIES=3 run rein run -q --discard -- sh -c 'echo "$npm_config_fetch_retries,$PIP_RETRIES"'
	[ "$output" = 0,3 ]
	run rein run -q --discard --net host -- sh -c 'echo "$npm_config_fetch_retries,$PIP_RETRIES"'
	[ "${lines[-1]}" = , ]
}

@test "secrets of the environment stay outside unless they are asked for" {
	export DEPLOY_TOKEN=t0 PLAIN=p
	printf 'FROM_FILE="a b"\n' >"$D/env"; chmod 644 "$D/env"
	run rein run -q --discard --env-file "$D/env" --env SET=1 -- sh -c 'echo "$DEPLOY_TOKEN,$PLAIN,$FROM_FILE,$SET"'
	[ "$output" = ",p,a b,1" ]
	run rein run -q --discard --env DEPLOY_TOKEN -- sh -c 'echo "$DEPLOY_TOKEN"'
	[ "$output" = t0 ]
	printf 'A=1\nB="\n' >"$D/env"
	run rein run -q --discard --env-file "$D/env" -- true
	[ "$status" = 125 ]
	[[ $output == *"line 2"* ]]
}

@test "--rw, --ro, --hide and --scratch" {
	mkdir -p "$D/data" ro hid scr; echo 1 >"$D/data/f"; echo 2 >ro/f; echo 3 >hid/f; echo 4 >scr/f; own
	run rein run -q --commit --rw ../data --ro ro --hide hid --scratch scr -- sh -c \
		'echo new >../data/g; echo x >ro/f; echo s >scr/s; cat hid/f; ls scr; ls'
	[ "$(cat "$D/data/g")" = new ]
	[ "$(cat ro/f)" = 2 ]
	[ ! -e scr/s ]
	[[ $output != *3* && $output != *hid$'\n'* ]]
	for bad in "--rw missing" "--rw /etc/passwd" "--hide missing" "--rw ro --ro ro" "--hide ro --ro ro/f" "--scratch .." "--rw /"; do
		# shellcheck disable=SC2086
		run rein run -q $bad -- true
		[ "$status" = 125 ]
		[[ $output == *"${bad%% *}"* || $output == *hidden* ]]
	done
}

@test "the workspace is the git root, and a home is not guessed" {
	git init -q .; mkdir -p a/b; own; cd a/b
	run rein run -q --commit -- sh -c 'pwd; echo x >../../top'
	[ "$output" = "$D/proj/a/b" ]
	[ -e ../../top ]
	cd "$HOME"
	run rein run -q -- true
	[ "$status" = 125 ]
	[[ $output == *--workspace* ]]
	run rein run -q --commit --workspace . -- sh -c 'echo x >here'
	[ "$status" = 0 ]
	[ -e here ]
}

@test "a git worktree commits into its repository" {
	cd "$D"; git init -q main; cd main; git commit -q --allow-empty -m one; git worktree add -q ../wt; own
	cd ../wt
	run rein run -q --commit -- sh -c 'echo x >f && git add f && git commit -q -m two && git log --format=%s'
	[ "$status" = 0 ]
	[ "$output" = $'two\none' ]
	run $AS git log --format=%s
	[ "$output" = $'two\none' ]
}

@test "a submodule alone commits into its repository" {
	cd "$D"; git init -q sub; git -C sub commit -q --allow-empty -m one
	git init -q super; cd super
	git -c protocol.file.allow=always submodule --quiet add ../sub sm; git commit -q -m add; own
	cd sm
	run rein run -q --commit -- sh -c 'echo x >f && git add f && git commit -q -m two'
	[ "$status" = 0 ]
	run $AS git log --format=%s
	[ "$output" = $'two\none' ]
}

@test "a .git file made by an agent opens nothing" {
	mkdir -p "$D/target"; echo safe >"$D/target/HEAD"; mkdir "$D/target/objects" "$D/target/refs"; own
	rein run -q --commit -- sh -c "echo 'gitdir: $D/target' >.git"
	run rein run -q --commit -- sh -c "echo broken >$D/target/HEAD"
	[ "$(cat "$D/target/HEAD")" = safe ]
}

@test "a symlinked workspace is the place it leads to" {
	ln -s "$D/proj" "$D/link"; cd "$D/link"
	run rein run -q --commit -- sh -c 'echo x >f'
	[ "$status" = 0 ]
	[ -e "$D/proj/f" ]
}

@test "mounts inside the workspace: as root each has its answer" {
	privileged
	mkdir mnt ro
	run unshare -m sh -c "mount -t tmpfs none mnt && mount --bind /usr/share ro && mount -o remount,bind,ro ro &&
		$REIN run -q --commit -- sh -c 'echo x >mnt/f; test -d ro/doc; echo \$?; echo y >ro/y; echo z >z'; cat mnt/f"
	[[ $output == 0* && $output == *Read-only* && $output == *x ]]
	[ -e z ]
}

@test "mounts inside the workspace: what a pattern hides is hidden when it is a mount, too" {
	privileged
	mkdir -p secrets conf/secrets/in .env.d; touch .env; echo seen >"$D/file"
	run unshare -m sh -c "for d in secrets conf/secrets/in .env.d; do mount -t tmpfs none \$d && echo seen >\$d/f || exit; done
		mount --bind $D/file .env &&
		$REIN run -q --approve --discard -- sh -c 'cat secrets/f conf/secrets/in/f .env.d/f .env; echo ran'
		$REIN run -q --approve --discard --ro secrets -- sh -c 'sed s/seen/shown/ secrets/f'
		$REIN run -q --approve --discard --ro secrets/f -- true"
	[[ $output != *seen* && $output == *ran* && $output == *shown* && $output == *"which is hidden"* ]]
	# of a whole system too
	srv=$(mktemp -d /srv/rein-view-cli.XXXXXX); mkdir "$srv/secrets"
	run unshare -m sh -c "mount -t tmpfs none $srv/secrets && echo seen >$srv/secrets/f &&
		$REIN run -q --approve --discard --whole-system -- sh -c 'cat $srv/secrets/f; echo ran'"
	rm -r "$srv"
	[[ $output != *seen* && $output == *ran* ]]
}

@test "mounts inside the workspace: what a policy hides by name is hidden when it is a mount, too" {
	privileged
	mkdir -p vault a/vault-2; printf 'version: 1\nworkspace:\n  hidden: ["vault*"]\n' >.rein.yaml
	run unshare -m sh -c "for d in vault a/vault-2; do mount -t tmpfs none \$d && echo seen >\$d/f || exit; done
		$REIN run -q --approve --discard -- sh -c 'cat vault/f a/vault-2/f; echo ran'
		$REIN run -q --approve --discard --ro vault -- sh -c 'sed s/seen/shown/ vault/f'
		$REIN run -q --approve --discard --rw a/vault-2 -- sh -c 'sed s/seen/too/ a/vault-2/f'"
	[[ $output != *seen* && $output == *ran*"--ro 'vault': a policy hides it"*"--rw 'a/vault-2': a policy hides it"* ]]
	[[ $output != *shown* && $output != *too* ]]
}

@test "mounts inside the workspace: what is hidden by its path is hidden when it is a mount, too" {
	privileged
	mkdir -p m/deep ssh "$HOME/.ssh"; echo seen >"$HOME/.ssh/id"
	run unshare -m sh -c "mount --bind $HOME/.ssh ssh && mount -t tmpfs none m && mkdir m/deep && mount -t tmpfs none m/deep &&
		echo seen >m/f && echo seen >m/deep/f &&
		$REIN run -q --approve --discard --hide m -- sh -c 'cat ssh/id m/f m/deep/f; echo ran'
		$REIN run -q --approve --discard --hide m --rw m/deep -- true"
	[[ $output != *seen* && $output == *ran*"which is hidden"* ]]
}

@test "a hidden home: a linked work tree has its repository, other mounts of the home show nothing" {
	mkdir -p "$HOME/src/main" "$D/alias" "$D/all"; cd "$HOME/src/main"
	git init -q . && echo 1 >f && git add f && git commit -qm one && git worktree add -q ../wt
	echo seen >"$HOME/other"; own; cd ../wt
	run rein run -q --commit --hide "$HOME" -- sh -c 'ls -A ~; echo 2 >f; git commit -qam two && git log --oneline | wc -l'
	[ "$output" = $'src\n2' ]
	privileged
	mkdir "$HOME/m"
	run unshare -m sh -c "mount --bind $HOME $D/alias && mount --bind $D $D/all && mount -t tmpfs none $HOME/m && echo seen >$HOME/m/f &&
		$REIN run -q --approve --discard --hide $HOME -- sh -c 'grep -rs seen $D; cat $D/alias/other $D/all/home/other; ls -A ~'"
	[[ $output != *seen* && $output == *src ]]
}

@test "mounts inside the workspace: what shows a part of it again hides the same there" {
	privileged
	mkdir -p sub/secrets/d again one m "$D/data" data; touch file
	for f in sub/.env sub/secrets/d/f .env "$D/data/.env"; do echo seen >"$f"; done
	echo plain >sub/plain
	ln -s m/conf .env.link
	run unshare -m sh -c "mount --bind sub again && mount --bind sub/secrets/d one && mount --bind .env file &&
		mount --bind $D/data data && mount -t tmpfs none m && echo seen >m/conf &&
		$REIN run -q --approve --discard --rw $D/data --writable -- sh -c 'cat again/.env again/secrets/d/f one/f file data/.env m/conf; cat again/plain; echo ran'
		$REIN run -q --approve --discard --writable --ro file -- sh -c 'sed s/seen/shown/ file'"
	[[ $output != *seen* && $output == *plain?ran* && $output == *shown* ]]
}

@test "mounts inside the workspace: without root the refusal says what to do" {
	[ -n "$AS" ] || skip "as an ordinary user"
	mkdir mnt; own
	run unshare -m sh -c "mount -t tmpfs none mnt && $AS $REIN run -q -- true"
	[ "$status" = 125 ]
	[[ $output == *"$D/proj/mnt"* && $output == *"run as root"* ]]
}

@test "a tree that is a mount of its own is masked also where it is read-only" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount"
	run unshare -m sh -c "mount -t tmpfs none . && cd $D/proj && echo seen >.env && echo f >f && chmod 755 . &&
		printf 'version: 1\nworkspace:\n  readonly: [.]\n' >.rein.yaml
		${AS:+chown -R 65534:65534 .}
		$AS $REIN run -q --approve --discard --writable -- sh -c 'cat .env; echo x >f; cat f; echo policy'
		rm .rein.yaml
		$AS $REIN run -q --approve --discard --writable --ro . -- sh -c 'cat .env; echo x >f; cat f; echo option'"
	[[ $output != *seen* && $output == *Read-only*f?policy*Read-only*f?option ]]
}

@test "the whole system, or what an ordinary user can write of it" {
	mkdir -p "$HOME/.ssh"; echo key >"$HOME/.ssh/id"; own
	run rein run -q --hold --whole-system -- sh -c "echo x >$HOME/made; cat $HOME/.ssh/id; echo y >f"
	[[ $output != *key* ]]
	[ ! -e "$HOME/made" ]
	run rein commit @
	[ "$status" = 0 ]
	[ "$(cat "$HOME/made")" = x ]
	[ "$(cat f)" = y ]
	[ "$(cat "$HOME/.ssh/id")" = key ]
}

@test "a workspace on a filesystem with no place for its changes is refused with the reason" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount"
	srv=$(mktemp -d /srv/rein-view-cli.XXXXXX); chmod 755 "$srv"
	run unshare -m sh -c "mount -t tmpfs -o nr_inodes=1,mode=755${AS:+,uid=65534,gid=65534} none $srv && cd $srv &&
		$AS $REIN run --approve --writable -- echo ran"
	rm -r "$srv"
	[ "$status" = 125 ]
	[[ $output == "rein: no place for changes on the filesystem of '$srv': "* && $output != *ran* ]]
}

@test "a mount with no place for its changes is read-only, with a note; but not the workspace's and not what --rw names" {
	[ "$(id -u)" = 0 ] || skip "needs root to mount"
	srv=$(mktemp -d /srv/rein-view-cli.XXXXXX); chmod 755 "$srv"
	run unshare -m sh -c "mount -t tmpfs -o nr_inodes=2,mode=755${AS:+,uid=65534,gid=65534} none $srv && $AS mkdir $srv/in || exit
		$AS $REIN run --approve --discard --whole-system -- sh -c 'ls $srv; mkdir $srv/d; echo x >f; cat f'
		$AS $REIN run -q --json --approve --discard --whole-system -- true
		$AS $REIN run --approve --discard --whole-system --rw $srv/in -- echo rw
		cd $srv/in; $AS $REIN run --approve --discard --whole-system -- echo ws
		ls -A $srv"
	rm -r "$srv"
	[[ $output == in$'\n'*"Read-only file system"*$'\n'x$'\n'* ]]
	[[ $output == *"$srv"*" is read-only here: no place for changes on the filesystem of '$srv'"* ]]
	[[ $output == *'"notes":["'*"$srv"*" is read-only here"* ]]
	# those that were asked for are refused, as always
	[ "$(grep -c "^rein: no place for changes on the filesystem" <<<"$output")" = 2 ]
	[[ $output != *$'\n'rw* && $output != *$'\n'ws* && $output == *$'\n'in ]]
}

@test "the effects of a killed run are judged by what it could not see" {
	mkdir conf; echo k >conf/a.key; own
	$AS "$REIN" run -q --commit -- sh -c 'rm -rf conf; echo x >f; sleep 60' 3>&- &
	pid=$!
	for _ in $(seq 100); do
		find "$REIN_STATE" -path '*upper/f' 2>/dev/null | grep -q . && break
		sleep 0.05
	done
	child=$(pgrep -P $pid -f "^$REIN" || true)
	kill -9 ${child:-$pid}; wait $pid || true
	echo p >other.pem; own # another hidden set: the first mask is swept
	rein run -q --commit -- true
	run rein commit @
	[ "$status" = 123 ]
	[[ $output == *hidden* ]]
	[ "$(cat conf/a.key)" = k ]
}
