# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The scene outside: a workspace with secrets, canaries around it, a victim that listens everywhere; and
# the comparison of the host before and after. Sourced by run and by the attacks on commit.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
number=0 failed=0
ok() { number=$((number + 1)); printf 'ok %d - %s\n' "$number" "$1"; }
not_ok() {
	number=$((number + 1)) failed=1
	printf 'not ok %d - %s\n' "$number" "$1"
	[ -z "${2:-}" ] || [ ! -s "$2" ] || sed 's/^/# /' "$2" | head -n 30
}
# check NAME [FILE]: by the status of the command before
check() { if [ $? = 0 ]; then ok "$1"; else not_ok "$1" "${2:-}"; fi; }
skip_test() { number=$((number + 1)); printf 'ok %d - %s # SKIP %s\n' "$number" "$1" "$2"; }
skip_all() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }
finish() { printf '1..%d\n' "$number"; exit "$failed"; }

# Take over the lines of another TAP stream, numbered anew.
relay() {
	local line plan=
	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		ok\ *) number=$((number + 1)); printf 'ok %d -%s\n' "$number" "${line#*-}";;
		not\ ok\ *) number=$((number + 1)) failed=1; printf 'not ok %d -%s\n' "$number" "${line#*-}";;
		'#'*) printf '%s\n' "$line";;
		1..*) plan=1;;
		*) printf '# %s\n' "$line";;
		esac
	done <"$1"
	[ -n "$plan" ]; check "all attempts were made" "$1"
}

begin() {
	case $1 in
	root*)
		[ "$(id -u)" = 0 ] || skip_all "needs root"
		uid=0 gid=0;;
	user*)
		if [ "$(id -u)" = 0 ]; then uid=$((20000 + $$ % 40000)) gid=$uid; else uid=$(id -u) gid=$(id -g); fi;;
	*) echo "no kind of box '$1'" >&2; exit 2;;
	esac
	if [ "$(id -u)" = 0 ]; then
		mount --make-rshared /
		base=$(mktemp -d /srv/rein-escape.XXXXXX)
	else
		base=$(mktemp -d "$HOME/rein-escape.XXXXXX")
	fi
	work=$(mktemp -d)
	tag=${base##*/}
	trap clean EXIT
	trap 'exit 1' INT TERM
}

clean() {
	[ -z "${victim_in:-}" ] || exec {victim_in}>&-
	[ -z "${victim_job:-}" ] || wait "$victim_job" 2>/dev/null
	if [ "$(id -u)" = 0 ]; then
		umount "$base/bind" "$base/bind-home" 2>/dev/null
		rm -rf "/run/$tag"
		[ -z "${segment:-}" ] || ipcrm -m "$segment" 2>/dev/null
	fi
	rm -rf "/tmp/$tag.sock" "/var/tmp/$tag.sock"
	chmod -R u+w "$base" 2>/dev/null
	rm -rf "$base" "$work"
}

as_user() {
	if [ "$(id -u)" = "$uid" ]; then "$@"
	else setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@"; fi
}

scene() {
	local home=$base/home ws=$base/ws out=$base/outside f
	chmod 755 "$base"
	mkdir -p "$home"/{.ssh,.aws,.docker,.config/rein} "$out/dir" "$base/run" "$base/bin" "$base/state" \
		"$ws"/{sub,conf,secrets,dir/inner,deep/a/b/secrets/c} "$base/bind" "$base/bind-home"
	chmod 700 "$base/run" "$base/state"
	cp "$build/rein" "$build/rein-box" "$build/rein-gate" "$base/bin/"
	cp "$build/tests/escape/escape" "$base/bin/escape"
	for f in .ssh/id_rsa .aws/credentials .netrc .docker/config.json .config/rein/policy; do echo "SECRET $f" >"$home/$f"; done
	echo '# shell' >"$home/.bashrc"
	for f in .env sub/.env.local conf/tls.key conf/tls.pem secrets/token deep/a/b/secrets/c/token asked-to-hide; do
		echo "SECRET $f" >"$ws/$f"
	done
	echo text >"$ws/file"; echo text >"$ws/dir/inner/file"; echo public >"$ws/conf/public"; echo x >"$ws/sub/x"
	ln -s .env "$ws/link-to-env"; ln -s "$home/.ssh" "$ws/link-to-ssh"; ln "$ws/.env" "$ws/innocent-name"
	ln -s "$out" "$ws/out"; ln -s "$ws/.env" "$out/link-to-env"
	ln -s "$out" "$base/link-to-outside"; ln -s "$ws" "$base/link-to-ws"
	echo canary >"$out/canary"; echo other >"$out/other"; echo inside >"$out/dir/file"
	mkfifo "$out/fifo"
	(cd "$ws" && git init -q . && git add file && git -c user.name=x -c user.email=x@x commit -qm x) >/dev/null 2>&1
	if [ "$(id -u)" = 0 ]; then
		chown -R "$uid:$gid" "$base"
		echo "SECRET of another user" >"$out/private"; chmod 600 "$out/private"; chown 12345:12345 "$out/private"
		for f in "$out" "$ws"; do
			cp "$base/bin/escape" "$f/suid"; chown 0:0 "$f/suid"; chmod 4755 "$f/suid"
			cp "$base/bin/escape" "$f/capped"; setcap cap_sys_admin,cap_net_raw+ep "$f/capped"
		done
		cp "$base/bin/escape" "$out/sgid"; chown 0:42 "$out/sgid"; chmod 2755 "$out/sgid"
		mknod -m 666 "$out/node" c 1 1
		[ "$uid" != 0 ] || mknod -m 666 "$ws/node" c 1 1
		# An ordinary user cannot change, and Rein not copy up, what has another owner: keep those out.
		[ "$uid" = 0 ] || chown "$uid:$gid" "$ws/suid" "$ws/capped"
		mount --bind "$ws" "$base/bind"; mount --bind "$home" "$base/bind-home"
		mkdir -m 755 "/run/$tag"; chown "$uid:$gid" "/run/$tag"
	fi
	start_victim
}

start_victim() {
	local sockets=("@$tag" "/tmp/$tag.sock" "/var/tmp/$tag.sock" "$base/run/sock" "$base/outside/sock" "$base/ws/sock")
	[ "$(id -u)" != 0 ] || sockets+=("/run/$tag/sock")
	mkfifo "$work/stdin"
	: >"$work/victim"; chmod 666 "$work/victim"; chmod 711 "$work"
	as_user "$base/bin/escape" victim "$work/victim" "$base/scene" "$tag" "${sockets[@]}" <"$work/stdin" >"$work/victim.err" 2>&1 &
	victim_job=$!
	exec {victim_in}>"$work/stdin"
	for _ in $(seq 100); do [ -s "$base/scene" ] && break; sleep 0.05; done
	[ -s "$base/scene" ] || { echo "Bail out! no victim"; cat "$work/victim.err"; exit 1; }
	read -r _ victim_pid tcp _ <"$base/scene"
	[ "$(id -u)" != 0 ] || segment=$(ipcmk -M 64 -p 0666 2>/dev/null | sed 's/.*: //')
}

# box OPTIONS -- CMD: in the workspace, with descriptors leaked, in an environment with secrets
box() {
	(
		cd "$base/ws" || exit 1
		[ -n "${no_leak:-}" ] || exec 3<"$base/outside" 8<>"$base/outside/fifo" 99<"$base/outside/canary" || exit 1
		as_user env -i PATH="${search:-$PATH}" HOME="$base/home" XDG_RUNTIME_DIR="$base/run" REIN_STATE="$base/state" TERM=xterm \
			AWS_SECRET_ACCESS_KEY=SECRET GITHUB_TOKEN=SECRET DB_PASSWORD=SECRET \
			"$base/bin/escape" watch "${front[@]}" "${by:-$base/bin/rein}" run --approve --workspace "$base/ws" "${disposal[@]}" -q "$@"
	)
}
front=()
disposal=(--discard)

# Everything about the files around the box, access times aside.
files() {
	find "$base/outside" "$base/home" "$base/bin" "$base/ws" -printf '%p %i %m %U %G %s %T@ %C@ %l\n' | sort |
		case ${kind:-} in # roots of other mounts: with --whole-system Rein's store comes and goes there
		*whole*) sed -E "s#^($base/(home|ws)) .*#\1#";;
		*) cat;;
		esac
	find "$base/outside" "$base/home" "$base/bin" "$base/ws" -type f -print0 | sort -z | xargs -0 sha256sum
}
host_state() {
	cat /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/kernel/domainname 2>/dev/null
	sha256sum /etc/passwd /etc/hostname /etc/group
	stat -c '%n %a %u %g %t %T' /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty
	find / /usr /usr/bin /usr/lib /etc /var /var/lib /boot /opt /root /home /dev /dev/shm -maxdepth 1 -name "*$tag*" 2>/dev/null
}
mounts() { cut -d' ' -f2- /proc/self/mountinfo | sort; }
groups_of_rein() { find /sys/fs/cgroup -type d -path "*$tag*" 2>/dev/null; }
# of a user who runs other things beside, only what carries the name of this test's directory
ours() { if [ "$(id -u)" = "$uid" ]; then grep -F "$tag" | grep -v "grep -F" || true; else cat; fi; }
processes() { [ "$uid" = 0 ] || ps -o pid=,args= -u "$uid" | grep -v "escape victim" | grep -v 'ps -o\|<defunct>' | ours || true; }

before() {
	files >"$work/files.0"; host_state >"$work/host.0"; mounts >"$work/mounts.0"; groups_of_rein >"$work/groups.0"
}

after() {
	local what
	files >"$work/files.1"; host_state >"$work/host.1"; mounts >"$work/mounts.1"; groups_of_rein >"$work/groups.1"
	for what in files host mounts groups; do
		diff "$work/$what.0" "$work/$what.1" >"$work/diff" 2>&1
		check "on the host: $what unchanged" "$work/diff"
	done
	processes >"$work/ps"; [ ! -s "$work/ps" ]; check "on the host: no process left" "$work/ps"
	exec {victim_in}>&-; victim_in=
	wait "$victim_job"; check "the victim lives to the end" "$work/victim.err"; victim_job=
	case ${kind:-} in *nethost*) sed -i '/tcp\|udp\|@/d' "$work/victim";; esac
	[ ! -s "$work/victim" ]; check "the victim was not reached" "$work/victim"
}
