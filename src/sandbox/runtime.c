/* SPDX-License-Identifier: Apache-2.0 */
/* See runtime.h. */
#include "sandbox/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/cgroup.h"
#include "sandbox/net/start.h"
#include "sys/sys.h"
#include "sys/tree.h"

#define ROOTS "/run/rein-oci" /* a directory a container: ID.PROGRAM */

static const struct rein_runtime runtimes[] = {
	{"oci:crun", "crun", {"--cgroup-manager=disabled"}, true, false, false, NULL, NULL},
	{"oci:runc", "runc", {0}, true, true, true, NULL, NULL},
	/* its own kernel filters calls; its overlay would keep the changes to itself */
	{"oci:runsc",
	 "runsc",
	 {"--platform=ptrace", "--ignore-cgroups", "--overlay=false", "--file-access=shared"},
	 false,
	 false,
	 true,
	 "--network=none",
	 "--network=host"}, /* its calls become the host's, in the namespace it is started in */
};

const struct rein_runtime *rein_runtime_find(const char *name, struct rein_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (rein_streq(name, runtimes[i].name))
			return &runtimes[i];
	rein_err_set(err, REIN_E_USAGE,
		     "there is no backend '%s': box (built in), oci:crun, oci:runc, oci:runsc",
		     name);
	return NULL;
}

static const char *const dirs[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

int rein_runtime_installed(const struct rein_runtime *r, struct rein_err *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], r->program);
		if (access(path, X_OK) == 0)
			return 0;
	}
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "the backend %s needs %s, which is not installed (apt install %s)",
			    r->name, r->program, r->program);
}

size_t rein_runtime_command(const struct rein_runtime *r, const char *root, const char *verb,
			    const struct rein_box_spec *run, const char **to)
{
	size_t n = 0;

	to[n++] = r->program;
	to[n++] = "--root";
	to[n++] = root;
	for (size_t i = 0; r->before[i]; i++)
		to[n++] = r->before[i];
	if (run && r->alone)
		to[n++] = run->net == REIN_NET_HOST || rein_gate_wanted(run) ? r->joined : r->alone;
	to[n++] = verb;
	to[n] = NULL;
	return n;
}

void rein_runtime_exec(const char *const *argv)
{
	static char *const envp[] = {
		(char *)(uintptr_t) "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], argv[0]);
		execve(path, (char *const *)(uintptr_t)argv, envp);
		if (errno != ENOENT)
			return;
	}
}

/* Two hierarchies of control groups at once confuse one that manages none here. */
void rein_runtime_shield(const struct rein_runtime *r)
{
	if (!r->hybrid)
		umount2("/sys/fs/cgroup/unified", MNT_DETACH);
}

#define PATIENCE_MS 3000 /* milliseconds, on a machine that has time */

/* One that does not end is not waited for: others wait for us. */
static void end_soon(pid_t pid)
{
	auto_close int fd = sys_pidfd_open(pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int rc;

	do
		rc = poll(&end, 1, PATIENCE_MS);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		kill(pid, SIGKILL);
}

/* True: it ended well. */
static bool run_to_end(const struct rein_runtime *r, const char *const *argv)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		close_range(3, ~0u, 0);
		if (!r->hybrid && unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
			rein_runtime_shield(r);
		rein_runtime_exec(argv);
		_exit(127);
	}
	if (pid > 0)
		end_soon(pid);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

void rein_runtime_tell(const struct rein_runtime *r, const char *root, const char *verb,
		       const char *id, const char *more)
{
	const char *argv[REIN_RUNTIME_WORDS];
	size_t n = rein_runtime_command(r, root, verb, NULL, argv);

	argv[n++] = id;
	if (more)
		argv[n++] = more;
	argv[n] = NULL;
	run_to_end(r, argv);
}

bool rein_runtime_delete(const struct rein_runtime *r, const char *root, const char *id)
{
	const char *argv[REIN_RUNTIME_WORDS];
	size_t n = rein_runtime_command(r, root, "delete", NULL, argv);
	bool deleted;

	argv[n++] = "--force";
	argv[n++] = id;
	argv[n] = NULL;
	deleted = run_to_end(r, argv);
	/* one that was ended while it began has made groups and not written down that it did */
	if (r->nested_group)
		rein_cgroup_remove_below(id);
	return deleted;
}

/* A runtime that was ended while it began leaves a lock nobody holds. Else only what is empty goes: it may be needed. */
static void remove_root(int dir, const char *name, bool deleted)
{
	struct rein_err ignored = {0};

	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && deleted)
		rein_tree_remove(dir, name, &ignored);
}

/* "ID.PROGRAM" of a rein that was killed: nobody told its runtime to take its groups away. */
static void collect(int dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	auto_free char *id = dot ? rein_strndup(name, (size_t)(dot - name)) : NULL;
	auto_close int lock = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char root[PATH_MAX];

	if (!id || lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return;
	snprintf(root, sizeof(root), ROOTS "/%s", name);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (rein_streq(runtimes[i].program, dot + 1)) {
			remove_root(dir, name, rein_runtime_delete(&runtimes[i], root, id));
		}
}

/* Under the directory's lock, so that nobody takes a new one for a dead one's. */
int rein_runtime_root_open(const struct rein_runtime *r, const char *id,
			   struct rein_runtime_root *ret, struct rein_err *err)
{
	auto_closedir DIR *d = NULL;
	struct dirent *e;

	snprintf(ret->path, sizeof(ret->path), ROOTS "/%s.%s", id, r->program);
	if (mkdir(ROOTS, 0700) == 0 || errno == EEXIST)
		d = opendir(ROOTS);
	if (!d || flock(dirfd(d), LOCK_EX) < 0)
		return rein_err_errno(err, "open '" ROOTS "'");
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			collect(dirfd(d), e->d_name);
	if (mkdir(ret->path, 0700) == 0)
		ret->lock = open(ret->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->lock < 0 || flock(ret->lock, LOCK_EX | LOCK_NB) < 0)
		return rein_err_errno(err, "make '%s'", ret->path);
	return 0;
}

void rein_runtime_root_close(struct rein_runtime_root *root)
{
	if (*root->path)
		remove_root(AT_FDCWD, root->path, root->deleted);
	rein_closep_(&root->lock);
	root->lock = -1;
}
