/* SPDX-License-Identifier: Apache-2.0 */
/* What helps against each refusal: said by the probe beforehand and by a failed launch afterwards. */
#ifndef REIN_SANDBOX_REMEDY_H
#define REIN_SANDBOX_REMEDY_H

#define REIN_REMEDY_CHROOT                                                                         \
	"in a chroot the kernel makes none: enter it with pivot_root(8), or run Rein outside"
#define REIN_REMEDY_USERNS_SYSCTL                                                                  \
	"as root: sysctl -w kernel.unprivileged_userns_clone=1; in a container, allow user "       \
	"namespaces in its seccomp profile, or run Rein as root; " REIN_REMEDY_CHROOT
#define REIN_REMEDY_USERNS_COUNT "as root: sysctl -w user.max_user_namespaces=15000"
#define REIN_REMEDY_APPARMOR                                                                       \
	"as root: install packaging/apparmor/rein as /etc/apparmor.d/rein, then apparmor_parser "  \
	"-r /etc/apparmor.d/rein"
#define REIN_REMEDY_OVERLAY  "as root: modprobe overlay; rootless it takes Linux 5.11 or later"
#define REIN_REMEDY_KERNEL   "use Linux 5.19 or later"
#define REIN_REMEDY_LANDLOCK "use Linux 6.2 or later and boot with lsm=landlock,... if it is not on"
#define REIN_REMEDY_PROC                                                                           \
	"start the container with an uncovered /proc (docker: --security-opt "                     \
	"systempaths=unconfined, podman: --security-opt unmask=ALL)"

#endif
