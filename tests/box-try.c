/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries the sandbox without the rest: makes an upper and a work directory for a workspace, launches
 * a command through rein_box_launch and exits with its status; 125 to 127 as rein does.
 *
 *	box-try [-w WORKSPACE] [-s STORE] [-H HIDE]... [-R RO]... [-S PATH=SOURCE]... [-r ROOT]...
 *	        [-W] [-n] [-N] [-c CAPS] [-t SECONDS] [-i SECONDS] [-v] [-l LOOPS] -- command...
 *
 * The store is a temporary directory beside the workspace, removed at the end unless given.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/launch.h"

extern char **environ;

static struct rein_root roots[16];
static struct rein_path_rule rules[256];
static struct rein_box_spec spec;

static int fail(const char *what)
{
	fprintf(stderr, "box-try: %s: %s\n", what, strerror(errno));
	return 125;
}

static int add_root(const char *real, const char *store, const char *mask)
{
	struct rein_root *r = &roots[spec.nroots];
	struct stat st;

	if (spec.nroots == ARRAY_SIZE(roots))
		return -1;
	r->real = realpath(real, NULL);
	r->store = rein_asprintf("%s/%zu", store, spec.nroots);
	r->upper = rein_asprintf("%s/upper", r->store);
	r->work = rein_asprintf("%s/work", r->store);
	r->mask = mask ? realpath(mask, NULL) : NULL;
	if (!r->real || !r->upper || !r->work || stat(r->real, &st) < 0)
		return -1;
	if ((mkdir(r->store, 0700) < 0 || mkdir(r->upper, 0700) < 0 || mkdir(r->work, 0700) < 0) &&
	    errno != EEXIST)
		return -1;
	if (chmod(r->upper, st.st_mode & 07777) < 0)
		return -1;
	spec.nroots++;
	return 0;
}

static void add_rule(enum rein_access access, char *path)
{
	struct rein_path_rule *r = &rules[spec.npaths];
	char *eq = access == REIN_PATH_SCRATCH ? strchr(path, '=') : NULL;
	struct stat st;

	if (spec.npaths == ARRAY_SIZE(rules))
		return;
	if (eq)
		*eq = 0;
	r->path = path;
	r->source = eq ? eq + 1 : NULL;
	r->access = access;
	r->is_dir = stat(path, &st) < 0 || S_ISDIR(st.st_mode);
	spec.npaths++;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	/* overlayfs leaves a directory nobody may enter in its work directory. */
	if (flag == FTW_DNR) {
		chmod(path, 0700);
		return nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	}
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static char *box_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *given = getenv("REIN_BOX_PROGRAM");

	if (given)
		return rein_strdup(given);
	if (n < 0)
		return NULL;
	path[n] = 0;
	for (int i = 0; i < 2; i++)
		*strrchr(path, '/') = 0;
	return rein_asprintf("%s/rein-box", path);
}

/* Loops: each run gets upper and work directories nobody has used. */
static int renew(unsigned long run)
{
	for (size_t i = 0; i < spec.nroots; i++) {
		rein_free(roots[i].upper);
		rein_free(roots[i].work);
		roots[i].upper = rein_asprintf("%s/upper%lu", roots[i].store, run);
		roots[i].work = rein_asprintf("%s/work%lu", roots[i].store, run);
		if (!roots[i].upper || !roots[i].work || mkdir(roots[i].upper, 0755) < 0 ||
		    mkdir(roots[i].work, 0700) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char cwd[PATH_MAX], *workspace = NULL, *store = NULL, *mask = NULL, *more[8];
	char *program = box_program();
	struct rein_box_result result = {0};
	struct rein_err err = {0};
	unsigned long loops = 1;
	bool keep = false, verbose = false;
	size_t nmore = 0;
	uint64_t number;
	int c, status = 0;

	while ((c = getopt(argc, argv, "+w:s:m:H:R:S:r:WnNc:t:i:vl:")) != -1) {
		switch (c) {
		case 'w':
			workspace = optarg;
			break;
		case 's':
			store = optarg;
			keep = true;
			break;
		case 'm':
			mask = optarg;
			break;
		case 'H':
			add_rule(REIN_PATH_HIDE, optarg);
			break;
		case 'R':
			add_rule(REIN_PATH_RO, optarg);
			break;
		case 'S':
			add_rule(REIN_PATH_SCRATCH, optarg);
			break;
		case 'r':
			if (nmore < ARRAY_SIZE(more))
				more[nmore++] = optarg;
			break;
		case 'W':
			spec.whole_system = true;
			break;
		case 'n':
			spec.net = REIN_NET_HOST;
			break;
		case 'N':
			spec.nested = true;
			break;
		case 'c':
			spec.caps = strtoull(optarg, NULL, 0);
			break;
		case 't':
			if (!rein_parse_duration(optarg, &spec.timeout_ns))
				return 125;
			break;
		case 'i':
			if (!rein_parse_duration(optarg, &spec.idle_timeout_ns))
				return 125;
			break;
		case 'l':
			if (!rein_parse_u64(optarg, 1000000, &number))
				return 125;
			loops = (unsigned long)number;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return 125;
		}
	}
	if (!program || !getcwd(cwd, sizeof(cwd)) || optind == argc)
		return fail("usage");
	if (!workspace)
		workspace = cwd;
	if (!store) {
		store = rein_asprintf("%s.box-try.XXXXXX", spec.whole_system ? "/tmp/whole" : workspace);
		if (!store || !mkdtemp(store))
			return fail("store");
	}
	if (spec.whole_system && add_root("/", store, NULL) < 0)
		return fail("root");
	if (!spec.whole_system && add_root(workspace, store, mask) < 0)
		return fail("workspace");
	for (size_t i = 0; i < nmore; i++)
		if (add_root(more[i], store, NULL) < 0)
			return fail(more[i]);
	spec.argv = argv + optind;
	spec.envp = environ;
	spec.cwd = rein_path_within(cwd, roots[0].real) ? cwd : roots[0].real;
	spec.hostname = "box";
	spec.roots = roots;
	spec.paths = rules;
	for (unsigned long i = 0; i < loops; i++) {
		uint64_t began;

		if (i && renew(i) < 0)
			return fail("renew");
		began = rein_mono_ns();
		if (rein_box_launch(&spec, program, &result, &err) < 0) {
			fprintf(stderr, "box-try: %s\n", err.msg);
			status = rein_code_exit(err.code);
			break;
		}
		status = result.status;
		if (verbose)
			fprintf(stderr,
				"box-try: end=%d status=%d wall=%.3f ms cpu=%.3f ms rss=%lu KiB "
				"renames=%u total=%.3f ms\n",
				result.end, result.status, (double)result.wall_ns / 1e6,
				(double)result.cpu_ns / 1e6, (unsigned long)result.max_rss_kib,
				result.dir_renames, (double)(rein_mono_ns() - began) / 1e6);
		if (result.end == REIN_BOX_TIMEOUT || result.end == REIN_BOX_IDLE_TIMEOUT)
			status = 124;
		else if (result.end != REIN_BOX_EXITED && result.end != REIN_BOX_SIGNALED)
			status = 122;
	}
	if (!keep) {
		nftw(store, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
		rein_free(store);
	}
	for (size_t i = 0; i < spec.nroots; i++) {
		free(roots[i].real);
		free(roots[i].mask);
		rein_free(roots[i].store);
		rein_free(roots[i].upper);
		rein_free(roots[i].work);
	}
	rein_free(program);
	return status;
}
