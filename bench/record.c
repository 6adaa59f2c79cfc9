/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record against what people use instead: bench-record [DIRECTORY]. The directory (default /tmp)
 * decides the disk. Peers: one row an event in SQLite with a write-ahead log and synchronous=FULL, and
 * logger(1) sending to a socket nobody writes to disk from. Prints one line a measure.
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
#include "model/event.h"

#define ROUNDS 300
#define BATCH  1000

static char dir[256];

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
}

static void say_rate(const char *what, uint64_t n, uint64_t ns)
{
	printf("%-46s %10.0f events/s\n", what, (double)n / ((double)ns / 1e9));
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
		.digest = STR("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
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
	uint64_t t;

	if (!ev || rein_record_open(dir, NULL, &r, &err) < 0)
		die(err.msg);
	for (int i = 0; i < BATCH; i++)
		ev[i] = sample();
	t = rein_mono_ns();
	for (int i = 0; i < 100; i++)
		if (rein_record_append_batch(r, ev, BATCH, true, &err) < 0)
			die(err.msg);
	say_rate("record: durable batches of 1,000", 100 * BATCH, rein_mono_ns() - t);
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

static void bench_verify(void)
{
	struct rein_verify_result res;
	struct rein_err err = {0};
	uint64_t t = rein_mono_ns();

	if (rein_record_verify(dir, NULL, &res, &err) < 0)
		die(err.msg);
	say_rate("record: full verification, one core", res.lines, rein_mono_ns() - t);
}

static void bench_sqlite(void)
{
	uint64_t ns[ROUNDS], t;
	char path[300], text[] = "npm test -- --watch=false src/components/Table.test.tsx";
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	snprintf(path, sizeof(path), "%s/peer.db", dir);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			     "CREATE TABLE e(id INTEGER PRIMARY KEY, t INT, agent TEXT, session TEXT,"
			     " command TEXT, cwd TEXT, digest TEXT, level TEXT, decision TEXT)",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO e(t,agent,session,command,cwd,digest,level,decision)"
				   " VALUES(?,'claude','s-0001',?,'/home/dev/project','sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08','safe','allow')",
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

int main(int argc, char **argv)
{
	snprintf(dir, sizeof(dir), "%s/rein-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	if (!mkdtemp(dir))
		die("cannot make a directory");
	bench_fdatasync();
	bench_single();
	bench_batch();
	bench_many(1, 500);
	bench_many(8, 500);
	bench_many(64, 200);
	bench_verify();
	bench_sqlite();
	bench_logger();
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
