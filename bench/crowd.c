/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many boxes at once: starts the same command N times without waiting, and reports how long it
 * took until every one of them had written its first byte, and what each costs in memory then
 * (proportional set size of the programs named with --count, so that shared pages are shared out
 * and the command's own memory is left alone). Then ends them all.
 *
 *	crowd [--boxes N] [--count NAME]... [--title TEXT] [--json FILE] -- COMMAND...
 *
 * The command must write to stdout when it is up, and go on until its stdin is closed. Runs that
 * do not all come up within 60 s are a failure, not a result.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

#define MAX_BOXES  1000
#define MAX_COUNT  8
#define PATIENCE_S 60

extern char **environ;

struct crowd {
	const char *title, *json;
	unsigned boxes, n_count;
	const char *count[MAX_COUNT];
	char **argv;
	pid_t pid[MAX_BOXES];
	int in[MAX_BOXES], out[MAX_BOXES];
	double up_ms;	  /* until the last one was up */
	uint64_t pss_kib; /* of all counted programs together */
	unsigned counted; /* how many programs that were */
};

static int fail(const char *what, const char *detail)
{
	fprintf(stderr, "crowd: %s: %s\n", what, detail);
	return -1;
}

static int start_one(struct crowd *c, unsigned i)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2], rc;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return fail("pipe", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	rc = posix_spawnp(&c->pid[i], c->argv[0], &actions, NULL, c->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	c->in[i] = in[1];
	c->out[i] = out[0];
	if (rc == 0)
		return 0;
	c->pid[i] = 0;
	return fail(c->argv[0], strerror(rc));
}

static int wait_until_up(struct crowd *c, uint64_t deadline)
{
	for (unsigned i = 0; i < c->boxes; i++) {
		struct pollfd p = {.fd = c->out[i], .events = POLLIN};
		uint64_t now = rein_mono_ns();
		char byte;

		if (now >= deadline || poll(&p, 1, (int)((deadline - now) / 1000000)) <= 0)
			return fail("not all came up", "out of patience");
		if (read(c->out[i], &byte, 1) != 1)
			return fail("not all came up", "one ended before it was up");
	}
	return 0;
}

/* One line of a small proc file into text; false if there is none. */
static bool read_line(const char *pid, const char *name, char *text, size_t size)
{
	char path[300];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	file = fopen(path, "re");
	ok = file && fgets(text, (int)size, file);
	if (file)
		fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static uint64_t pss_kib(const char *pid)
{
	char path[300], line[256];
	unsigned long long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/smaps_rollup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pss: %llu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static bool is_counted(const struct crowd *c, const char *comm)
{
	for (unsigned i = 0; i < c->n_count; i++)
		if (rein_streq(comm, c->count[i]))
			return true;
	return false;
}

/* Is this process one of ours, that is, do its parents lead here? */
static bool is_ours(const char *name)
{
	char text[512], pid[32];
	int parent;

	snprintf(pid, sizeof(pid), "%.20s", name);
	for (unsigned depth = 0; depth < 16; depth++) {
		const char *rest =
			read_line(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

		if (!rest || sscanf(rest + 1, " %*c %d", &parent) != 1 || parent <= 1)
			return false;
		if (parent == getpid())
			return true;
		snprintf(pid, sizeof(pid), "%d", parent);
	}
	return false;
}

/* Add up those of our processes that have the names asked for. */
static int take_memory(struct crowd *c)
{
	auto_closedir DIR *proc = opendir("/proc");
	char comm[64];

	if (!proc)
		return fail("/proc", strerror(errno));
	for (struct dirent *d; (d = readdir(proc));) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		if (!read_line(d->d_name, "comm", comm, sizeof(comm)) || !is_counted(c, comm) ||
		    !is_ours(d->d_name))
			continue;
		c->pss_kib += pss_kib(d->d_name);
		c->counted++;
	}
	return 0;
}

static int measure(struct crowd *c)
{
	uint64_t start = rein_mono_ns();

	for (unsigned i = 0; i < c->boxes; i++)
		if (start_one(c, i) < 0)
			return -1;
	if (wait_until_up(c, start + PATIENCE_S * REIN_NS_PER_S) < 0)
		return -1;
	c->up_ms = (double)(rein_mono_ns() - start) / 1e6;
	if (take_memory(c) < 0)
		return -1;
	if (c->n_count && c->pss_kib == 0)
		return fail("memory", "cannot read smaps_rollup of these programs");
	return 0;
}

/* Closing stdin ends the commands; whoever does not listen is killed. */
static void end_all(struct crowd *c)
{
	for (unsigned i = 0; i < c->boxes; i++)
		if (c->pid[i])
			close(c->in[i]);
	for (unsigned i = 0; i < c->boxes; i++) {
		uint64_t deadline = rein_mono_ns() + 5 * REIN_NS_PER_S;

		while (c->pid[i] && waitpid(c->pid[i], NULL, WNOHANG) == 0) {
			if (rein_mono_ns() > deadline)
				kill(c->pid[i], SIGTERM);
			usleep(1000);
		}
	}
}

static void print_result(const struct crowd *c)
{
	printf("%s\n  %u boxes up after %.0f ms (%.1f ms each)", c->title ? c->title : "crowd",
	       c->boxes, c->up_ms, c->up_ms / c->boxes);
	if (c->n_count)
		printf(", %.0f KiB each (%u processes)", (double)c->pss_kib / c->boxes, c->counted);
	printf("\n");
}

static int write_json(const struct crowd *c)
{
	auto_buf struct rein_buf out = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &out};
	FILE *file;

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "title", c->title ? c->title : "crowd");
	rein_json_ku64(&j, "boxes", c->boxes);
	rein_json_key(&j, "up_ms");
	rein_json_double(&j, c->up_ms);
	rein_json_key(&j, "kib_each");
	if (c->n_count)
		rein_json_double(&j, (double)c->pss_kib / c->boxes);
	else
		rein_json_null(&j);
	rein_json_close(&j, '}');
	rein_buf_char(&out, '\n');
	file = out.failed ? NULL : fopen(c->json, "we");
	if (!file)
		return fail(c->json, strerror(errno));
	if (fwrite(out.p, 1, out.n, file) != out.n || fclose(file) != 0)
		return fail(c->json, strerror(errno));
	return 0;
}

static int parse(struct crowd *c, char **argv)
{
	uint64_t n;
	int i;

	for (i = 1; argv[i] && !rein_streq(argv[i], "--"); i += 2) {
		const char *value = argv[i + 1];

		if (!value)
			return fail(argv[i], "needs a value");
		if (rein_streq(argv[i], "--title"))
			c->title = value;
		else if (rein_streq(argv[i], "--json"))
			c->json = value;
		else if (rein_streq(argv[i], "--count") && c->n_count < MAX_COUNT)
			c->count[c->n_count++] = value;
		else if (rein_streq(argv[i], "--boxes") && rein_parse_u64(value, MAX_BOXES, &n) &&
			 n)
			c->boxes = (unsigned)n;
		else
			return fail(argv[i], "not understood");
	}
	if (!argv[i] || !argv[i + 1])
		return fail("usage", "crowd [options] -- COMMAND...");
	c->argv = &argv[i + 1];
	return 0;
}

int main(int argc, char **argv)
{
	static struct crowd c = {.boxes = 100};
	int rc;

	(void)argc;
	if (parse(&c, argv) < 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	rc = measure(&c);
	end_all(&c);
	if (rc < 0)
		return 1;
	print_result(&c);
	return c.json && write_json(&c) < 0;
}
