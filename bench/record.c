/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record against what people use instead: bench-record [--json FILE] [DIRECTORY]. The directory (default
 * /tmp) decides the disk. Peers: one row an event in SQLite with a write-ahead log and
 * synchronous=FULL, and logger(1) sending to a socket nobody writes to disk from. Prints one line a
 * measure; the same as JSON.
 */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "model/event.h"
#include "record/index.h"

#define ROUNDS	300
#define BATCH	1000
#define ACTIONS 100000

static char dir[256];
static struct rein_buf json_text = {.max = 1 << 16};
static struct rein_json json = {.b = &json_text};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void say_latency(const char *what, uint64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), by_value);
	printf("%-46s median %8.3f ms   p99 %8.3f ms\n", what, (double)ns[n / 2] / 1e6,
	       (double)ns[n * 99 / 100] / 1e6);
	rein_json_open(&json, '{');
	rein_json_kstr(&json, "name", what);
	rein_json_ku64(&json, "median_ns", ns[n / 2]);
	rein_json_ku64(&json, "p99_ns", ns[n * 99 / 100]);
	rein_json_close(&json, '}');
}

static void say_rate(const char *what, uint64_t n, uint64_t ns)
{
	double rate = (double)n / ((double)ns / 1e9);

	printf("%-46s %10.0f events/s\n", what, rate);
	rein_json_open(&json, '{');
	rein_json_kstr(&json, "name", what);
	rein_json_ku64(&json, "per_s", (uint64_t)rate);
	rein_json_close(&json, '}');
}

static void die(const char *what)
{
	fprintf(stderr, "bench-record: %s\n", what);
	exit(1);
}

static struct rein_event sample(void)
{
	return (struct rein_event){
		.type = REIN_EV_REQUEST,
		.action = STR("a0000001"),
		.agent = STR("claude"),
		.session = STR("s-0001"),
		.kind = STR("command"),
		.command = STR("npm test -- --watch=false src/components/Table.test.tsx"),
		.cwd = STR("/home/dev/project"),
		.digest = STR(
			"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
		.level = STR("safe"),
		.reach = STR("contained"),
		.decision = STR("allow"),
	};
}

static void bench_fdatasync(void)
{
	uint64_t ns[ROUNDS];
	char path[300], block[900] = {0};

	snprintf(path, sizeof(path), "%s/plain", dir);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = rein_mono_ns();

		if (write(fd, block, sizeof(block)) != sizeof(block) || fdatasync(fd) < 0)
			die("fdatasync");
		ns[i] = rein_mono_ns() - t;
	}
	say_latency("write + fdatasync, nothing else", ns, ROUNDS);
}

static void bench_single(void)
{
	struct rein_event ev = sample();
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	uint64_t ns[ROUNDS], soft[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) { /* what `rein run` pays: open, append, close */
		uint64_t t = rein_mono_ns();

		if (rein_record_open(dir, NULL, &r, &err) < 0 ||
		    rein_record_append(r, &ev, false, &err) < 0)
			die(err.msg);
		soft[i] = rein_mono_ns() - t;
		if (rein_record_sync(r, &err) < 0)
			die(err.msg);
		ns[i] = rein_mono_ns() - t;
		rein_record_close(r);
	}
	say_latency("record: open, append", soft, ROUNDS);
	say_latency("record: open, append, durable and signed", ns, ROUNDS);
	if (rein_record_open(dir, NULL, &r, &err) < 0)
		die(err.msg);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = rein_mono_ns();

		if (rein_record_append(r, &ev, true, &err) < 0)
			die(err.msg);
		ns[i] = rein_mono_ns() - t;
	}
	say_latency("record: one durable event", ns, ROUNDS);
	rein_record_close(r);
}

static void bench_batch(void)
{
	struct rein_event *ev = rein_calloc(BATCH, sizeof(*ev));
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	uint64_t t, cpu;

	if (!ev || rein_record_open(dir, NULL, &r, &err) < 0)
		die(err.msg);
	for (int i = 0; i < BATCH; i++)
		ev[i] = sample();
	t = rein_mono_ns();
	cpu = rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 100; i++)
		if (rein_record_append_batch(r, ev, BATCH, true, &err) < 0)
			die(err.msg);
	say_rate("record: durable batches of 1,000", 100 * BATCH, rein_mono_ns() - t);
	say_rate("record: the same, by processor time", 100 * BATCH,
		 rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	rein_record_close(r);
	rein_free(ev);
}

static void bench_many(unsigned procs, unsigned each)
{
	uint64_t t = rein_mono_ns();
	char what[64];

	for (unsigned p = 0; p < procs; p++)
		if (fork() == 0) {
			struct rein_event ev = sample();
			struct rein_record *r = NULL;
			struct rein_err err = {0};

			if (rein_record_open(dir, NULL, &r, &err) < 0)
				_exit(1);
			for (unsigned i = 0; i < each; i++)
				if (rein_record_append(r, &ev, true, &err) < 0)
					_exit(1);
			_exit(0);
		}
	for (unsigned p = 0; p < procs; p++) {
		int status;

		wait(&status);
		if (status)
			die("a writer failed");
	}
	snprintf(what, sizeof(what), "record: %u processes, one event at a time", procs);
	say_rate(what, (uint64_t)procs * each, rein_mono_ns() - t);
}

/* By processor time: on a busy machine the rate of one core is not that of the clock on the wall.
 */
static void bench_verify(void)
{
	struct rein_verify_result res;
	struct rein_err err = {0};
	uint64_t t = rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (rein_record_verify(dir, NULL, &res, &err) < 0)
		die(err.msg);
	say_rate("record: full verification, one core", res.lines,
		 rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - t);
}

static void past_action(struct rein_event ev[2], char text[2][96], unsigned i)
{
	static const char *const programs[] = {"git push origin",     "npm test -- src/part",
					       "rm -rf build",	      "kubectl delete pod",
					       "pip install package", "make -C module",
					       "sed -i s/a/b/ file",  "docker build -t image",
					       "psql -c select",      "terraform plan -out"};
	static const char *const files[] = {"src/a.ts", "/etc/hosts", "../lib/x.py", "~/notes.md", "", "test/data.json", "*.log"};
	unsigned r = i * 2654435761u;

	/* some 20,000 different kinds: options and paths make the difference */
	snprintf(text[0], 96, "%s-%u --opt%c%c %s", programs[i * 7 % ARRAY_SIZE(programs)], r % 5000, 'a' + (int)(r / 7 % 26),
		 'a' + (int)(r / 191 % 26), files[r / 11 % ARRAY_SIZE(files)]);
	snprintf(text[1], 96, "a%08x", i);
	ev[0] = sample();
	ev[0].action = rein_str(text[1]);
	ev[0].command = rein_str(text[0]);
	ev[1] = (struct rein_event){
		.type = REIN_EV_RUN_END, .action = rein_str(text[1]), .result = STR("ok")};
}

static int nothing(void *arg, uint64_t line, struct rein_str text, const struct rein_event *ev,
		   struct rein_err *err)
{
	(void)arg, (void)line, (void)text, (void)ev, (void)err;
	return 0;
}

/* Asking a history of 100,000 actions, the index open. */
static void bench_search(void)
{
	static const char *const asked[] = {"git push origin feature-9", "rm -rf build-7 dist/x.js",
					    "npm test -- src/x.test.ts", "kubectl delete pod web-3 -n app",
					    "make -C module-2 all", "docker build -t image-9 -f src/a/Dockerfile ."};
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_record *r = NULL;
	struct rein_similar found[5];
	struct rein_err err = {0};
	static struct rein_event ev[2 * BATCH];
	static char text[BATCH][2][96], where[300];
	uint64_t ns[ROUNDS], cpu[ROUNDS], t;

	snprintf(where, sizeof(where), "%s/past", dir);
	if (rein_record_open(where, NULL, &r, &err) < 0)
		die(err.msg);
	for (unsigned i = 0; i < ACTIONS; i += BATCH) {
		for (unsigned k = 0; k < BATCH; k++)
			past_action(&ev[2 * k], text[k], i + k);
		if (rein_record_append_batch(r, ev, 2 * BATCH, i + BATCH == ACTIONS, &err) < 0)
			die(err.msg);
	}
	rein_record_close(r);
	t = rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (rein_index_load(&ops, &err) < 0 || ops->open(where, false, &x, &err) < 0) {
		printf("search: left out: %s\n", err.msg);
		return;
	}
	say_rate("search: building the index, one core", 2 * ACTIONS,
		 rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - t);
	for (unsigned i = 0; i < ROUNDS; i++) {
		t = rein_mono_ns();
		cpu[i] = rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (ops->similar(x, rein_str(asked[i % ARRAY_SIZE(asked)]), found, 5, &err) <= 0)
			die("nothing similar was found");
		ns[i] = rein_mono_ns() - t;
		cpu[i] = rein_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu[i];
	}
	say_latency("search: similar past operations, 100,000", ns, ROUNDS);
	say_latency("search: the same, by processor time", cpu, ROUNDS);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct rein_filter f = {.agent = "claude", .text = i & 1 ? "terraform" : NULL};

		t = rein_mono_ns();
		if (ops->query(x, &f, 100, 0, nothing, NULL, &err) <= 0)
			die("nothing was found");
		ns[i] = rein_mono_ns() - t;
	}
	say_latency("search: first page of 100 of 200,000", ns, ROUNDS);
	ops->close(x);
}

static void bench_sqlite(void)
{
	uint64_t ns[ROUNDS], t;
	char path[300], text[] = "npm test -- --watch=false src/components/Table.test.tsx";
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	snprintf(path, sizeof(path), "%s/peer.db", dir);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			 "CREATE TABLE e(id INTEGER PRIMARY KEY, t INT, agent TEXT, session TEXT,"
			 " command TEXT, cwd TEXT, digest TEXT, level TEXT, decision TEXT)",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db,
			       "INSERT INTO e(t,agent,session,command,cwd,digest,level,decision)"
			       " VALUES(?,'claude','s-0001',?,'/home/dev/"
			       "project','sha256:"
			       "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08','"
			       "safe','allow')",
			       -1, &s, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(db));
	sqlite3_bind_text(s, 2, text, -1, SQLITE_STATIC);
	for (int i = 0; i < ROUNDS; i++) {
		t = rein_mono_ns();
		sqlite3_bind_int64(s, 1, (sqlite3_int64)t);
		if (sqlite3_step(s) != SQLITE_DONE)
			die(sqlite3_errmsg(db));
		sqlite3_reset(s);
		ns[i] = rein_mono_ns() - t;
	}
	say_latency("SQLite WAL, synchronous=FULL: one insert", ns, ROUNDS);
	t = rein_mono_ns();
	for (int i = 0; i < 100; i++) {
		sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
		for (int k = 0; k < BATCH; k++) {
			sqlite3_bind_int64(s, 1, k);
			sqlite3_step(s);
			sqlite3_reset(s);
		}
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	}
	say_rate("SQLite WAL: transactions of 1,000", 100 * BATCH, rein_mono_ns() - t);
	sqlite3_finalize(s);
	sqlite3_close(db);
}

static void bench_logger(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	char *argv[] = {(char *)(uintptr_t) "logger", (char *)(uintptr_t) "-u", sa.sun_path,
			(char *)(uintptr_t) "npm test", NULL};
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t ns[ROUNDS];
	char drop[4096];

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%.80s/log", dir);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = rein_mono_ns();
		pid_t pid;

		if (posix_spawnp(&pid, "logger", NULL, NULL, argv, environ) != 0)
			return;
		waitpid(pid, NULL, 0);
		ns[i] = rein_mono_ns() - t;
		while (recv(fd, drop, sizeof(drop), 0) > 0)
			;
	}
	say_latency("logger: one line, not durable", ns, ROUNDS);
}

static void write_json(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f || json_text.failed || fwrite(json_text.p, 1, json_text.n, f) != json_text.n || fclose(f))
		die("cannot write the JSON");
}

int main(int argc, char **argv)
{
	const char *out = NULL;

	if (argc > 2 && rein_streq(argv[1], "--json")) {
		out = argv[2];
		argc -= 2;
		argv += 2;
	}
	snprintf(dir, sizeof(dir), "%s/rein-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	if (!mkdtemp(dir))
		die("cannot make a directory");
	rein_json_open(&json, '{');
	rein_json_kstr(&json, "title", "the record");
	rein_json_key(&json, "measures");
	rein_json_open(&json, '[');
	bench_fdatasync();
	bench_single();
	bench_batch();
	bench_many(1, 500);
	bench_many(8, 500);
	bench_many(64, 200);
	bench_verify();
	bench_search();
	bench_sqlite();
	bench_logger();
	rein_json_close(&json, ']');
	rein_json_close(&json, '}');
	if (out)
		write_json(out);
	rein_buf_done(&json_text);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
