/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gVisor answers system calls from a kernel of its own, which knows the container and nothing else. Some of
 * what the host's kernel must refuse is harmless there: each row says why. The attempt is made all the same,
 * and the driver sees that nothing outside was changed or reached. An attempt without a row must fail as it
 * does everywhere.
 */
#include "escape.h"

#define OTHER_WORD	"refused, with another errno"
#define OWN_PROCESSES	"it sees, and can touch, the container's processes only"
#define OWN_NAMESPACES	"namespaces of its own kernel: the host's see one process without rights"
#define OWN_DEVICES	"its devices are its own code: null, zero, random, terminals; none is the host's"
#define OWN_NETWORK	"a network stack in the process itself, without an interface to the host's"
#define NOT_THERE	"it does not have that"

const struct emulated gvisor_emulates[] = {
	{"signals to everybody", "kill(-1) takes pid 1 along, which is the one who tries", true},
	{"signals to init", "pid 1 is the one who tries", true},
	{"ptrace traceme", OWN_PROCESSES, false},
	{"ptrace of an own child", OWN_PROCESSES, false},
	{"process_vm_readv", NOT_THERE, false},
	{"process_vm_writev", NOT_THERE, false},
	{"/proc/1/fd", "pid 1 is the one who tries: the descriptors are its own", false},
	{"signals to a process outside", OTHER_WORD, false},
	{"setpriority of processes outside", OWN_PROCESSES, false},
	{"ioprio_set of processes outside", OTHER_WORD, false},
	{"sched_setaffinity of processes outside", OTHER_WORD, false},
	{"setns", OTHER_WORD, false},
	{"unshare of every namespace", OWN_NAMESPACES, false},
	{"clone into every namespace", OWN_NAMESPACES, false},
	{"mapping the ids again", NOT_THERE, false},
	{"creating files all over the system", "its /dev is memory of its own", false},
	{"creating anything outside", OTHER_WORD, false},
	{"writing to a mapping through /proc/self/mem", OTHER_WORD, false},
	{"renaming out of the workspace and in", OTHER_WORD, false},
	{"making device nodes", OWN_DEVICES, false},
	{"opening devices", OWN_DEVICES, false},
	{"changing the devices of the box", OWN_DEVICES, false},
	{"open_by_handle_at", OTHER_WORD, false},
	{"the network by IPv4", OTHER_WORD, false},
	{"the network by IPv6", OTHER_WORD, false},
	{"raw sockets", OTHER_WORD, false},
	{"ping sockets", OWN_NETWORK, false},
	{"netlink other than routes", OWN_NETWORK, false},
	{"changing interfaces by ioctl", OTHER_WORD, false},
	{"socket pairs of other families", OTHER_WORD, false},
	{"kernel keyring", OTHER_WORD, false},
	{"perf_event_open", OTHER_WORD, false},
	{"io_uring", "its own, over the files it has", false},
	{"reboot, swap, accounting, quota, log", "the log is a made-up one", false},
	{"32-bit calls that are refused", OWN_PROCESSES, false},
	{"personalities", OTHER_WORD, false},
	{"no capability, no new privileges, a filter",
	 "it tells neither: all sets it tells are empty, and its filter is around the whole of it", false},
	{"raising capabilities", OTHER_WORD, false},
	{"taking the filter off", OTHER_WORD, false},
	{"kernel settings in /proc/sys", NOT_THERE, false},
	{"typing into the controlling terminal", OTHER_WORD, false},
	{0},
};
