/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy the box is: processor time and bytes written of every process that is there, including
 * those they waited for. Only for boxes with an idle timeout.
 */
#include "sandbox/box/box.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS 10000000ull /* USER_HZ is 100 on every architecture */

static size_t read_small(int proc, const char *pid, const char *file, char *to, size_t max)
{
	char path[64];
	size_t n = strlen(pid), m = strlen(file);
	ssize_t got = -1;
	int fd;

	if (n + m + 2 > sizeof(path))
		return 0;
	memcpy(path, pid, n);
	path[n] = '/';
	memcpy(path + n + 1, file, m + 1);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, to, max - 1);
		close(fd);
	}
	if (got <= 0)
		return 0;
	to[got] = 0;
	return (size_t)got;
}

static uint64_t number(const char *s)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return v;
}

/* utime stime cutime cstime: fields 14 to 17, counted after the name's closing parenthesis. */
static uint64_t cpu_ticks(const char *stat)
{
	const char *p = strrchr(stat, ')');
	uint64_t sum = 0;

	for (int field = 3; p && field <= 17; field++) {
		p = strchr(p + 1, ' ');
		if (p && field >= 14)
			sum += number(p + 1);
	}
	return sum;
}

/*
 * Bytes written. A process that nobody may look into (prctl(2), PR_SET_DUMPABLE; a program that cannot be read) does not
 * show them: each time it went to sleep by itself counts then, which one that writes now and then does.
 */
static uint64_t written(int proc, const char *pid)
{
	static const char sleeps[] = "\nvoluntary_ctxt_switches:\t";
	char text[4096];
	const char *p;

	if (read_small(proc, pid, "io", text, sizeof(text)))
		return (p = strstr(text, "wchar: ")) ? number(p + 7) : 0;
	if (!read_small(proc, pid, "status", text, sizeof(text)))
		return 0;
	return (p = strstr(text, sleeps)) ? number(p + sizeof(sleeps) - 1) : 0;
}

void box_sample(const struct box *box)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_SAMPLE};
	char names[4096] __attribute__((aligned(8))), text[1024];
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (proc < 0)
		return;
	while ((n = syscall(SYS_getdents64, proc, names, sizeof(names))) > 0)
		for (long at = 0; at < n;) {
			struct box_entry *e = (struct box_entry *)(names + at);

			at += e->len;
			/* Not ourselves: looking costs time too. */
			if (e->name[0] < '1' || e->name[0] > '9' || !strcmp(e->name, "1"))
				continue;
			if (read_small(proc, e->name, "stat", text, sizeof(text)))
				note.cpu_ns += cpu_ticks(text) * TICK_NS;
			note.written += written(proc, e->name);
		}
	close(proc);
	box_send(box, &note, NULL, 0);
}
