/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool WORKSPACE: boxes made ahead are used, and never where a new one would be different. Each check runs a
 * command through librein and looks at what it printed and at whether a ready box ran it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rein/txn.h>

#define SIZE 2

static struct rein_pool *pool;
static pid_t owner;
static int failures;

static void check(bool good, const char *what)
{
	printf("%s - %s\n", good ? "ok" : "not ok", what);
	fflush(stdout);
	failures += !good;
}

/* What the command printed, with our own standard output turned aside meanwhile. */
static const char *said(const char *command, bool host_network)
{
	static char text[4096];
	const char *argv[] = {"sh", "-c", command, NULL};
	struct rein_txn_opts opts = {
		.size = sizeof(opts), .pool = pool, .approve = true, .share_network = host_network};
	struct rein_txn_result result = {0};
	struct rein_err err = {0};
	struct rein_txn *txn = NULL;
	int kept = dup(1), out = open("../out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = -1;
	ssize_t n;

	if (kept < 0 || out < 0 || dup2(out, 1) < 0)
		exit(2);
	if (rein_txn_begin(&opts, &txn, &err) == 0) {
		rc = rein_txn_run(txn, argv, &result, &err);
		rein_txn_abort(txn, &(struct rein_err){0});
		rein_txn_free(txn);
	}
	dup2(kept, 1);
	close(kept);
	if (rc < 0 || result.status != 0)
		printf("# %s: status %d %s\n", command, result.status, err.msg);
	n = pread(out, text, sizeof(text) - 1, 0);
	close(out);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* They are made beside us: as many as there should be, before anything is expected of them. */
static void settle(void)
{
	for (int i = 0; i < 1000 && rein_pool_size(pool) < SIZE; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/*
 * It says so, and in a box that was ready, or not. Mounts that others had when we began are in our table as well, and go
 * from it when they remove their directories: then none of the ready ones is fit, and those after them are asked for.
 */
static void expect(const char *what, const char *command, const char *want, bool ready)
{
	int tries = ready ? 3 : 1;
	const char *text;
	bool used;

	do {
		uint64_t before = rein_pool_used(pool);

		text = said(command, false);
		used = rein_pool_used(pool) > before;
		if (ready || getpid() == owner)
			settle();
	} while (used != ready && --tries);
	if (strcmp(text, want) != 0 || used != ready)
		printf("# said: %s# wanted: %s# %s\n", text, want, used ? "a ready box" : "a new box");
	check(strcmp(text, want) == 0 && used == ready, what);
}

/* The boxes that wait are children of a thread of ours. */
static int kill_children(void)
{
	char path[300], text[1024], *p, *end;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;
	long pid;

	while (tasks && (e = readdir(tasks))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/children", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f && fgets(text, sizeof(text), f))
			for (p = text; (pid = strtol(p, &end, 10)) > 0; p = end, n++) {
				siginfo_t si;

				kill((pid_t)pid, SIGKILL);
				waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
			}
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return n;
}

static void *in_a_thread(void *arg)
{
	(void)arg;
	expect("another thread has them, too", "echo thread", "thread\n", true);
	return NULL;
}

static void other_processes(void)
{
	pthread_t thread;
	pid_t pid;
	int status = 1;

	pthread_create(&thread, NULL, in_a_thread, NULL);
	pthread_join(thread, NULL);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		failures = 0;
		expect("another process gets a new one", "echo child", "child\n", false);
		_exit(failures);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0, "and ends well");
	expect("after both it is ready still", "echo here", "here\n", true);
}

static void mounts(void)
{
	FILE *f;

	if (geteuid() != 0)
		return;
	if (mkdir("m", 0755) < 0 || mount("none", "m", "tmpfs", 0, NULL) < 0 || !(f = fopen("m/new", "we"))) {
		check(false, "mount");
		return;
	}
	fputs("mounted\n", f);
	fclose(f);
	expect("what was mounted since is seen", "cat m/new", "mounted\n", false);
	expect("and then there is a ready one that knows of it", "cat m/new", "mounted\n", true);
	umount("m");
	expect("what was taken away is not", "ls m", "", false);
}

int main(int argc, char **argv)
{
	struct rein_err err = {0};
	struct rlimit limit = {64, 64};

	if (argc != 2 || chdir(argv[1]) < 0)
		return 2;
	/* mounts of this process's own */
	if (geteuid() == 0 && (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
		return 2;
	check(rein_pool_open(1000, &pool, &err) < 0 && err.code == REIN_E_USAGE, "too many are refused");
	if (rein_pool_open(SIZE, &pool, &err) < 0) {
		printf("# %s\n", err.msg);
		return 1;
	}
	owner = getpid();
	settle();
	expect("a ready box runs the command, with the streams of now", "echo one", "one\n", true);
	expect("and so the next", "echo two", "two\n", true);
	expect("many in a row", "for i in 1 2 3; do echo $i; done", "1\n2\n3\n", true);
	umask(027);
	expect("another umask: a new one", "umask", "0027\n", false);
	expect("the next is ready", "umask", "0027\n", true);
	setrlimit(RLIMIT_NOFILE, &limit);
	expect("another limit: a new one", "ulimit -n", "64\n", false);
	expect("the next is ready", "ulimit -n", "64\n", true);
	signal(SIGUSR2, SIG_IGN);
	expect("an ignored signal: a new one", "kill -USR2 $$; echo alive", "alive\n", false);
	check(kill_children() == SIZE, "the ready ones are killed");
	expect("dead ones are not used", "echo three", "three\n", false);
	expect("and replaced", "echo four", "four\n", true);
	check(strcmp(said("echo net", true), "net\n") == 0, "the host's network: a new one");
	expect("which leaves the ready ones", "echo five", "five\n", true);
	mounts();
	other_processes();
	rein_pool_close(pool);
	check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "nothing is left");
	return failures != 0;
}
