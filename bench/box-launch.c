/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a box takes, from launch to result, against bubblewrap with the same namespaces and against
 * a plain spawn, interleaved so that a busy machine disturbs all alike.
 *
 *	box-launch [-n RUNS] REIN-BOX WORKSPACE
 *
 * WORKSPACE must be writable; everything made in it is removed. Prints minimum and median in ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/launch.h"

extern char **environ;

static const char *box_program, *workspace, *store;

static int run_box(unsigned long i, bool net, bool overlay)
{
	static char *argv[] = {(char *)(uintptr_t) "/bin/true", NULL};
	auto_free char *upper = rein_asprintf("%s/u%lu", store, i);
	auto_free char *work = rein_asprintf("%s/w%lu", store, i);
	struct rein_root root = {.real = (char *)(uintptr_t)workspace, .upper = upper, .work = work};
	struct rein_box_spec spec = {
		.argv = argv,
		.envp = environ,
		.cwd = overlay ? workspace : "/",
		.hostname = "box",
		.roots = &root,
		.nroots = overlay,
		.net = net ? REIN_NET_NONE : REIN_NET_HOST,
	};
	struct rein_box_result result;
	struct rein_err err = {0};

	if (rein_box_launch(&spec, box_program, &result, &err) < 0) {
		fprintf(stderr, "box-launch: %s\n", err.msg);
		return -1;
	}
	return result.status;
}

static int run_program(char **argv)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		return -1;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name, uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	printf("%-28s min %6.3f  median %6.3f  p95 %6.3f ms\n", name, (double)v[0] / 1e6,
	       (double)v[n / 2] / 1e6, (double)v[n * 95 / 100] / 1e6);
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (flag == FTW_DNR) {
		chmod(path, 0700);
		return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	}
	return remove(path);
}

static int make_dirs(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		auto_free char *upper = rein_asprintf("%s/u%zu", store, i);
		auto_free char *work = rein_asprintf("%s/w%zu", store, i);

		if (!upper || !work || mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char *bwrap[] = {(char *)(uintptr_t) "bwrap",	  (char *)(uintptr_t) "--unshare-all",
				(char *)(uintptr_t) "--ro-bind",  (char *)(uintptr_t) "/",
				(char *)(uintptr_t) "/",	  (char *)(uintptr_t) "--dev",
				(char *)(uintptr_t) "/dev",	  (char *)(uintptr_t) "--proc",
				(char *)(uintptr_t) "/proc",	  (char *)(uintptr_t) "--tmpfs",
				(char *)(uintptr_t) "/tmp",	  (char *)(uintptr_t) "true",
				NULL};
	static char *plain[] = {(char *)(uintptr_t) "/bin/true", NULL};
	enum { BOX, BARE, HOSTNET, BWRAP, PLAIN, KINDS };
	static const char *const names[KINDS] = {"box, one overlay", "box, no overlay",
						 "box, host network", "bwrap --unshare-all",
						 "plain spawn"};
	uint64_t runs = 200, *times[KINDS];
	bool have[KINDS] = {true, true, true, true, true};
	char *made;

	if (argc > 2 && rein_streq(argv[1], "-n")) {
		if (!rein_parse_u64(argv[2], 100000, &runs) || !runs)
			return 2;
		argv += 2;
		argc -= 2;
	}
	if (argc != 3)
		return fprintf(stderr, "usage: box-launch [-n RUNS] REIN-BOX WORKSPACE\n"), 2;
	box_program = argv[1];
	workspace = realpath(argv[2], NULL);
	made = rein_asprintf("%s.bench.XXXXXX", workspace);
	if (!workspace || !made || !mkdtemp(made))
		return perror("box-launch"), 2;
	store = made;
	if (make_dirs(runs * 2) < 0)
		return perror("box-launch"), 2;
	for (int k = 0; k < KINDS; k++) {
		times[k] = rein_calloc(runs, sizeof(**times));
		if (!times[k])
			return 2;
	}
	have[BWRAP] = run_program(bwrap) == 0;
	for (size_t i = 0; i < runs; i++)
		for (int k = 0; k < KINDS; k++) {
			uint64_t began = rein_mono_ns();
			int rc = !have[k]    ? 0
				 : k == BOX  ? run_box(i * 2, true, true)
				 : k == BARE ? run_box(i, true, false)
				 : k == HOSTNET ? run_box(i * 2 + 1, false, true)
				 : k == BWRAP	? run_program(bwrap)
						: run_program(plain);

			if (rc != 0)
				return fprintf(stderr, "box-launch: %s failed\n", names[k]), 1;
			times[k][i] = rein_mono_ns() - began;
		}
	for (int k = 0; k < KINDS; k++) {
		if (have[k])
			print(names[k], times[k], runs);
		rein_free(times[k]);
	}
	nftw(made, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	return 0;
}
