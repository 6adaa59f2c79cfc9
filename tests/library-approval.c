/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library-approval POLICY: a caller of librein that says yes to everything is one person, too. The policy wants
 * two people for commands named "two" and somebody else for what is called "other"; all of it is done by `touch`.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rein/txn.h>

static const char *policy[] = {NULL, NULL};
static int failures;

static void check(const char *what, int wanted, int got, const struct rein_err *err)
{
	printf("%s - %s: %d%s%s\n", wanted == got ? "ok" : "not ok", what, got, got ? ", " : "", got ? err->msg : "");
	failures += wanted != got;
}

static int run(const char *name, struct rein_txn **ret, struct rein_err *err)
{
	const char *argv[] = {"touch", name, NULL};
	struct rein_txn_opts opts = {.size = sizeof(opts), .approve = true, .policy = policy};
	struct rein_txn_result result;
	int rc = rein_txn_begin(&opts, ret, err);

	return rc < 0 ? rc : rein_txn_run(*ret, argv, &result, err);
}

static void later(const char *what, const char *id)
{
	struct rein_err err = {0};
	struct rein_txn *t;

	check("it is there", 0, rein_txn_open(id, &t, &err), &err);
	check(what, -REIN_E_APPROVAL, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
}

int main(int argc, char **argv)
{
	struct rein_err err = {0};
	struct rein_txn *t;
	char id[16];

	if (argc != 2)
		return 2;
	policy[0] = argv[1];
	check("two are asked: it does not run", -REIN_E_APPROVAL, run("two", &t, &err), &err);
	rein_txn_free(t);
	check("held for somebody else: it runs", 0, run("other", &t, &err), &err);
	snprintf(id, sizeof(id), "%s", rein_txn_id(t));
	check("and is kept", -REIN_E_HELD, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
	later("also when it is opened again", id);
	check("what is done is judged when it is kept, too", 0, run("did", &t, &err), &err);
	snprintf(id, sizeof(id), "%s", rein_txn_id(t));
	check("it is kept", 0, rein_txn_hold(t, &err), &err);
	rein_txn_free(t);
	later("and not to be had later without the two", id);
	check("what any one yes will do for is done", 0, run("plain", &t, &err), &err);
	check("and committed", 0, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
	check("nothing else happened", 0, access("two", F_OK) == 0 || access("other", F_OK) == 0 || access("did", F_OK) == 0 ||
	      access("plain", F_OK) != 0, &err);
	return failures ? 1 : 0;
}
