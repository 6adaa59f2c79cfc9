/* SPDX-License-Identifier: Apache-2.0 */
/* See watchexec.h. Everything is read in as few system calls as it can: the caller waits meanwhile.
 */
#include "sandbox/watchexec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/caller.h"
#include "sandbox/watch.h"
#include "sys/sys.h"

/* Which argument is the path and which the words; dir: the directory's descriptor, or -1. */
static const struct call {
	uint32_t arch;
	int nr, dir, path, words;
	bool narrow; /* pointers of 32 bits */
} calls[] = {
#if defined(__x86_64__)
	{AUDIT_ARCH_X86_64, SYS_execve, -1, 0, 1, false},
	{AUDIT_ARCH_X86_64, SYS_execveat, 0, 1, 2, false},
	{AUDIT_ARCH_I386, 11, -1, 0, 1, true},
	{AUDIT_ARCH_I386, 358, 0, 1, 2, true},
#elif defined(__aarch64__)
	{AUDIT_ARCH_AARCH64, SYS_execve, -1, 0, 1, false},
	{AUDIT_ARCH_AARCH64, SYS_execveat, 0, 1, 2, false},
#endif
};

static const struct call *call_of(const struct seccomp_data *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].arch == d->arch && calls[i].nr == d->nr)
			return &calls[i];
	return NULL;
}

bool rein_watchexec_is(const struct seccomp_data *data)
{
	return call_of(data) != NULL;
}

#define PAGE 4096u

/* Up to max bytes at an address, not past the page after it: the next one may not be there. */
static ssize_t fetch(pid_t pid, uint64_t at, void *to, size_t max)
{
	size_t first = PAGE - at % PAGE;
	struct iovec ours = {to, max};
	struct iovec theirs[2];
	size_t n = 1;

	if (max <= first) {
		theirs[0] = (struct iovec){(void *)(uintptr_t)at, max};
	} else {
		theirs[0] = (struct iovec){(void *)(uintptr_t)at, first};
		theirs[1] = (struct iovec){(void *)(uintptr_t)(at + first), max - first};
		n = 2;
	}
	/* the second page missing makes it short, not wrong */
	return process_vm_readv(pid, &ours, 1, theirs, n, 0);
}

static char *fetch_string(pid_t pid, uint64_t at, size_t max, bool *cut)
{
	char text[PAGE + 1];
	ssize_t n = at ? fetch(pid, at, text, max < PAGE ? max : PAGE) : -1;

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	if (!memchr(text, 0, (size_t)n))
		*cut = true;
	return rein_strdup(text);
}

/*
 * The path and the list of words, both needed always, in one call. *got_list: bytes of the list;
 * short if the path's page is all that could be read.
 */
static char *fetch_both(pid_t pid, uint64_t path, uint64_t list, void *to, size_t max,
			ssize_t *got_list, bool *cut)
{
	char text[PAGE + 1];
	size_t n = PAGE - path % PAGE, m = PAGE - list % PAGE;
	struct iovec ours[2] = {{text, n}, {to, m < max ? m : max}};
	struct iovec theirs[2] = {{(void *)(uintptr_t)path, n},
				  {(void *)(uintptr_t)list, m < max ? m : max}};
	ssize_t got = path ? process_vm_readv(pid, ours, 2, theirs, list ? 2 : 1, 0) : -1;

	*got_list = -1;
	if (got < (ssize_t)n ||
	    !memchr(text, 0, n)) /* it goes on in the next page, or the list is elsewhere */
		return fetch_string(pid, path, PAGE, cut);
	/* a list that goes over into the next page is read by itself */
	if (list && (size_t)got == n + ours[1].iov_len && ours[1].iov_len == max)
		*got_list = (ssize_t)max;
	return rein_strdup(text);
}

/* All strings in one call, each as far as its page goes; got: bytes of pointers. */
static void fetch_words(pid_t pid, uint64_t *pointers, ssize_t got, bool narrow,
			struct rein_exec *x)
{
	char room[REIN_EXEC_WORDS * 256];
	struct iovec theirs[REIN_EXEC_WORDS];
	auto_buf struct rein_buf b = REIN_BUF(1 << 17);
	size_t n = 0, width = narrow ? 4 : 8, have = got > 0 ? (size_t)got / width : 0;

	for (; n < have && n < REIN_EXEC_WORDS; n++) {
		uint64_t p = narrow ? ((uint32_t *)pointers)[n] : pointers[n];
		size_t left = PAGE - p % PAGE;

		if (!p)
			break;
		theirs[n] = (struct iovec){(void *)(uintptr_t)p, left < 256 ? left : 256};
	}
	x->cut |= n == REIN_EXEC_WORDS;
	if (n) {
		struct iovec ours = {room, sizeof(room)};
		size_t used = 0, total;

		got = process_vm_readv(pid, &ours, 1, theirs, n, 0);
		total = got > 0 ? (size_t)got : 0;
		for (size_t i = 0; i < n; i++) {
			size_t len = theirs[i].iov_len;
			const char *p = room + used;

			if (used + len <= total && memchr(p, 0, len)) {
				rein_buf_cstr(&b, p);
			} else {
				/* longer than a look: by itself */
				auto_free char *whole =
					fetch_string(pid, (uint64_t)(uintptr_t)theirs[i].iov_base,
						     REIN_EXEC_WORD, &x->cut);

				rein_buf_cstr(&b, whole ? whole : "");
			}
			used += len;
			rein_buf_char(&b, '\0');
			x->nwords++;
		}
	}
	if (!b.n)
		rein_buf_char(&b, '\0'); /* nothing to point at is no list */
	x->words = rein_buf_take(&b);
}

/* pidfd_info of Linux 6.13, its first version: much cheaper than a file of /proc. */
struct info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8], spare;
};
#define GET_INFO _IOWR(0xFF, 11, struct info)

static int32_t parent_of(pid_t pid)
{
	auto_close int pidfd = sys_pidfd_open(pid, 0);
	struct info info = {.mask = 1};
	char path[64], text[256], *p;
	ssize_t n;
	int parent = 0;

	_Static_assert(sizeof(info) == 64, "PIDFD_INFO_SIZE_VER0");
	if (pidfd >= 0 && ioctl(pidfd, GET_INFO, &info) == 0 && info.ppid)
		return (int32_t)info.ppid;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	{
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	}
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	return p && sscanf(p, ") %*c %d", &parent) == 1 ? parent : 0;
}

/*
 * A search along PATH asks for many files that are not there: those are no executions. The way is the
 * caller's, links on it lead through the box's tree; the last one itself is enough. Whoever changed his root
 * sees other files; he is the box's own and this is for the record.
 */
enum there { ABSENT, THERE, BY_ANOTHER_NAME };

static enum there is_there(int box_root, pid_t pid, int dirfd, const char *path)
{
	static const char *const systems[] = {"/usr/", "/bin/", "/sbin/", "/lib", "/etc/", "/opt/", "/nix/"};
	auto_close int fd = -1;
	struct stat st;

	/* execveat of a descriptor; a process or descriptor by name, which is the caller's own "self" */
	if (!*path || rein_starts(path, "/proc/") || rein_starts(path, "/dev/fd/"))
		return BY_ANOTHER_NAME;
	fd = rein_watch_open(pid, box_root, dirfd, path, true);
	if (fd < 0)
		return errno == ENOENT ? ABSENT : THERE;
	/* what the system calls sh or vi is that, whatever it leads to; many programs are one file there */
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++)
		if (rein_starts(path, systems[i]))
			return THERE;
	return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode) ? BY_ANOTHER_NAME : THERE;
}

/* The name of the file itself, or NULL. */
static char *file_of(int box_root, pid_t pid, int dirfd, const char *path)
{
	auto_close int fd = !*path ? rein_caller_open(pid, "fd", dirfd)
			    : rein_streq(path, "/proc/self/exe")
				    ? rein_caller_open(pid, "exe", -1)
				    : rein_watch_open(pid, box_root, dirfd, path, false);
	char link[sizeof("/proc/self/fd/") + 12], name[PATH_MAX];
	ssize_t n;

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return NULL;
	name[n] = '\0';
	return rein_strdup(name);
}

int rein_watchexec_note(struct rein_watchexec *w, const struct seccomp_notif *n, int box_root)
{
	const struct call *c = call_of(&n->data);
	pid_t pid = (pid_t)n->pid;
	struct rein_exec x = {.pid = pid, .at_ns = rein_mono_ns() - w->begun_ns};
	uint64_t pointers[REIN_EXEC_WORDS];
	auto_free char *file = NULL;
	enum there there;
	ssize_t got = -1;
	int dirfd;

	if (!c || !w->on)
		return 1;
	dirfd = c->dir < 0 ? AT_FDCWD : (int)n->data.args[c->dir];
	x.path = fetch_both(pid, n->data.args[c->path], n->data.args[c->words], pointers,
			    sizeof(pointers), &got, &x.cut);
	there = x.path ? is_there(box_root, pid, dirfd, x.path) : ABSENT;
	if (there == ABSENT) {
		rein_free(x.path);
		return 1;
	}
	if (there == BY_ANOTHER_NAME)
		file = file_of(box_root, pid, dirfd, x.path);
	if (file && !*x.path) {
		rein_free(x.path);
		x.path = take_ptr(file);
	}
	x.file = file;
	if (got < 0 && n->data.args[c->words])
		got = fetch(pid, n->data.args[c->words], pointers, sizeof(pointers));
	fetch_words(pid, pointers, got, c->narrow, &x);
	x.parent = parent_of(pid);
	x.refused = w->judge && x.words && !w->judge(w->judge_arg, &x);
	rein_execs_add(&w->seen, &x);
	return x.refused ? -EACCES : 1;
}
