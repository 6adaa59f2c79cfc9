#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a command sees and what it cannot reach: the view, the hidden, the namespaces.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

workspace_is() { # DIR [OPTIONS...]: what rein takes for the workspace here
	local want=$1; shift
	eq workspace "$want" "$(rein run --json "$@" -- true 2>&1 >/dev/null | tail -n 1 | field workspace)"
}

@test "workspace: git root from a subdirectory, plain directory, --workspace, relative and absolute" {
	mkdir -p a/b plain/x
	(cd plain/x && workspace_is "$W/plain/x")
	git init -q a
	cd a/b
	workspace_is "$W/a"
	workspace_is "$W/a/b" --workspace .
	workspace_is "$W/plain" --workspace "$W/plain"
	workspace_is "$W/plain" -w ../../plain
	q sh -c 'echo from-below >../top; echo here >here'
	eq top from-below "$(cat ../top)"
	eq here here "$(cat here)"
	run -125 rein run --workspace "$W/missing" -- true
	has "$output" "--workspace '$W/missing'"
	echo file >"$W/file"
	run -125 rein run --workspace "$W/file" -- true
	has "$output" "is not a directory"
}

@test "workspace: / and the home directory are not guessed, and can be named" {
	cd /
	run -125 rein run -- true
	has "$output" "too wide"
	cd "$HOME"
	run -125 rein run -- true
	has "$output" "--workspace"
	rein run -q --commit --workspace "$HOME" -- sh -c 'echo ok >in-home'
	eq in-home ok "$(cat "$HOME/in-home")"
	# a git repository that is the home directory
	git init -q "$HOME"
	mkdir "$HOME/sub"
	cd "$HOME/sub"
	run -125 rein run -- true
	has "$output" "too wide"
	workspace_is "$HOME/sub" --workspace "$HOME/sub"
}

@test "workspace: through a symbolic link the spelling of the current directory stays" {
	ln -s w "$T/link"
	cd "$T/link"
	eq PWD "$T/link" "$(rein run -q -- sh -c 'echo "$PWD"')"
	eq pwd "$W" "$(rein run -q -- pwd -P)"
	q sh -c 'echo 1 >x'
	eq x 1 "$(cat "$W/x")"
	q sh -c "echo 2 >'$T/link/x'; echo 3 >'$W/y'"
	eq x 2 "$(cat x)"
	eq y 3 "$(cat y)"
	rein undo -q
	eq x 1 "$(cat x)"
	[ ! -e y ]
}

@test "workspace: under /tmp it is there, and the rest of /tmp is not" {
	local d
	d=$(mktemp -d /tmp/rein-cli.XXXXXX)
	echo outside >"$d.out"
	(
		cd "$d"
		rein run --commit -q -- sh -c "echo in >f; echo t >/tmp/private; test ! -e '$d.out'; pwd >where"
	)
	eq f in "$(cat "$d/f")"
	eq where "$d" "$(cat "$d/where")"
	rm -rf "$d" "$d.out"
	[ ! -e /tmp/private ]
}

@test "workspace: git worktree whose repository lies elsewhere" {
	git init -q main
	cd main
	git commit -q --allow-empty -m one
	git worktree add -q ../tree
	cd ../tree
	workspace_is "$W/tree"
	q sh -c 'echo x >x && git add x && git commit -qm two && git gc -q'
	eq subject two "$(git log -1 --format=%s)"
	git -C ../main fsck --strict >/dev/null
	rein undo -q
	eq subject one "$(git log -1 --format=%s)"
	[ ! -e x ]
	rein redo -q
	eq status "" "$(git status --porcelain)"
}

@test "workspace: git submodule, from inside it and from above" {
	git init -q lib && (cd lib && echo l >l && git add l && git commit -qm lib)
	git init -q super && cd super
	git submodule --quiet add "$W/lib" lib >/dev/null 2>&1
	git commit -qm super
	q sh -c 'cd lib && echo 2 >>l && git commit -qam more && cd .. && git add lib && git commit -qm bump'
	eq subject bump "$(git log -1 --format=%s)"
	cd lib
	workspace_is "$W/super/lib"
	q sh -c 'echo 3 >>l && git commit -qam inner'
	eq subject inner "$(git log -1 --format=%s)"
	git fsck --strict >/dev/null
}

@test "view: paths inside equal paths outside, the rest of the system and the home are readable and read-only" {
	echo mine >"$HOME/notes"
	run -0 rein run -q -- sh -c '
		pwd; cat "$HOME/notes"; test -r /etc/passwd && echo passwd
		for d in /etc /usr /var/lib /opt /root / "$HOME"; do
			touch "$d/rein-test-probe" 2>/dev/null && echo "WROTE $d"
		done
		(echo x >>"$HOME/notes") 2>/dev/null && echo WROTE; mkdir /newdir 2>/dev/null && echo WROTE; true'
	eq output "$W"$'\nmine\npasswd' "$output"
	eq notes mine "$(cat "$HOME/notes")"
}

@test "view: /tmp, /dev, /proc, /run and the host name are the box's own" {
	touch "/tmp/rein-cli-seen.$$"
	run -0 rein run -q -- sh -c '
		ls -A /tmp | grep -c rein-cli-seen
		hostname; ls /proc | grep -c "^[0-9]"; echo hi >/tmp/x && cat /tmp/x
		echo gone >/dev/null && head -c 4 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c
		test -c /dev/full && ! echo x 2>/dev/null >/dev/full && echo full
		ls /dev/sd* /dev/vd* /dev/mem /dev/kmsg 2>/dev/null | wc -l; echo shm >/dev/shm/a && cat /dev/shm/a
		readlink /dev/fd /dev/stdin; test -e /dev/ptmx && echo ptmx'
	rm -f "/tmp/rein-cli-seen.$$"
	eq output $'0\nrein\n'"${lines[2]}"$'\nhi\n4\n4\nfull\n0\nshm\n/proc/self/fd\n/proc/self/fd/0\nptmx' "$output"
	[ "${lines[2]}" -le 6 ] || die "${lines[2]} processes are seen"
	[ ! -e /tmp/x ] && [ ! -e /dev/shm/a ]
}

@test "the host name has an address; the host's list of names is read, and left as it is" {
	local how line before; before=$(md5sum /etc/hosts)
	for how in --net=none --net=host $(is_root && command -v crun >/dev/null && echo --backend=oci:crun); do
		run -0 rein run -q --discard "$how" -- sh -c 'getent hosts "$(hostname)"; cat /etc/hosts'
		has "${lines[0]}" 127.0.1.1
		while read -r line; do [ -z "$line" ] || has "$output" "$line"; done </etc/hosts
		run ! rein run -q --discard "$how" -- sh -c 'echo 127.0.0.9 mine >>/etc/hosts'
	done
	# hidden is hidden
	run rein run -q --discard --hide /etc/hosts -- cat /etc/hosts
	hasnt "$output" 127.0
	eq unchanged "$before" "$(md5sum /etc/hosts)"
	# what the command may change is what it finds: there the name is one that has an address
	run -0 rein run -q --discard --whole-system -- sh -c 'getent hosts "$(hostname)"'
	run -0 rein run -q --discard --whole-system --net=restricted -- sh -c 'getent hosts "$(hostname)"'
	is_root || return 0
	run -0 rein run -q --hold --whole-system -- sh -c 'echo 127.0.0.9 mine >>/etc/hosts; getent hosts mine; cat /etc/hosts'
	has "${lines[0]}" 127.0.0.9
	hasnt "$output" 127.0.1.1
	has "$(rein diff "$(newest)")" "+127.0.0.9 mine"
	rein discard -q "$(newest)"
	eq unchanged "$before" "$(md5sum /etc/hosts)"
}

@test "a port that somebody has is told before it is promised, and nothing is asked or run" {
	run -125 python3 -c '
import socket, subprocess, sys
s = socket.create_server(("127.0.0.1", 0))
port = s.getsockname()[1]
print("port", port, flush=True)
sys.exit(subprocess.call(["rein", "run", "--publish", "%d:80" % port, "--", "sh", "-c", "rm -rf / ; echo ran >f"]))'
	has "${lines[1]}" "rein: publish port ${lines[0]#port } of this machine (another: --publish PORT:80): Address already in use"
	eq lines 2 "${#lines[@]}"
	[ ! -e f ]
	eq record 0 "$(command rein audit log 2>/dev/null | wc -l)"
}

# etc SCRIPT: with an /etc that the script has changed, but the host has not
etc() {
	unshare -m sh -ec '
		mount --make-rprivate /
		mkdir -p "$T/etc"; mount -t tmpfs none "$T/etc"; mkdir "$T/etc/up" "$T/etc/work"
		mount -t overlay -o "lowerdir=/etc,upperdir=$T/etc/up,workdir=$T/etc/work" none /etc
		eval "$1"
		exec rein run --approve -q --discard -- sh -c "getent hosts rein; cat /etc/hosts"' sh "$1"
}

@test "the host name: also where the list of names is empty, a link, has no last newline, or has it already" {
	is_root || skip "root's"
	export T
	run -0 etc ': >/etc/hosts'
	has "${lines[0]}" 127.0.1.1
	run -0 etc 'printf "127.0.0.1 localhost # rein\n10.1.1.1 other" >/etc/hosts'
	has "${lines[0]}" 127.0.1.1
	has "$output" "10.1.1.1 other"
	run -0 etc 'printf "127.0.0.1 localhost\n127.7.7.7\tmine Rein # said before\n" >/etc/hosts'
	has "${lines[0]}" 127.7.7.7
	hasnt "$output" 127.0.1.1
	run -0 etc 'mkdir -p /etc/lists; mv /etc/hosts /etc/lists/hosts; ln -s lists/hosts /etc/hosts'
	has "${lines[0]}" 127.0.1.1
	run -0 etc 'mount -t tmpfs none /run; echo "127.0.0.8 far" >/run/hosts; ln -sf /run/hosts /etc/hosts'
	has "${lines[0]}" 127.0.1.1
	has "$output" 127.0.0.8
	# where there is none, or none that could be copied, nothing is made up and nothing fails
	run ! etc 'rm /etc/hosts'
	hasnt "$output" rein:
	run etc 'seq 20000 | sed "s/.*/127.0.0.1 blocked&/" >/etc/hosts'
	hasnt "$output" 127.0.1.1
	has "$output" blocked20000
}

@test "outside the workspace: who fails because it is read-only is told what would help, others are not" {
	run -2 --separate-stderr rein run --approve -- sh -c 'echo x >>~/.profile'
	has "$stderr" "$HOME/.profile is outside the workspace, where a box only reads: --rw PATH"
	run -0 --separate-stderr rein run --approve --discard --rw "$HOME" -- sh -c 'echo x >>~/.profile'
	hasnt "$stderr" "outside the workspace"
	run -1 --separate-stderr rein run --approve --discard -- sh -c 'echo x >file; echo y >/tmp/z; false'
	hasnt "$stderr" "outside the workspace"
}

@test "rein in a box says where it is" {
	cp "$REIN_BUILD/rein" again
	# what looks for leaks traces, which a box refuses
	run -125 --separate-stderr rein run --env ASAN_OPTIONS=detect_leaks=0 -- ./again run -- true
	has "$stderr" "this is inside a box"
	run -125 --separate-stderr rein run --env ASAN_OPTIONS=detect_leaks=0 -q -- ./again log
	has "$stderr" "this is inside a box"
}

@test "without a network: who fails for want of one is told, others are not" {
	local look='import socket, sys
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError:
    sys.exit(int(sys.argv[1]))'
	run -1 --separate-stderr rein run --approve -- python3 -c "$look" 1
	has "$stderr" "it looked for a network, and the box has none: --allow-host NAME"
	run -0 --separate-stderr rein run --approve -- python3 -c "$look" 0
	hasnt "$stderr" "network"
	run -1 --separate-stderr rein run -- false
	hasnt "$stderr" "network"
	run -1 --separate-stderr rein run --approve --json -q -- python3 -c "$look" 1
	python3 -c 'import json, sys; assert json.loads(sys.argv[1].split("\n")[-1])["network"]["looked_for"] == 1, sys.argv[1]' "$stderr"
}

@test "isolation: every namespace is another, no capability, no new privileges, a filter, no network" {
	local ns inside
	for ns in mnt pid ipc uts net cgroup user; do
		inside=$(rein run -q -- readlink /proc/self/ns/$ns)
		[ -n "$inside" ] && [ "$inside" != "$(readlink /proc/self/ns/$ns)" ] || die "namespace $ns is the host's"
	done
	run -0 rein run -q -- sh -c 'grep -E "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):" /proc/self/status | tr -s "\t" " "
		ls /sys/class/net 2>/dev/null | tr "\n" " "; echo; id -u; cat /proc/net/route | wc -l'
	has "$output" $'CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000'
	has "$output" "CapAmb: 0000000000000000"
	has "$output" "CapBnd: 0000000000000000"
	has "$output" $'NoNewPrivs: 1\nSeccomp: 2'
	has "$output" $'\n'"$(id -u)"$'\n'
	run -0 rein run -q -- python3 -c '
import socket, os
for family, where in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
    try:
        s = socket.socket(family); s.settimeout(1); s.connect(where); print("connected")
    except OSError as e: print("refused")
print(sorted(n for i, n in socket.if_nameindex()))'
	eq network $'refused\nrefused\n'"['lo']" "$output"
}

@test "message queues work, and are the box's own" {
	queue_program >"$T/mq.py"
	python3 "$T/mq.py" "$$" || skip "this machine has none"
	eq works hello "$(rein run -q --discard -- python3 "$T/mq.py" "$$")"
	eq works hello "$(rein run -q --discard -- python3 "$T/mq.py" "$$" leave)"
	eq again hello "$(rein run -q --discard -- python3 "$T/mq.py" "$$")"
	python3 "$T/mq.py" "$$"
}

@test "isolation: mount, ptrace of others, keyring, nested user namespaces and io_uring are refused" {
	run rein run -q -- unshare -Ur true
	[ "$status" -ne 0 ]
	run rein run -q -- mount -t tmpfs none /tmp
	[ "$status" -ne 0 ]
	run -0 rein run -q -- python3 -c '
import ctypes, errno
l = ctypes.CDLL(None, use_errno=True)
for name, nr, args in (("add_key", 248, (b"user", b"x", b"y", 1, -2)), ("io_uring_setup", 425, (1, 0)), ("bpf", 321, (0, 0, 0)),
                       ("perf_event_open", 298, (0, 0, 0, 0, 0)), ("userfaultfd", 323, (0,)), ("init_module", 175, (0, 0, 0))):
    r = l.syscall(nr, *args)
    print(name, "done" if r >= 0 else "refused")' || true
	hasnt "$output" done
	need "kernel: no nested user namespaces" unshare -Ur true
	if is_root; then # the kernel lets root be mapped only by who has CAP_SETFCAP
		run -0 rein run -q --nested --cap-add setfcap -- unshare -Ur true
	else
		run -0 rein run -q --nested -- unshare -Ur true
	fi
}

@test "network: --net host says so and is the host's" {
	run -0 rein run --net host -- readlink /proc/self/ns/net
	has "$output" "shares the host's network"
	has "$output" "cannot be undone"
	has "$output" "$(readlink /proc/self/ns/net)"
	run -125 rein run --net everywhere -- true
	has "$output" "none|restricted|open|host"
}

@test "hidden: every default of the home directory, the ones the documentation promises and the whole table" {
	local p list
	list=$(python3 - "$REIN_SOURCE/src/sandbox/viewrules.c" <<-'EOP'
		import re, sys
		text = open(sys.argv[1]).read().split("home_hidden[] = {")[1].split("\n};")[0]
		for folder, names in re.findall(r'\{"([^"]+)",\s*NAMES\((.*?)\)\}', text, re.S):
		    for name in re.findall(r'"([^"]+)"', names):
		        print(name if folder == "." else folder + "/" + name)
	EOP
	)
	[ "$(wc -l <<<"$list")" -gt 40 ] || die "the table was not read: $list"
	for p in .ssh .gnupg .aws .config/gcloud .kube .docker/config.json .netrc .mozilla .config/chromium .config/google-chrome .config/rein; do
		case $'\n'$list$'\n' in *$'\n'"$p"$'\n'*) ;; *) die "$p is not in the table" ;; esac
	done
	while IFS= read -r p; do
		[ "$p" != .local/state/rein ] || continue
		mkdir -p "$HOME/$p" && echo SECRET >"$HOME/$p/secret"
	done <<<"$list"
	rm -r "$HOME/.netrc" && echo SECRET >"$HOME/.netrc"
	rm -r "$HOME/.docker/config.json" && echo SECRET >"$HOME/.docker/config.json"
	run -0 rein run -q -- sh -c 'grep -rs SECRET "$HOME" "'"$REIN_STATE"'"; cat "$HOME/.ssh/secret" "$HOME/.netrc" "$HOME/.docker/config.json" 2>/dev/null; true'
	eq seen "" "$output"
	# --ro shows what was named
	run -0 rein run -q --ro "$HOME/.kube" -- sh -c 'cat "$HOME/.kube/secret"; cat "$HOME/.aws/secret" 2>/dev/null; true'
	eq shown SECRET "$output"
	# through a link to it, too
	ln -s "$HOME/.aws" alias
	run rein run -q -- cat alias/secret
	[ "$status" -ne 0 ] && hasnt "$output" SECRET
}

@test "hidden: settings that programs need, only while there is a password in them" {
	echo 'registry=https://registry.example/' >"$HOME/.npmrc"
	eq plain 1 "$(rein run -q -- grep -c registry "$HOME/.npmrc")"
	echo '//registry.example/:_authToken=SECRET' >>"$HOME/.npmrc"
	run rein run -q -- cat "$HOME/.npmrc"
	hasnt "$output" SECRET
}

@test "hidden: patterns in the workspace at any depth, the examples stay visible, nothing is left behind" {
	mkdir -p deep/er/secrets/in certs
	for f in .env .env.local deep/.env.production deep/er/id.key certs/tls.pem deep/er/secrets/in/pw secrets-not.txt \
		.env.example deep/.env.sample certs/tls.crt environment; do echo "content $f" >"$f"; done
	chmod 600 .env
	snap . >"$T/before"
	run -0 rein run -q -- sh -c 'find . -type f | sort; for f in .env deep/.env.production certs/tls.pem deep/er/secrets/in/pw; do
		test -e $f && echo "SEEN $f"; cat $f 2>/dev/null; done; true'
	eq visible $'./.env.example\n./certs/tls.crt\n./deep/.env.sample\n./environment\n./secrets-not.txt' "$output"
	snap . >"$T/after"
	diff "$T/before" "$T/after"
	# shown when named
	run -0 rein run -q --ro .env --ro deep/er/secrets -- cat .env deep/er/secrets/in/pw
	eq named $'content .env\ncontent deep/er/secrets/in/pw' "$output"
}

@test "hidden: a single file that --rw names is shown and written, its neighbours are not" {
	mkdir -p secrets ro
	echo A=1 | tee .env .env.local secrets/one secrets/two ro/x.key >/dev/null
	run -0 rein run -q --commit --rw .env --rw secrets/one -- sh -c 'cat .env secrets/one; ls -A . secrets; echo B=2 | tee -a .env >>secrets/one'
	eq seen $'A=1\nA=1' "$(head -n 2 <<<"$output")"
	hasnt "$output" .env.local
	hasnt "$output" two
	eq written $'A=1\nB=2' "$(cat .env)"
	eq inside $'A=1\nB=2' "$(cat secrets/one)"
	rein undo -q
	eq undone A=1 "$(cat .env)"
	# wider words elsewhere do not stand in its way
	eq around A=1 "$(rein run -q --discard --ro "$T" --rw .env -- sh -c 'echo x >>.env && head -n 1 .env')"
	# no tree around it, or one where nothing is written
	run -125 rein run --rw /etc/passwd -- true
	has "$output" "--rw '/etc/passwd' is not a directory"
	run -125 rein run --ro ro --rw ro/x.key -- true
	has "$output" "lies inside --ro"
	# what the same command line hides stays so
	run -125 rein run --rw .env --hide .env -- true
	has "$output" "both --rw and --hide"
	# the user's own policy may name it as well; with a star it names nobody's secret
	mkdir -p "$HOME/.config/rein"
	printf 'version: 1\nworkspace: {writable: [./.env]}\n' >"$HOME/.config/rein/policy.yaml"
	eq policy A=1 "$(rein run -q -- cat .env)"
	printf 'version: 1\nworkspace: {writable: ["./.e*"]}\n' >"$HOME/.config/rein/policy.yaml"
	run -1 rein run -q -- cat .env
}

@test "hidden: what a policy hides is not shown by --rw or --ro, whatever spells it" {
	mkdir -p secrets "$T/more/deep" && echo seen | tee .env plan secrets/a "$T/more/deep/plan" >/dev/null
	ln -s plan link && ln plan other
	for hidden in .env ./.env '.e*' '**/.env'; do
		printf 'version: 1\nworkspace: {hidden: ["%s"]}\n' "$hidden" >.rein.yaml
		for option in --rw --ro; do
			run -125 rein run $option .env -- cat .env
			has "$output" "$option '.env': a policy hides it (workspace.hidden)"
		done
	done
	for hidden in plan ./plan; do
		printf 'version: 1\nworkspace: {hidden: ["%s"]}\n' "$hidden" >.rein.yaml
		run -125 rein run --ro link -- cat plan
		has "$output" "a policy hides it"
	done
	run -125 rein run --ro other -- cat other
	printf 'version: 1\nworkspace: {hidden: [plan]}\n' >.rein.yaml
	run -125 rein run --rw "$T/more" --ro "$T/more/deep/plan" -- true
	has "$output" "a policy hides it"
	printf 'version: 1\nworkspace: {hidden: [secrets/**]}\n' >.rein.yaml
	for path in secrets secrets/a; do run -125 rein run --ro $path -- cat secrets/a; done
	# around it is no word about it
	run -1 rein run -q --ro . -- cat secrets/a
	# a project that nobody trusts shows nothing, in either way
	for words in 'writable: [./.env]' 'readonly: [./.env]'; do
		printf 'version: 1\nworkspace: {%s}\n' "$words" >.rein.yaml
		run -1 rein run -q -- cat .env
	done
}

@test "hidden: a hidden home is empty and the box's own, with the workspace and what is named in it" {
	mkdir -p "$HOME"/src/{p/secrets,q} "$HOME"/.config/{gh,app} "$HOME/.ssh" "$HOME/.cargo/registry" && cd "$HOME/src/p" && git init -q .
	echo SECRET | tee "$HOME"/src/q/{.env,code} "$HOME/.env" "$HOME/.config/gh/hosts.yml" "$HOME/.ssh/id" .env secrets/s >/dev/null
	echo seen | tee "$HOME/.config/app/c" "$HOME/.profile" f >/dev/null
	snap "$HOME/src/q" >"$T/before"
	run -0 rein run -q --commit --hide "$HOME" -- sh -c 'grep -rs SECRET ~ && echo LEAK; ls -A ~ ~/src; echo 2 >>f; echo own >~/new && cat ~/new; mkdir -p ~/.config/x ~/src/q'
	hasnt "$output" LEAK
	eq sees "$HOME:"$'\nsrc\n\n'"$HOME/src:"$'\np\nown' "$output"
	eq committed $'seen\n2' "$(cat f)"
	[ ! -e "$HOME/new" ]
	snap "$HOME/src/q" | diff "$T/before" -
	# what is named is there, and what is hidden in it stays so
	run -0 rein run -q --hide "$HOME" --ro "$HOME/.config" --ro "$HOME/.profile" --scratch "$HOME/.cargo/registry" -- sh -c \
		'ls -A ~; cat ~/.profile ~/.config/app/c; cat ~/.config/gh/hosts.yml 2>/dev/null; { echo x >~/.config/y; } 2>/dev/null || echo refused; touch ~/.cargo/registry/z; cat ~/src/q/code 2>/dev/null || true'
	eq named $'.cargo\n.config\n.profile\nsrc\nseen\nseen\nrefused' "$output"
	run -0 rein run -q --commit --hide "$HOME" --rw "$HOME/src/q" -- sh -c 'cat ~/src/q/.env; echo 3 >~/src/q/new'
	eq tree 3 "$(cat "$HOME/src/q/new")"
	# readers, too
	eq reader seen "$(rein run -q --hide "$HOME" -- head -n 1 f)"
	cd "$HOME/src/q"
	run -125 rein run --hide "$HOME" --workspace "$HOME/src/p" -- true
	has "$output" "the current directory '$HOME/src/q' is hidden"
	run -125 rein run --hide "$HOME" --ro "$HOME" -- true
	# a link to it is the same home
	ln -s home "$T/link" && cd "$HOME/src/p"
	HOME=$T/link run -0 rein run -q --hide "$T/link" -- sh -c 'ls -A ~'
	eq link src "$output"
}

@test "hidden: a policy hides the home and shows what is named; a project may hide it, and show nothing" {
	mkdir -p "$HOME"/src/{p,q} "$HOME/.config/rein" "$HOME/.tool/bin" "$HOME/.ssh" && cd "$HOME/src/p"
	echo SECRET | tee "$HOME/src/q/.env" "$HOME/.ssh/id" >/dev/null
	echo seen | tee "$HOME/.gitconfig" "$HOME/.tool/bin/x" f >/dev/null
	for words in '~' '"~"' '~/' '"~/**"'; do
		printf 'version: 1\nworkspace:\n  hidden: [%s]\n  shown: [~/.gitconfig, ~/.tool, ~/.absent]\n  readonly: [./f]\n' "$words" >"$HOME/.config/rein/policy.yaml"
		run -0 rein run -q -- sh -c 'ls -A ~; cat ~/.gitconfig ~/.tool/bin/x; { echo >f; } 2>/dev/null || echo refused'
		eq "$words" $'.gitconfig\n.tool\nsrc\nseen\nseen\nrefused' "$output"
	done
	# a command line names more, the home as a whole not
	run -0 rein run -q --ro "$HOME/src/q" -- sh -c 'ls -A ~/src/q'
	eq more .env "$output"
	run -125 rein run --ro "$HOME" -- true
	has "$output" "a policy hides it"
	# of two layers the one that hides is right
	printf 'version: 1\nworkspace: {hidden: [~/.tool], shown: [~/.ssh]}\n' >.rein.yaml
	eq project $'.gitconfig\nsrc' "$(rein run -q -- sh -c 'ls -A ~')"
	has "$(rein policy check)" "workspace.shown: a project cannot show what is hidden"
	rm "$HOME/.config/rein/policy.yaml"
	printf 'version: 1\nworkspace: {hidden: [~]}\n' >.rein.yaml
	eq alone src "$(rein run -q -- sh -c 'ls -A ~')"
	# nobody's keys by a star
	printf 'version: 1\nworkspace: {hidden: [~], shown: ["~/.*"]}\n' >"$HOME/.config/rein/policy.yaml"
	run -125 rein run -- true
	has "$output" "workspace.shown has '~/.*'"
}

@test "hidden: tools that live in a hidden home work where they are named" {
	need "python3 with venv" /usr/bin/python3 -c 'import venv'
	mkdir -p "$HOME/src/p" "$HOME/.cargo/bin" "$HOME/.rustup/toolchains/one/bin" "$HOME/.nvm/versions/node/v1/bin" && cd "$HOME/src/p" && git init -q .
	git config --file "$HOME/.gitconfig" user.name Ada && git config --file "$HOME/.gitconfig" user.email ada@example.org
	/usr/bin/python3 -m venv --without-pip "$HOME/.venv"
	printf '#!/bin/sh\necho "built by $0 for $(cat Cargo.toml)"\n: >target\n' >"$HOME/.rustup/toolchains/one/bin/cargo"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nexec "$HOME/.rustup/toolchains/one/bin/cargo" "$@"\n' >"$HOME/.cargo/bin/cargo"
	chmod +x "$HOME/.rustup/toolchains/one/bin/cargo" "$HOME/.cargo/bin/cargo"
	ln -s "$(command -v node || command -v sh)" "$HOME/.nvm/versions/node/v1/bin/node"
	echo me >Cargo.toml
	unset GIT_CONFIG_GLOBAL
	boxed() { PATH=$HOME/.cargo/bin:$HOME/.venv/bin:$HOME/.nvm/versions/node/v1/bin:$PATH rein run -q --commit --hide "$HOME" "$@"; }
	run -0 boxed --ro "$HOME/.cargo" --ro "$HOME/.rustup" -- cargo
	eq cargo "built by $HOME/.rustup/toolchains/one/bin/cargo for me" "$output"
	[ -e target ]
	run -0 boxed --ro "$HOME/.venv" -- python -c 'import sys; print(sys.prefix)'
	eq python "$HOME/.venv" "$output"
	run -0 boxed --ro "$HOME/.nvm" -- node "$(command -v node >/dev/null && echo -e || echo -c)" ': ;'
	run -127 boxed -- cargo
	run -0 boxed --ro "$HOME/.gitconfig" -- sh -c 'git add Cargo.toml && git commit -qm one'
	eq author "Ada <ada@example.org>" "$(git log -1 --format='%an <%ae>')"
}

@test "hidden: --hide a file and a directory inside and outside of the workspace" {
	mkdir -p sub "$HOME/private"
	echo SECRET | tee hidden sub/x "$HOME/private/y" >/dev/null
	echo fine >open
	run -0 rein run -q --hide hidden --hide sub --hide "$HOME/private" -- sh -c 'cat open; cat hidden sub/x "$HOME/private/y" 2>/dev/null; ls; true'
	hasnt "$output" SECRET
	eq first fine "${lines[0]}"
	eq intact SECRETSECRETSECRET "$(cat hidden sub/x "$HOME/private/y" | tr -d '\n')"
	run -125 rein run -q --hide "$W/nonexistent" -- true
	has "$output" "--hide"
	run -125 rein run -q --hide / -- true
}

@test "hidden: a command may make its own .env; over a hidden one it is a conflict" {
	q sh -c 'echo OWN=1 >.env; cat .env'
	eq own OWN=1 "$(cat .env)"
	echo REAL=1 >.env
	run -123 rein run --commit -- sh -c 'test ! -e .env && echo OWN=2 >.env && echo y >other'
	has "$output" ".env"
	has "$output" "hidden"
	eq real REAL=1 "$(cat .env)"
	[ ! -e other ]
	# the rest can go through
	run -0 rein commit --except .env
	eq other y "$(cat other)"
	eq real REAL=1 "$(cat .env)"
	run -123 rein commit
	run -123 rein commit --theirs .env
	eq real REAL=1 "$(cat .env)"
	rein discard -q
}

@test "hidden: deleting or moving a directory that holds a hidden file is a conflict" {
	mkdir -p d/sub
	echo SECRET >d/sub/server.key
	echo f >d/f
	snap . >"$T/before"
	run -123 rein run --commit -- rm -rf d
	has "$output" hidden
	run -123 rein run --commit -- mv d e
	has "$output" hidden
	run -123 rein run --commit -- sh -c 'rm -rf d && echo file >d'
	snap . >"$T/after"
	diff "$T/before" "$T/after"
	# beside it all is well
	q rm d/f
	[ ! -e d/f ] && [ -e d/sub/server.key ]
}

@test "caches are scratch: writable, kept for this workspace, not shared, never committed" {
	mkdir -p "$HOME/.cache" "$T/w2"
	echo real >"$HOME/.cache/real"
	rein run -q --commit -- sh -c 'test ! -e ~/.cache/real; echo kept >~/.cache/mine'
	eq kept kept "$(rein run -q -- cat "$HOME/.cache/mine")"
	(cd "$T/w2" && run -1 rein run -q -- cat "$HOME/.cache/mine")
	eq real real "$(ls "$HOME/.cache")"
	eq none "" "$(rein log --ids)"
	mkdir -p scratch "$HOME/sc"
	echo outside >scratch/o
	rein run -q --scratch scratch --scratch "$HOME/sc" -- sh -c 'echo s >scratch/s; echo t >~/sc/t; test ! -e scratch/o'
	eq scratch "o" "$(ls scratch "$HOME/sc" | tr -d '\n' | sed "s|$HOME/sc:||;s|scratch:||")"
	eq again "st" "$(rein run -q --scratch scratch --scratch "$HOME/sc" -- sh -c 'cat scratch/s ~/sc/t' | tr -d '\n')"
	run -125 rein run --scratch "$W" -- true
	has "$output" "would cover the workspace"
}

@test "a link that a command left in the workspace does not say what the next one is shown, may change or reach" {
	local o
	mkdir "$HOME/.ssh" "$HOME/.config" "$HOME/.config/rein" plain
	echo key >"$HOME/.ssh/id"
	q sh -c 'ln -s "$HOME/.ssh" cfg; ln -s "$HOME" up'
	ln -s "$W/cfg" "$HOME/elsewhere"
	for o in "--ro cfg" "--rw cfg" "--scratch cfg" "--ro up/.ssh" "--rw ./up" "--ro plain/../cfg" "--ro $HOME/elsewhere"; do
		# shellcheck disable=SC2086 # two words
		run -125 rein run --discard $o -- cat cfg/id
		has "$output" "is a symbolic link in a tree that may change"
		hasnt "$output" "key"
	done
	for o in writable shown scratch; do
		printf 'version: 1\nworkspace:\n  %s: ["%s/c*"]\n' "$o" "$W" >"$HOME/.config/rein/policy.yaml"
		[ "$o" != shown ] || sed -i 's/c\*/cfg/' "$HOME/.config/rein/policy.yaml"
		run -125 rein run --discard -- cat cfg/id
		has "$output" "is a symbolic link in a tree that may change"
	done
	rm "$HOME/.config/rein/policy.yaml"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$HOME/.ssh/s"
	q sh -c 'ln -s "$HOME/.ssh/s" sock'
	run -125 rein run --discard --allow-socket "$W/sock" -- true
	has "$output" "is a symbolic link in a tree that may change"
	echo A=hidden >.env
	q ln -s .env vars
	run -125 rein run --discard --env-file vars -- sh -c 'echo $A'
	has "$output" "is a symbolic link in a tree that may change"
	eq env b "$(rein run -q --discard --env-file <(echo A=b) -- sh -c 'echo $A')"
	# nor which secret goes out
	echo 0123456789abcdef >"$HOME/.ssh/long"
	q ln -s "$HOME/.ssh/long" token
	run -125 rein run --discard --allow-host a.example --credential T=file:token,host=a.example -- true
	has "$output" "is a symbolic link in a tree that may change"
	printf 'version: 1\nnetwork:\n  credentials: ["T=file:%s/token,host=a.example"]\n' "$W" >"$HOME/.config/rein/policy.yaml"
	run -125 rein run --discard --allow-host a.example -- true
	has "$output" "is a symbolic link in a tree that may change"
	rm "$HOME/.config/rein/policy.yaml"
	# what a person made, where no command writes, is theirs
	ln -s "$W/plain" "$HOME/mine"
	run -0 rein run -q --discard --ro "$HOME/mine" -- true
}

@test "--rw adds a tree, --ro keeps one, both are part of the transaction or not at all" {
	mkdir -p "$HOME/other" keep
	echo o >"$HOME/other/o"
	echo k >keep/k
	run -0 rein run --commit --rw "$HOME/other" --ro keep -- sh -c 'echo 2 >>~/other/o; echo w >w; echo 2 >>keep/k 2>/dev/null || echo refused; rm keep/k 2>/dev/null || echo refused'
	has "$output" $'refused\nrefused'
	eq both "o2w" "$(cat "$HOME/other/o" w | tr -d '\n')"
	eq keep k "$(cat keep/k)"
	rein undo -q
	eq other o "$(cat "$HOME/other/o")"
	[ ! -e w ]
	run -125 rein run --rw "$HOME/missing" -- true
	has "$output" "--rw '$HOME/missing'"
	run -125 rein run --rw keep --ro keep -- true
	has "$output" "is given to both"
	ln -s keep also
	for option in --rw --ro --scratch; do
		run -125 rein run $option keep --hide ./keep/ -- true
		has "$output" "is given to both $option and --hide"
		run -125 rein run $option keep --hide also -- true
		has "$output" "is given to both $option and --hide"
	done
	run -125 rein run --rw / -- true
	has "$output" "--whole-system"
}

@test "--whole-system: the home directory too, and all of it comes back" {
	mkdir "$HOME/x"
	echo a >"$HOME/x/a"
	run rein run --whole-system --hold -- sh -c 'echo b >>~/x/a; echo w >w; echo t >/tmp/t; hostname'
	[ "$status" = 0 ] || die "$output"
	eq before a "$(cat "$HOME/x/a")"
	[ ! -e w ]
	hasnt "$(rein diff --stat; rein diff --no-pager; rein show)" "//"
	rein commit -q
	eq after ab "$(tr -d '\n' <"$HOME/x/a")"
	eq w w "$(cat w)"
	[ ! -e /tmp/t ]
	rein undo -q
	eq before a "$(cat "$HOME/x/a")"
	[ ! -e w ]
}

@test "--whole-system: a mount that is gone is missed only by a run that changed something on it" {
	is_root || skip "mounts"
	mkdir m n
	run -0 unshare -m --propagation private sh -ec '
		both() { mount -t tmpfs none m; mount -t tmpfs none n; }
		both
		rein run -q --approve --hold --whole-system -- sh -c "echo 1 >f; echo 1 >n/f"
		echo m: $(ls -A m); umount m
		rein diff >/dev/null; rein commit -q; echo $(cat f n/f)
		rein undo -q; echo $(ls); rein redo -q; echo $(cat f n/f); rein undo -q
		umount n; both
		rein run -q --approve --commit --whole-system -- sh -c "echo 2 >f"
		echo m: $(ls -A m); umount m n
		echo $(cat f); rein undo -q; echo $(ls)
		both
		rein run -q --approve --hold --whole-system -- sh -c "echo 3 >f; echo 3 >n/f"
		umount m n; rein commit || rein discard -q; echo $(ls)'
	eq output $'m:\n1 1\nm n\n1 1\nm:\n2\nm n\nrein: what was changed in '"'$W/n' is not there" "$(head -n 8 <<<"$output" | sed 's, (mount it .*,,')"
	eq last "m n" "$(tail -n 1 <<<"$output")"
}

@test "a mount inside the workspace: its own tree as root, a refusal that says why otherwise" {
	mkdir m
	if ! is_root; then
		need "kernel: no user namespaces" unshare -Urm true
		# mounted as root of a namespace, seen as an ordinary user of it
		run -125 unshare -Urm --propagation private sh -c "mount -t tmpfs none m && exec unshare -U --map-user=$(id -u) --map-group=$(id -g) rein run -- true"
		has "$output" "mount"
		return
	fi
	run -0 unshare -m --propagation private sh -c 'mount -t tmpfs none m && echo a >m/a && rein run --commit -q -- sh -c "cat m/a; echo b >>m/a; echo c >c" && cat m/a && rein undo -q && cat m/a; ls'
	eq output $'a\na\nb\na\nm' "$output"
}

@test "the workspace on another filesystem than the state" {
	local d
	need "kernel: no /dev/shm" test -w /dev/shm
	[ "$(stat -f -c %i /dev/shm)" != "$(stat -f -c %i "$T")" ] || need "kernel: /dev/shm is no other filesystem" false
	local before=0
	[ -e "/dev/shm/.rein-$(id -u)" ] && before=1
	d=$(mktemp -d /dev/shm/rein-cli.XXXXXX)
	(
		cd "$d"
		echo a >a
		rein run --commit -q -- sh -c 'echo b >>a; mkdir n; echo n >n/n; rm -f gone'
		eq a ab "$(tr -d '\n' <a)"
		rein undo -q
		eq a a "$(cat a)"
		[ ! -e n ]
		rein gc -q --keep 0 --keep-age 1ns 2>/dev/null || rein gc -q --keep-age 1ms
	)
	rm -rf "$d"
	if [ $before = 0 ]; then rm -rf "/dev/shm/.rein-$(id -u)"; fi
}

@test "directories in each other cost the box little, and Rein no more memory than it has for that" {
	# twice 256 MiB and what it has besides; without an end to it, as much as the square of the depth
	cat >"$T/deep.py" <<-'END'
	import os, sys
	fd = os.open(".", os.O_DIRECTORY)
	for i in range(int(sys.argv[1])):
	    os.mkdir(sys.argv[2], dir_fd=fd)
	    last, fd = fd, os.open(sys.argv[2], os.O_DIRECTORY, dir_fd=fd)
	    os.close(last)
	END
	run -125 rein run --commit -- python3 "$T/deep.py" 1800 "$(printf '%0255d' 0)"
	has "$output" "the paths of what changed take more than 256 MiB"
	has "$output" "nothing is kept"
	eq ls "" "$(ls)"
	eq none "" "$(rein log --ids)"
	q python3 "$T/deep.py" 1500 d
	[ -d d/d/d ]
	rein undo -q
	eq ls "" "$(ls)"
}

@test "names of any bytes, deep trees, many files" {
	local bad=$'bad\xff\xfename' nl=$'new\nline' long
	long=$(printf 'x%.0s' {1..255})
	printf 1 >"$bad"; printf 2 >"$nl"; printf 3 >"$long"; printf 4 >'-rf'; printf 5 >' lead * [x] $(y)'
	q sh -c 'for f in *; do printf x >>"./$f"; done; mkdir -p "$1/in"; echo z >"$1/in/z"' sh $'d\t"q\xff'
	eq contents 1x2x3x4x5x "$(cat "$bad" "$nl" "$long" ./-rf ' lead * [x] $(y)')"
	eq deep z "$(cat $'d\t"q\xff/in/z')"
	rein show --json | python3 -m json.tool >/dev/null
	hasnt "$(rein show)" $'new\nline'
	rein undo -q
	eq contents 12345 "$(cat "$bad" "$nl" "$long" ./-rf ' lead * [x] $(y)')"
	eq five 5 "$(find . -mindepth 1 -maxdepth 1 -printf x | wc -c)"
}

@test "workspace: under /var/tmp and /tmp through a link, and with --whole-system" {
	local d
	for d in /tmp /var/tmp; do
		d=$(mktemp -d "$d/rein-cli.XXXXXX")
		mkdir "$d/w"
		ln -s w "$d/link"
		(
			cd "$d/link"
			rein run --commit -q -- sh -c 'echo 1 >f'
			eq f 1 "$(cat "$d/w/f")"
			rein run --commit -q --whole-system -- sh -c 'echo 2 >>f'
			eq f $'1\n2' "$(cat f)"
			rein undo -q
			eq f 1 "$(cat f)"
		)
		rm -rf "$d"
	done
}

@test "a user who is root of a namespace (a rootless container) has a box, too" {
	need "kernel: no user namespaces" unshare -Urm true
	echo 1 >f
	run -0 unshare -Urm rein run --commit -q -- sh -c 'echo 2 >>f; mkdir d; id -u; grep CapEff /proc/self/status'
	has "$output" 0000000000000000
	eq f $'1\n2' "$(cat f)"
	run -0 unshare -Urm rein undo -q
	eq f 1 "$(cat f)"
	[ ! -e d ]
}

@test "a socket that is named: its directory is as closed as outside, and one that is hidden is an error" {
	local d
	bind() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"; }
	d=$(mktemp -d /tmp/rein-socket.XXXXXX)
	bind "$d/s"
	run -0 rein run -q --discard --allow-socket "$d/s" -- stat -c %a "$d"
	rm -r "$d"
	eq mode 700 "$output"
	mkdir -p "$HOME/.gnupg"
	bind "$HOME/.gnupg/s"
	run -125 rein run --discard --allow-socket "$HOME/.gnupg/s" -- true
	has "$output" "is hidden: show all of that with --ro"
	run -0 rein run --discard --allow-socket "$HOME/.gnupg/s" --ro "$HOME/.gnupg" -- test -S "$HOME/.gnupg/s"
}

@test "files of another owner or group: as root they keep it, without root the refusal is explained" {
	is_root || return 0 # making such files takes root; the other half runs as an ordinary user from here
	mkdir d
	echo 1 | tee mine theirs d/x >/dev/null
	chown 12345:54321 theirs d
	# root in a box has no capability: others' files are as they are to anybody
	run -2 rein run -q --discard -- sh -c 'echo 2 >>theirs'
	rein run --commit -q --cap-add files -- sh -c 'echo 2 >>theirs; echo n >d/n; echo 2 >>mine'
	eq owner 12345:54321 "$(stat -c %u:%g theirs)"
	eq owner 12345:54321 "$(stat -c %u:%g d)"
	eq new 0:0 "$(stat -c %u:%g d/n)"
	rein undo -q
	eq owner 12345:54321 "$(stat -c %u:%g theirs)"
	eq content 1 "$(cat theirs)"
	# as an ordinary user
	chown -R 65534:65534 "$T"
	chown -R 65534:54321 d
	chown 65534:54321 theirs
	as_user() { env PATH="$REIN_PUBLIC:$PATH" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	run -0 as_user rein run --commit -- sh -c 'echo 3 >>mine; echo n >new; (echo 3 >>theirs) 2>/dev/null; true'
	eq mine $'1\n3' "$(cat mine)"
	eq theirs 1 "$(cat theirs)"
	run -2 as_user rein run --discard -- sh -c 'echo 3 >>d/x'
	has "$output" "another user or group"
	eq group 65534:54321 "$(stat -c %u:%g d)"
	# a user namespace has one group of the user's, however many there are: what is said to help then does
	in_group() { env PATH="$REIN_PUBLIC:$PATH" setpriv --reuid 65534 --regid "$1" --groups 65534,54321 "${@:2}"; }
	run -2 in_group 65534 rein run --discard -- sh -c 'echo 3 >>d/x'
	has "$output" "with a group that you are in as well: sg GROUP"
	run -0 in_group 54321 rein run --commit -- sh -c 'echo 3 >>d/x; echo n >d/n'
	eq x $'1\n3' "$(cat d/x)"
	eq group 65534:54321 "$(stat -c %u:%g d/n)"
	in_group 54321 rein undo -q
	eq x 1 "$(cat d/x)"
	# a workspace whose own directory is of a foreign group keeps it
	chown 65534:54321 .
	run -0 as_user rein run --commit -- sh -c 'echo n >new2'
	has "$output" "1 created."
	eq group 65534:54321 "$(stat -c %u:%g .)"
	# one that is somebody else's and not to be written to is not in the box either, and the rest is committed
	mkdir own
	chown 65534:65534 own
	chown 12345:54321 .
	run -0 as_user rein run --commit -- sh -c 'echo 1 >own/n; (echo n >a); mkdir b; rm -f mine; ls'
	has "$output" "a: Permission denied"
	has "$output" "cannot create directory"
	has "$output" "'mine': Permission denied"
	has "$output" "1 created. Committed"
	eq own 1 "$(cat own/n)"
	eq mode 755 "$(stat -c %a .)"
	setfacl -m u:12345:rwx .
	run -0 as_user rein run --commit -- sh -c 'echo 2 >own/n'
	has "$output" "1 modified. Committed"
	# nor does one's own that is closed to writing keep a run from beginning
	setfacl -b .
	chown 65534:65534 .
	chmod 555 .
	run -0 as_user rein run --commit -- sh -c 'echo 3 >own/n'
	has "$output" "1 modified. Committed"
	chmod 755 .
}

# on_overlay SCRIPT: run it with a workspace that is an overlay with a lower layer of d/x and f
on_overlay() {
	mkdir "$T/lower" "$T/upper" "$T/work"
	echo 1 >"$T/lower/f"
	mkdir "$T/lower/d" && echo x >"$T/lower/d/x"
	run unshare -m --propagation private sh -ec '
		mount -t overlay none -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" .
		cd "$PWD"
		eval "$2"
		rein gc -q --keep-age 1ms
		rm -rf ".rein-0"' sh "$T" "$1"
}

@test "a workspace on an overlay, as in a container: the layer lies elsewhere, commit and undo are the same" {
	is_root || return 0 # mounting it takes root
	on_overlay '
		rein run --commit -q -- sh -c "echo 2 >>f; mkdir e; mv d/x e/x; echo n >n; rm -f none"
		cat f; ls; rein undo -q; cat f; ls; rein redo -q; cat e/x; rein undo -q'
	eq output $'1\n2\nd\ne\nf\nn\n1\nd\nf\nx' "$output"
	eq status 0 "$status"
}

@test "a workspace on an overlay: directories of the lower layer cannot be moved; that is said, and nothing changes" {
	is_root || return 0 # mounting it takes root
	on_overlay '
		rein run --commit -q -- sh -c "mv d e; echo 2 >>f" || echo "status $?"; ls; cat f d/x
		rein run --commit -q -- rm -r d || echo "status $?"; cat d/x
		rein discard -q; rein discard -q'
	has "$output" "comes from a lower layer"
	has "$output" "volume"
	has "$output" $'status 125\nd\nf\n1\nx'
	eq status 0 "$status"
}

@test "in a chroot: the refusal says what it is and what helps" {
	is_root || skip "needs root"
	need "kernel: mounts" unshare -m true
	mkdir "$T/root"
	run -125 unshare -m sh -euc 'mount -t tmpfs none "$1"; mkdir "$1/r"
		for d in /*; do
			if [ -L "$d" ]; then cp -P "$d" "$1/r$d"; elif [ -d "$d" ]; then mkdir "$1/r$d"; mount --rbind "$d" "$1/r$d"; fi
		done
		exec chroot "$1/r" sh -c "cd \"\$1\" && exec rein run -- true" sh "$2"' sh "$T/root" "$W"
	has "$output" "as in a chroot"
}

@test "a writable entry of /proc is guarded also where something harmless is mounted over the host's" {
	is_root || return 0 # mounting takes root
	need "kernel: mounts" unshare -m true
	local entry
	entry=$(find /proc -maxdepth 1 -type f -perm /222 | head -n 1)
	[ -n "$entry" ] || skip "kernel: /proc has no writable file"
	echo nothing >"$T/harmless"
	chmod 444 "$T/harmless"
	run -0 unshare -m --propagation private sh -ec 'mount --bind "$1" "$2"; cat "$2"
		exec rein run -q -- grep -c " ${2#/proc} $2 ro[, ]" /proc/self/mountinfo' sh "$T/harmless" "$entry"
	eq output $'nothing\n1' "$output"
}

@test "a name as long as a path, looked for in the current directory, is not found" {
	run -127 env PATH=":$PATH" rein run -q --discard -- "$(head -c 4094 /dev/zero | tr '\0' a)"
}

@test "a device that is given as a stream is the box's own: nothing of the host's can be changed through it" {
	is_root || skip "needs a device of one's own"
	mknod "$T/null" c 1 3
	chmod 622 "$T/null"
	export T
	need "kernel: no devices here" sh -c ': >"$T/null"'
	run sh -c 'command rein run -- sh -c "chmod 600 /proc/self/fd/0; setfattr -n user.x -v 1 /proc/self/fd/0; touch /proc/self/fd/0" <"$T/null"'
	run sh -c 'command rein run -- sh -c "chmod 600 /proc/self/fd/1 /proc/self/fd/2" >"$T/null" 2>"$T/null"'
	eq mode 622 "$(stat -c %a "$T/null")"
	# and it is what it was
	eq read "" "$(rein run -q -- cat </dev/null)"
	eq zero 8 "$(rein run -q -- head -c 8 </dev/zero | wc -c)"
	run -0 sh -c 'command rein run -q -- echo x >/dev/null'
	run sh -c 'command rein run -q -- sh -c "echo x || exit 7" >/dev/full'
	eq full 7 "$status"
}
