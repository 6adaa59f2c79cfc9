/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library-use: librein by a caller who makes mistakes, forgets what was given and ends badly. Only public
 * headers and exported names.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/policy.h>
#include <rein/txn.h>

#define THREADS 4
#define MS	1000000ull

static int failures;

static void check(bool good, const char *what, const struct rein_err *err)
{
	printf("%s - %s%s%s\n", good ? "ok" : "not ok", what, !good && err ? ": " : "", !good && err ? err->msg : "");
	failures += !good;
}

static bool exists(const char *name)
{
	return access(name, F_OK) == 0;
}

static struct rein_txn *begin(const struct rein_txn_opts *opts)
{
	struct rein_err err = {0};
	struct rein_txn *t = NULL;

	if (rein_txn_begin(opts, &t, &err) < 0) {
		printf("Bail out! %s\n", err.msg);
		exit(1);
	}
	return t;
}

static int sh(struct rein_txn *t, const char *command, struct rein_txn_result *ret, struct rein_err *err)
{
	const char *argv[] = {"sh", "-c", command, NULL};

	*err = (struct rein_err){0};
	return rein_txn_run(t, argv, ret, err);
}

/* What is given at the beginning is the caller's again when the call returns. */
static void borrowed_strings(void)
{
	char agent[] = "bot", session[] = "s1", task[] = "t1", workspace[4096];
	const char *env[] = {"MARK=here", NULL};
	struct rein_txn_opts opts = {
		.size = sizeof(opts), .agent = agent, .session = session, .task = task, .workspace = workspace, .env = env};
	struct rein_txn_result r = {0};
	struct rein_err err = {0};
	struct rein_txn *t;

	if (!getcwd(workspace, sizeof(workspace)))
		exit(1);
	t = begin(&opts);
	memset(agent, '!', sizeof(agent) - 1);
	memset(session, '!', sizeof(session) - 1);
	memset(task, '!', sizeof(task) - 1);
	memset(workspace, '!', 10);
	env[0] = "MARK=gone";
	memset(&opts, 0x5a, sizeof(opts));
	check(sh(t, "echo $MARK >borrowed", &r, &err) == 0 && r.status == 0, "runs on behalf of somebody", &err);
	check(rein_txn_commit(t, &err) == 0 && exists("borrowed"), "and is committed for him", &err);
	rein_txn_free(t);
}

static void bad_names(void)
{
	struct rein_txn_opts opts = {.size = sizeof(opts), .agent = "a b\n\033"};
	struct rein_err err = {0};
	struct rein_txn *t = NULL;
	char longest[200];

	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check(rein_txn_begin(&opts, &t, &err) == -REIN_E_USAGE && !t, "a text is no name of an agent", &err);
	opts.agent = longest;
	check(rein_txn_begin(&opts, &t, &err) == -REIN_E_USAGE && !t, "nor is one that nobody could stop", &err);
	opts.agent = "";
	opts.session = "";
	check(rein_txn_begin(&opts, &t, &err) == 0, "none is none", &err);
	rein_txn_free(t);
	t = NULL;
	opts = (struct rein_txn_opts){.size = sizeof(opts) - 8};
	check(rein_txn_begin(&opts, &t, &err) == -REIN_E_USAGE && !t, "another library's options are refused", &err);
}

static pid_t stop_soon(const char *agent)
{
	pid_t pid = fork();

	if (pid == 0) {
		sleep(1);
		execlp("rein", "rein", "stop", "-q", "--agent", agent, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* As with rein run: what was ended for cause is rolled back, whoever wishes otherwise. */
static void ended_badly(void)
{
	const struct {
		const char *name, *command;
		uint64_t timeout_ns, idle_ns;
		enum rein_txn_end end;
		int (*wish)(struct rein_txn *t, struct rein_err *err);
	} rows[] = {
		{"timed out", "echo half >half; sleep 20", 300 * MS, 0, REIN_TXN_TIMED_OUT, rein_txn_commit},
		{"idle", "echo half >half; sleep 20", 0, 300 * MS, REIN_TXN_IDLE, rein_txn_commit},
		{"timed out, to be held", "echo half >half; sleep 20", 300 * MS, 0, REIN_TXN_TIMED_OUT, rein_txn_hold},
		{"over a limit", "echo half >half; head -c 4M /dev/zero >big; sleep 20", 0, 0, REIN_TXN_LIMIT, rein_txn_commit},
		{"stopped", "echo half >half; sleep 20", 0, 0, REIN_TXN_STOPPED, rein_txn_commit},
	};
	const char *policy[] = {getenv("LIMITED"), NULL};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rein_txn_opts opts = {.size = sizeof(opts), .timeout_ns = rows[i].timeout_ns, .idle_timeout_ns = rows[i].idle_ns,
					     .agent = rows[i].end == REIN_TXN_STOPPED ? "condemned" : NULL,
					     .policy = rows[i].end == REIN_TXN_LIMIT ? policy : NULL};
		struct rein_txn_result r = {0};
		struct rein_err err = {0};
		struct rein_txn *t = begin(&opts);
		pid_t stopper = -1;
		size_t n = 0;
		int rc;

		check(sh(t, "echo whole >whole", &r, &err) == 0 && r.end == REIN_TXN_EXITED, "a first command", &err);
		if (rows[i].end == REIN_TXN_STOPPED)
			stopper = stop_soon("condemned");
		check(sh(t, rows[i].command, &r, &err) == 0 && r.end == rows[i].end, rows[i].name, &err);
		check(rein_txn_effects(t, &n, &err) == 0 && n, "its effects can be looked at", &err);
		if (stopper > 0)
			waitpid(stopper, NULL, 0);
		rc = rows[i].wish(t, &err);
		check(rc == -REIN_E_ROLLED_BACK && err.code == REIN_E_ROLLED_BACK && *err.msg, "and are rolled back", &err);
		check(!exists("half") && !exists("whole"), "nothing was changed", NULL);
		check(rein_txn_commit(t, &err) < 0 && !exists("half"), "also when it is tried again", NULL);
		rein_txn_free(t);
	}
}

static void out_of_order(void)
{
	const char *none[] = {NULL};
	struct rein_txn_result r = {0};
	struct rein_err err = {0};
	struct rein_txn *t = begin(NULL);
	struct rein_effect e;
	size_t n = 99;

	check(rein_txn_undo(t, &err) == -REIN_E_STATE, "undo before anything", &err);
	check(rein_txn_run(t, NULL, &r, &err) == -REIN_E_USAGE, "no words", &err);
	check(rein_txn_run(t, none, &r, &err) == -REIN_E_USAGE, "an empty list of words", &err);
	check(rein_txn_effects(t, &n, &err) == 0 && n == 0, "nothing was done", &err);
	check(rein_txn_effect(t, 0, &e) == -REIN_E_NOTFOUND, "so there is no first effect", NULL);
	check(rein_txn_commit(t, &err) == 0, "nothing can be committed", &err);
	check(rein_txn_undo(t, &err) == -REIN_E_STATE && !strstr(err.msg, "running"), "and is gone", &err);
	check(rein_txn_run(t, none, &r, &err) == -REIN_E_STATE, "nothing more runs in it", &err);
	check(rein_txn_abort(t, &err) == -REIN_E_STATE, "nor can it be aborted", &err);
	rein_txn_free(t);
	rein_txn_free(NULL);
	rein_pool_close(NULL);
}

static void no_judge(void)
{
	struct rein_question q = {.text = "ls"};
	struct rein_classifier *c = NULL;
	struct rein_policy *p = NULL;
	struct rein_err err = {0};
	struct rein_answer a;

	check(rein_classifier_new(&c, &err) == 0 && rein_policy_open(NULL, NULL, &p, &err) == 0, "a judge", &err);
	memset(&a, 0x5a, sizeof(a));
	check(rein_policy_ask(p, NULL, &q, &a, &err) == -REIN_E_INVALID && a.decision == REIN_DECISION_DENY,
	      "without a classifier it denies", &err);
	memset(&a, 0x5a, sizeof(a));
	check(rein_policy_ask(NULL, c, &q, &a, &err) == -REIN_E_INVALID && a.decision == REIN_DECISION_DENY,
	      "without a policy it denies", &err);
	memset(&a, 0x5a, sizeof(a));
	check(rein_policy_ask(p, c, NULL, &a, &err) == -REIN_E_INVALID && a.decision == REIN_DECISION_DENY,
	      "without a question it denies", &err);
	rein_policy_close(p);
	rein_classifier_free(c);
	rein_policy_close(NULL);
	rein_classifier_free(NULL);
}

static void *one_of_many(void *arg)
{
	char command[64], name[32];
	int *bad = arg;

	for (int i = 0; i < 3; i++) {
		struct rein_txn_result r = {0};
		struct rein_err err = {0};
		struct rein_txn *t = NULL;

		snprintf(name, sizeof(name), "by-%p-%d", arg, i);
		snprintf(command, sizeof(command), "echo x >%s", name);
		if (rein_txn_begin(NULL, &t, &err) < 0 || sh(t, command, &r, &err) < 0 || r.status ||
		    rein_txn_commit(t, &err) < 0 || !exists(name) || rein_txn_undo(t, &err) < 0 || exists(name)) {
			fprintf(stderr, "%s\n", err.msg);
			(*bad)++;
		}
		rein_txn_free(t);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	int bad[THREADS] = {0}, sum = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, one_of_many, &bad[i]) != 0)
			exit(1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += bad[i];
	}
	check(sum == 0, "threads with transactions of their own", NULL);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	borrowed_strings();
	bad_names();
	ended_badly();
	out_of_order();
	no_judge();
	threads();
	return failures ? 1 : 0;
}
