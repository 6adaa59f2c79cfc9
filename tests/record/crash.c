/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record under kill -9 and power loss at every system call of opening, appending, sealing,
 * starting segments, rotating keys and pruning. A traced child works and tells which events were
 * acknowledged; it is killed at the entry of its n-th system call, for every n. Each time, the log
 *  - as the page cache has it (kill -9),
 *  - as only fsync has it (power loss; the directory as of its last fsync),
 *  - the same with the newest head file (written back by itself before the power went),
 *  - the same with part of the unsynced bytes (torn write)
 * must open, take another event, verify, and hold every acknowledged event exactly once, in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "model/event.h"
#include "record/internal.h"
#include "record/prune.h"

#define EVENTS 14
#define FILES  64

static char base[64], live[96], image[96];
static volatile unsigned *acked; /* shared: events 0..acked-1 were acknowledged */

struct shadow { /* what a file holds for certain */
	ino_t ino;
	char *p;
	size_t n;
} shadow[FILES];
static size_t nshadow;
static struct {
	char name[32];
	ino_t ino;
} listing[FILES]; /* the directory for certain */
static size_t nlisting;
static bool dir_durable;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static void wipe(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_event(struct rein_record *r, unsigned i, bool durable)
{
	struct rein_err err = {0};
	char text[32];
	struct rein_event ev = {.type = REIN_EV_REQUEST};

	snprintf(text, sizeof(text), "event-%03u", i);
	ev.command = rein_str(text);
	if (rein_record_append(r, &ev, durable, &err) < 0) {
		fprintf(stderr, "append: %s\n", err.msg);
		_exit(3);
	}
	if (durable)
		*acked = i + 1;
}

static void work(void)
{
	struct rein_record_options opt = {.segment_bytes = 2200};
	struct rein_record *r = NULL;
	struct rein_err err = {0};

	if (rein_record_open(live, &opt, &r, &err) < 0)
		_exit(2);
	for (unsigned i = 0; i < EVENTS; i++) {
		put_event(r, i, i % 3 != 1);
		if (i == 6 && rein_record_rotate_key(r, &err) < 0)
			_exit(4);
	}
	/* Prune the oldest segment: events 0… of it are gone on purpose; tell by a high mark. */
	if (rein_record_prune(r, &(struct rein_prune_options){.keep_segments = 2}, NULL, &err) < 0)
		_exit(5);
	rein_record_close(r);
	_exit(0);
}

static char *slurp(const char *path, size_t *n)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	p = rein_alloc((size_t)st.st_size + 1);
	*n = p && pread(fd, p, (size_t)st.st_size, 0) == st.st_size ? (size_t)st.st_size : 0;
	return p;
}

static void remember_file(const char *path)
{
	struct stat st;
	size_t i;

	if (stat(path, &st) < 0)
		return;
	for (i = 0; i < nshadow && shadow[i].ino != st.st_ino; i++)
		;
	if (i == FILES)
		die("too many files");
	if (i == nshadow)
		nshadow++;
	else
		rein_free(shadow[i].p);
	shadow[i].ino = st.st_ino;
	shadow[i].p = slurp(path, &shadow[i].n);
}

static void remember_dir(const char *path)
{
	auto_closedir DIR *d = opendir(path);
	struct dirent *e;

	nlisting = 0;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && nlisting < FILES) {
			snprintf(listing[nlisting].name, sizeof(listing[0].name), "%.31s", e->d_name);
			listing[nlisting++].ino = e->d_ino;
		}
	dir_durable = true;
}

static void on_sync(pid_t pid, unsigned fd)
{
	char link[64], path[256];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%u", (int)pid, fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	if (stat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		if (rein_streq(rein_basename(path), "audit"))
			remember_dir(path);
	} else {
		remember_file(path);
	}
}

static void forget(void)
{
	for (size_t i = 0; i < nshadow; i++)
		rein_free(shadow[i].p);
	nshadow = nlisting = 0;
	dir_durable = false;
}

/* Runs the child up to the n-th system call; false when it finished before. */
static bool run_until(unsigned n)
{
	pid_t pid;
	int status;
	unsigned calls = 0, sync_fd = 0;
	bool in_sync = false;

	forget();
	wipe(live);
	mkdir(live, 0700);
	*acked = 0;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work();
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		struct __ptrace_syscall_info info;

		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		if (waitpid(pid, &status, 0) < 0)
			die("waitpid");
		if (WIFEXITED(status)) {
			if (WEXITSTATUS(status) != 0) {
				fprintf(stderr, "worker failed: %d\n", WEXITSTATUS(status));
				exit(1);
			}
			return false;
		}
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			in_sync = info.entry.nr == SYS_fdatasync || info.entry.nr == SYS_fsync;
			sync_fd = (unsigned)info.entry.args[0];
			if (++calls < n)
				continue;
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return true;
		}
		if (info.op == PTRACE_SYSCALL_INFO_EXIT && in_sync && info.exit.rval == 0)
			on_sync(pid, sync_fd);
	}
}

static void write_file(const char *path, const char *p, size_t n)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, p ? p : "", n) != (ssize_t)n)
		die(path);
}

/* The disk after a power loss. */
static void make_image(int variant, unsigned seed)
{
	char from[256], to[256];

	wipe(image);
	mkdir(image, 0700);
	snprintf(to, sizeof(to), "%s/audit", image);
	if (dir_durable)
		mkdir(to, 0700);
	for (size_t i = 0; dir_durable && i < nlisting; i++) {
		const struct shadow *s = NULL;
		auto_free char *now = NULL;
		size_t n = 0, take;
		struct stat st;

		for (size_t k = 0; k < nshadow; k++)
			if (shadow[k].ino == listing[i].ino)
				s = &shadow[k];
		snprintf(from, sizeof(from), "%s/audit/%.31s", live, listing[i].name);
		snprintf(to, sizeof(to), "%s/audit/%.31s", image, listing[i].name);
		if (stat(from, &st) == 0 && st.st_ino == listing[i].ino)
			now = slurp(from, &n);
		take = s ? s->n : 0;
		if (variant == 2 && rein_streq(listing[i].name, "head") && now)
			write_file(to, now, n);
		else if (variant == 3 && strstr(listing[i].name, ".log") && now && n > take)
			write_file(to, now, take + seed * 7 % (n - take + 1));
		else
			write_file(to, s ? s->p : "", take);
	}
}

struct count {
	unsigned seen[EVENTS + 1];
	unsigned last, pruned;
	bool disorder;
};

static int count_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct count *c = arg;
	const char *p = memmem(l->text.p, l->text.n, "\"event-", 7);
	unsigned i;

	(void)err;
	if (memmem(l->text.p, l->text.n, "\"type\":\"prune\"", 14))
		c->pruned++;
	if (!p || sscanf(p, "\"event-%3u", &i) != 1 || i > EVENTS)
		return 0;
	c->seen[i]++;
	c->disorder |= i < c->last;
	c->last = i;
	return 0;
}

static int check(const char *dir, unsigned ack, const char *what, unsigned n)
{
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	struct rein_verify_result res;
	struct rein_verify_options opt = {.all_events = true};
	struct count c = {0};
	bool fresh = true;

	if (rein_record_open(dir, NULL, &r, &err) < 0)
		goto bad;
	put_event(r, EVENTS, true);
	if (rein_record_each(r->dirfd, 0, count_line, &c, &err) < 0 ||
	    rein_record_verify(dir, &opt, &res, &err) < 0)
		goto bad;
	rein_record_close(r);
	for (unsigned i = 0; i <= EVENTS; i++) {
		/* after pruning the oldest are gone, and only those */
		fresh &= c.seen[i] == 0 && c.pruned && res.first > 0;
		if (c.seen[i] > 1 || (i < ack && !c.seen[i] && !fresh) || c.disorder) {
			fprintf(stderr, "%s at call %u: event %u seen %u times, %u acknowledged\n",
				what, n, i, c.seen[i], ack);
			return 1;
		}
	}
	return 0;
bad:
	rein_record_close(r);
	fprintf(stderr, "%s at call %u: %s\n", what, n, err.msg);
	return 1;
}

int main(void)
{
	int failed = 0;
	unsigned n;

	snprintf(base, sizeof(base), "/tmp/rein-crash-XXXXXX");
	if (!mkdtemp(base))
		die("mkdtemp");
	snprintf(live, sizeof(live), "%s/live", base);
	snprintf(image, sizeof(image), "%s/image", base);
	acked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (n = 1; run_until(n); n++) {
		unsigned ack = *acked;

		for (int variant = 1; variant <= 3; variant++) {
			static const char *const names[] = {"", "power loss", "power loss, newest head",
							    "power loss, torn write"};

			make_image(variant, n);
			failed |= check(image, ack, names[variant], n);
		}
		failed |= check(live, ack, "kill -9", n);
	}
	forget();
	wipe(base);
	printf("%u system calls, 4 ways each: %s\n", n - 1, failed ? "FAILED" : "ok");
	return failed;
}
