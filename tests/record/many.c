/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes on one log: record-many [PROCESSES [EVENTS [kill]]]. Every event durable, all of
 * them present exactly once afterwards, in the order of each process, the log whole. With "kill"
 * processes are killed while they work; then every acknowledged event must be there.
 */
#include <signal.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "model/event.h"
#include "record/internal.h"

static char dir[64];
static volatile uint32_t *acked; /* per process */
static uint64_t procs = 16, events = 200;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static void work(unsigned me)
{
	struct rein_record_options opt = {.segment_bytes = 4 << 20};
	struct rein_record *r = NULL;
	struct rein_err err = {0};

	if (rein_record_open(dir, &opt, &r, &err) < 0)
		goto bad;
	for (unsigned i = 0; i < events; i++) {
		char text[64];
		struct rein_event ev = {.type = REIN_EV_REQUEST, .agent = STR("many")};

		snprintf(text, sizeof(text), "work-%04u-%06u", me, i);
		ev.command = rein_str(text);
		if (rein_record_append(r, &ev, true, &err) < 0)
			goto bad;
		acked[me] = i + 1;
	}
	rein_record_close(r);
	_exit(0);
bad:
	fprintf(stderr, "process %u: %s\n", me, err.msg);
	_exit(1);
}

struct seen {
	uint32_t *next; /* per process: the next number expected */
	uint64_t total, wrong;
};

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct seen *s = arg;
	const char *p = memmem(l->text.p, l->text.n, "\"work-", 6);
	unsigned me, i;

	(void)err;
	if (!p || sscanf(p, "\"work-%4u-%6u", &me, &i) != 2 || me >= procs)
		return 0;
	s->wrong += i != s->next[me];
	s->next[me] = i + 1;
	s->total++;
	return 0;
}

int main(int argc, char **argv)
{
	bool killing = argc > 3 && rein_streq(argv[3], "kill");
	struct rein_verify_result res;
	struct rein_err err = {0};
	struct seen s = {0};
	uint64_t began;
	int failed = 0;
	pid_t pid[1024];

	if ((argc > 1 && !rein_parse_u64(argv[1], 1024, &procs)) ||
	    (argc > 2 && !rein_parse_u64(argv[2], 1000000, &events)))
		return 2;
	if (getenv("REIN_FULL")) {
		procs = 64;
		events = 2000;
	}
	snprintf(dir, sizeof(dir), "/tmp/rein-many-XXXXXX");
	acked = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s.next = rein_calloc(procs, sizeof(*s.next));
	if (!mkdtemp(dir) || acked == MAP_FAILED || !s.next)
		return 2;
	began = rein_mono_ns();
	for (unsigned i = 0; i < procs; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			work(i);
	}
	for (unsigned i = 0; killing && i < procs; i += 2) {
		usleep(3000 + i * 997 % 5000); /* in the midst of it */
		kill(pid[i], SIGKILL);
	}
	for (unsigned i = 0; i < procs; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		failed |= WIFEXITED(status) && WEXITSTATUS(status) != 0;
	}
	began = rein_mono_ns() - began;
	{
		auto_close int fd = rein_record_dir(dir, false, &err);

		if (fd < 0 || rein_record_each(fd, 0, on_line, &s, &err) < 0)
			failed = 1;
	}
	if (killing) { /* a writer may have died half-way: the next one repairs */
		struct rein_record *r = NULL;
		struct rein_event ev = {.type = REIN_EV_REQUEST};

		if (rein_record_open(dir, NULL, &r, &err) < 0 ||
		    rein_record_append(r, &ev, true, &err) < 0)
			failed = 1;
		rein_record_close(r);
	}
	if (!failed && rein_record_verify(dir, NULL, &res, &err) < 0)
		failed = 1;
	for (unsigned i = 0; i < procs; i++)
		failed |= s.next[i] < acked[i] || (!killing && s.next[i] != events);
	failed |= s.wrong > 0 || (!killing && s.total != procs * events);
	printf("%llu processes, %llu events in %.2f s (%.0f durable events/s), %llu heads, %s%s\n",
	       (unsigned long long)procs, (unsigned long long)s.total, (double)began / 1e9,
	       (double)s.total / ((double)began / 1e9), (unsigned long long)res.heads,
	       failed ? "FAILED " : "all there once and in order", failed ? err.msg : "");
	rein_free(s.next);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed;
}
