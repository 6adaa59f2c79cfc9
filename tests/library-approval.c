/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library-approval POLICY: a caller of librein that says yes to everything is one person, too. The policy wants
 * two people for commands named "two" and somebody else for what is called "other"; all of it is done by `touch`.
 * And one that says nothing gets nothing that wants a yes.
 */
#include <stdbool.h>
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

static int touch(struct rein_txn *t, const char *name, struct rein_err *err)
{
	const char *argv[] = {"touch", name, NULL};
	struct rein_txn_result result;

	return rein_txn_run(t, argv, &result, err);
}

static int run_as(bool approve, const char *name, struct rein_txn **ret, struct rein_err *err)
{
	struct rein_txn_opts opts = {.size = sizeof(opts), .approve = approve, .policy = policy};
	int rc = rein_txn_begin(&opts, ret, err);

	return rc < 0 ? rc : touch(*ret, name, err);
}

static int run(const char *name, struct rein_txn **ret, struct rein_err *err)
{
	return run_as(true, name, ret, err);
}

static void later(const char *what, const char *id)
{
	struct rein_err err = {0};
	struct rein_txn *t;

	check("it is there", 0, rein_txn_open(id, &t, &err), &err);
	check(what, -REIN_E_APPROVAL, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
}

static void without_a_yes(void)
{
	struct rein_txn_opts odd = {.size = sizeof(odd) - 1};
	struct rein_err err = {0};
	struct rein_txn *t;
	char id[16], gone[16];

	check("a caller of another version", -REIN_E_USAGE, rein_txn_begin(&odd, &t, &err), &err);
	check("asked, and nobody says yes: it does not run", -REIN_E_APPROVAL, run_as(false, "plain", &t, &err), &err);
	rein_txn_free(t);
	check("held by its words: it runs", 0, run_as(false, "words", &t, &err), &err);
	snprintf(id, sizeof(id), "%s", rein_txn_id(t));
	check("and is kept", -REIN_E_HELD, rein_txn_commit(t, &err), &err);
	check("it is decided about", -REIN_E_STATE, touch(t, "more", &err), &err);
	check("once", -REIN_E_STATE, rein_txn_hold(t, &err), &err);
	rein_txn_free(t);
	check("denied for what it did: it ran", 0, run("no", &t, &err), &err);
	snprintf(gone, sizeof(gone), "%s", rein_txn_id(t));
	check("and is gone, whoever says yes", -REIN_E_ROLLED_BACK, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
	check("what was is known", 0, rein_txn_open(gone, &t, &err), &err);
	check("and not to be had any more", -REIN_E_STATE, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
	check("denied for what it did: it ran", 0, run("no", &t, &err), &err);
	check("and is not kept, either", -REIN_E_ROLLED_BACK, rein_txn_hold(t, &err), &err);
	rein_txn_free(t);
	check("one that nobody decides about", 0, run("dropped", &t, &err), &err);
	rein_txn_free(t);
	check("nothing of it is there", 0, access("plain", F_OK) == 0 || access("words", F_OK) == 0 || access("more", F_OK) == 0 ||
	      access("no", F_OK) == 0 || access("dropped", F_OK) == 0, &err);
	check("what was held is there for whoever comes later", 0, rein_txn_open(id, &t, &err), &err);
	check("and is committed", 0, rein_txn_commit(t, &err), &err);
	check("once", -REIN_E_STATE, rein_txn_commit(t, &err), &err);
	rein_txn_free(t);
	check("then it is there", 0, access("words", F_OK) != 0, &err);
}

int main(int argc, char **argv)
{
	struct rein_err err = {0};
	struct rein_txn *t;
	char id[16];

	if (argc != 2)
		return 2;
	policy[0] = argv[1];
	without_a_yes();
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
