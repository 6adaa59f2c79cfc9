# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # cases are called by name
# Systems that refuse user namespaces, each in its own way. Runs as root, which sets the system up;
# Rein runs as the ordinary user and must say which refusal it met and what to do, and never run
# the command with less.
set -u
. /job/suite/lib.sh

as_user() {
	setpriv --reuid 1000 --regid 1000 --init-groups env HOME=/home/u "$@"
}

# refused TEXT...: run ends with 125, the command never ran, and run and doctor name every TEXT.
refused() {
	chown u:u . ..
	chmod 0777 . ..
	ends 125 as_user rein run --approve --commit -q -- sh -c 'echo ran > ran' 2> ../run.err
	no test -e ran
	cat ../run.err
	as_user rein doctor > ../doctor 2>&1 || true
	as_user rein doctor --json > ../doctor.json || true
	python3 -c 'import json, sys; json.load(open("../doctor.json"))'
	for text; do
		has "$text" < ../run.err
		has "$text" < ../doctor
	done
}

# try COMMAND...: every failure in it counts, and the system can be put back afterwards.
try() {
	set +e
	(
		set -e
		"$@"
	)
	status=$?
	set -e
}

works() {
	chown u:u . ..
	as_user rein run --approve --commit -q -- sh -c 'echo ran > ran'
	[ "$(cat ran)" = ran ]
}

# The control: the same call works when nothing refuses.
allowed_works() {
	works
}

debian_switch() {
	[ -e /proc/sys/kernel/unprivileged_userns_clone ] || skip "this kernel has no such switch"
	sysctl -qw kernel.unprivileged_userns_clone=0
	try refused kernel.unprivileged_userns_clone
	sysctl -qw kernel.unprivileged_userns_clone=1
	return $status
}

limit_of_zero() {
	before=$(cat /proc/sys/user/max_user_namespaces)
	sysctl -qw user.max_user_namespaces=0
	try refused user.max_user_namespaces
	sysctl -qw "user.max_user_namespaces=$before"
	return $status
}

# Ubuntu's kernel lets an unconfined program make a user namespace and then denies it every
# capability in there. A profile without any capability does the same to Rein on Debian's kernel:
# unshare succeeds, writing uid_map is EPERM. Only Ubuntu's own sysctl is not there to be read.
apparmor_without_capabilities() {
	apparmor_parser --version > /dev/null 2>&1 || skip "no apparmor_parser"
	grep -q apparmor /sys/kernel/security/lsm || skip "this kernel has no AppArmor"
	cat > ../profile <<-'END'
		abi <abi/3.0>,
		profile like-ubuntu /job/build/rein* {
		  file,
		  mount,
		  umount,
		  pivot_root,
		  network,
		  signal,
		  ptrace,
		  unix,
		}
	END
	apparmor_parser --replace ../profile
	try refused AppArmor
	apparmor_parser --remove ../profile
	return $status
}

# Root needs no user namespace to mount; with none to be had it must work or say why.
root_with_limit_of_zero() {
	before=$(cat /proc/sys/user/max_user_namespaces)
	sysctl -qw user.max_user_namespaces=0
	status=0
	rein run --approve --commit -q -- sh -c 'echo ran > ran' 2> ../run.err || status=$?
	sysctl -qw "user.max_user_namespaces=$before"
	cat ../run.err
	if [ $status = 0 ]; then
		[ "$(cat ran)" = ran ]
	else
		[ $status = 125 ]
		no test -e ran
		has user.max_user_namespaces < ../run.err
	fi
}

allowed_again() {
	works
}

cases allowed_works debian_switch limit_of_zero apparmor_without_capabilities \
	root_with_limit_of_zero allowed_again
finish
