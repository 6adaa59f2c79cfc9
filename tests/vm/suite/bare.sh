# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # cases are called by name
# A system with less: no systemd, a kernel started without Landlock. Runs as the ordinary user.
set -u
. /job/suite/lib.sh

kernel_has_no_landlock() {
	[ -e /sys/kernel/security/lsm ] || skip "securityfs is not mounted"
	no grep -q landlock /sys/kernel/security/lsm
}

works_without_landlock() {
	rein run --approve --commit -q -- sh -c 'echo ran > ran'
	[ "$(cat ran)" = ran ]
	rein undo
	[ ! -e ran ]
}

doctor_says_so() {
	rein doctor > ../doctor || true
	grep -i landlock ../doctor | grep -iE 'no|not|missing|off|absent'
}

cases kernel_has_no_landlock works_without_landlock doctor_says_so
finish
