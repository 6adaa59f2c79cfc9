/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals in words: the step, the kernel's answer, the reason, the remedy. */
#include "sandbox/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/remedy.h"

static const char *const steps[REIN_STEP__MAX] = {
#define STEP(name, text) [REIN_STEP_##name] = text,
#include "sandbox/steps.def"
#undef STEP
};

/* Known reasons: step, errno (0: any), where it applies, what it means and what helps. */
enum where { ANYWHERE = 0, ROOTLESS, AS_ROOT };

static const struct {
	enum rein_box_step step;
	int sys;
	enum where where;
	const char *advice;
} reasons[] = {
	/* AppArmor lets the namespace come into being, without any rights. */
	{REIN_STEP_UID_MAP, 0, ROOTLESS, REIN_REMEDY_APPARMOR},
	{REIN_STEP_GID_MAP, 0, ROOTLESS, REIN_REMEDY_APPARMOR},
	{REIN_STEP_HOSTNAME, EPERM, ROOTLESS, REIN_REMEDY_APPARMOR},
	{REIN_STEP_LOOPBACK, EPERM, ROOTLESS, REIN_REMEDY_APPARMOR},
	{REIN_STEP_PRIVATE, EINVAL, ANYWHERE,
	 "the root directory is no mount, as in a chroot; make it one (mount --bind DIR DIR) and enter it with "
	 "pivot_root(8), or run Rein outside"},
	{REIN_STEP_PRIVATE, 0, ANYWHERE, REIN_REMEDY_APPARMOR},
	{REIN_STEP_USERNS, EPERM, ANYWHERE, REIN_REMEDY_CHROOT},
	{REIN_STEP_USERNS, ENOSPC, ANYWHERE, REIN_REMEDY_USERNS_COUNT},
	{REIN_STEP_USERNS, EUSERS, ANYWHERE, REIN_REMEDY_USERNS_COUNT},
	{REIN_STEP_OVERLAY, ENODEV, ANYWHERE, REIN_REMEDY_OVERLAY},
	{REIN_STEP_OVERLAY, EPERM, ROOTLESS,
	 "this kernel lets only root mount overlayfs; use Linux 5.11 or later, or run as root"},
	{REIN_STEP_OVERLAY, EINVAL, ROOTLESS,
	 "something is mounted inside it, or its file system cannot hold the upper layer; unmount it, "
	 "choose a workspace beside it, or run as root"},
	{REIN_STEP_OVERLAY, ELOOP, ANYWHERE, "the state directory lies inside the tree; move it with REIN_STATE"},
	{REIN_STEP_OVERLAY_OPEN, ELOOP, ANYWHERE, "a symbolic link appeared in the path"},
	{REIN_STEP_PROC, EPERM, ANYWHERE, REIN_REMEDY_PROC},
	{REIN_STEP_READONLY, ENOSYS, ANYWHERE, REIN_REMEDY_KERNEL},
	{REIN_STEP_STDIO, 0, ANYWHERE,
	 "a directory, a device or a network socket there would lead out of the box; use a file or a pipe"},
	{REIN_STEP_SECCOMP, EINVAL, ANYWHERE,
	 "the kernel lacks system call filters with a listener; " REIN_REMEDY_KERNEL},
	{REIN_STEP_SECCOMP, EBUSY, ANYWHERE,
	 "a system call filter with a listener is already in force; boxes cannot be nested"},
};

static bool applies(enum where where, const struct rein_plan *plan)
{
	bool rootless = plan->flags & REIN_PLAN_USERNS;

	return where == ANYWHERE || (where == ROOTLESS) == rootless;
}

static bool concerns_mount(uint32_t step)
{
	return step == REIN_STEP_OVERLAY_OPEN || step == REIN_STEP_OVERLAY ||
	       step == REIN_STEP_BIND || step == REIN_STEP_ATTACH || step == REIN_STEP_HIDE;
}

int rein_explain_step(const struct rein_box_note *note, const struct rein_plan *plan,
		      struct rein_err *err)
{
	static const char *const streams[] = {"standard input", "standard output", "standard error"};
	uint32_t step = note->step < REIN_STEP__MAX ? note->step : REIN_STEP_NONE;
	const char *advice = NULL, *what = NULL;
	bool ours = note->sys == ENOMEM;

	if (step == REIN_STEP_NAMESPACES)
		return rein_explain_clone(note->sys, plan->flags, err);
	for (size_t i = 0; i < ARRAY_SIZE(reasons) && !advice; i++)
		if (reasons[i].step == step && applies(reasons[i].where, plan) &&
		    (!reasons[i].sys || reasons[i].sys == note->sys))
			advice = reasons[i].advice;
	if (concerns_mount(step) && note->mount < plan->nmounts)
		what = rein_plan_str(plan, rein_plan_mounts(plan)[note->mount].target);
	else if (step == REIN_STEP_CWD)
		what = rein_plan_str(plan, plan->cwd);
	else if (step == REIN_STEP_STDIO && note->mount < 3)
		what = streams[note->mount];
	rein_err_set(err, ours ? REIN_E_NOMEM : advice ? REIN_E_UNSUPPORTED : REIN_E_IO,
		     "box: %s%s%s%s: %s%s%s", steps[step], what ? " '" : "", what ? what : "",
		     what ? "'" : "", strerror(note->sys), advice ? "; " : "", advice ? advice : "");
	err->sys = note->sys;
	return -err->code;
}

/*
 * Is a user namespace alone to be had? Where AppArmor gives it no rights, it comes into being, but
 * the mount namespace asked for in the same call is EPERM, as if user namespaces were refused.
 */
static bool userns_alone_works(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int rein_explain_clone(int sys, uint32_t flags, struct rein_err *err)
{
	bool rootless = flags & REIN_PLAN_USERNS;

	if (rootless && sys == EPERM && userns_alone_works())
		rein_err_set(err, REIN_E_UNSUPPORTED,
			     "box: the new user namespace has no rights; %s", REIN_REMEDY_APPARMOR);
	else if (rootless && sys == EPERM)
		rein_err_set(err, REIN_E_UNSUPPORTED, "box: user namespaces are refused; %s",
			     REIN_REMEDY_USERNS_SYSCTL);
	else if (sys == ENOSPC || sys == EUSERS)
		rein_err_set(err, REIN_E_UNSUPPORTED,
			     "box: the number of namespaces allowed is used up or zero; %s",
			     REIN_REMEDY_USERNS_COUNT);
	else if (sys == EINVAL)
		rein_err_set(err, REIN_E_UNSUPPORTED,
			     "box: the kernel lacks a kind of namespace that is needed (user, mount, "
			     "pid, ipc, uts, net, cgroup)");
	else
		rein_err_set(err, REIN_E_IO, "box: making namespaces: %s", strerror(sys));
	err->sys = sys;
	return -err->code;
}

int rein_explain_exec(int sys, const char *program, uint32_t flags, struct rein_err *err)
{
	if (flags & REIN_PLAN_USERNS && sys == EPERM)
		rein_err_set(err, REIN_E_UNSUPPORTED,
			     "box: the new user namespace has no rights; %s", REIN_REMEDY_APPARMOR);
	else if (sys == ENOMEM) /* the limit holds from the first step on, this one */
		rein_err_set(err, REIN_E_FAILED, "box: there is not enough memory to start it; is the memory limit too low?");
	else
		rein_err_set(err, REIN_E_FAILED, "execute '%s': %s; reinstall Rein", program,
			     strerror(sys));
	err->sys = sys;
	return -err->code;
}

/* The program that the first line of a script names; "" if it is none. */
static void read_interpreter(const char *path, char *ret, size_t room)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[256] = "";
	const char *at = line + 2;

	*ret = '\0';
	if (fd < 0 || read(fd, line, sizeof(line) - 1) < 2 || line[0] != '#' || line[1] != '!')
		return;
	at += strspn(at, " \t");
	snprintf(ret, room, "%.*s", (int)strcspn(at, " \t\n"), at);
}

int rein_explain_command(int sys, const char *command, struct rein_err *err)
{
	char by[256] = "";

	if (sys == ENOENT && strchr(command, '/') && access(command, F_OK) == 0) {
		/* (a box sees no file that is not there outside when it begins) */
		read_interpreter(command, by, sizeof(by));
		if (*by && access(by, F_OK) < 0)
			rein_err_set(err, REIN_E_NOCMD, "%s: there is no %s, which its first line names%s", command, by,
				     by[strlen(by) - 1] == '\r' ? " (its lines end as on Windows)" : "");
		else
			rein_err_set(err, REIN_E_NOCMD, "%s: it is there, but hidden in the box, or the loader it needs is missing",
				     command);
	} else {
		rein_err_set(err, sys == ENOENT ? REIN_E_NOCMD : REIN_E_EXEC, "%s: %s", command,
			     sys == ENOENT ? "command not found" : strerror(sys));
	}
	err->sys = sys;
	return -err->code;
}
