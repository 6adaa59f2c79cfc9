/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pair.h. A box looks at the tree as it was when it began, so the two are compared with a
 * serial run only when the operations gave the same results as they give in that serial run:
 * "create what the other one created" succeeds in the box and is an error one after the other.
 */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_CONFLICT 123

struct serial {
	struct tree tree;
	uint16_t *errnos[2];
};

struct duel {
	struct differ *d;
	const struct pair *p;
	struct verdict *v;
	struct place place;
	struct tree start, now;
	struct timespec began;
	uint16_t *got[2];
	char txn[2][32]; /* names of the held ones; empty: nothing was changed, nothing is held */
};

static void serial_run(struct duel *u, const int *order, int count, struct serial *ret)
{
	struct timespec start = lab_filetime();

	lab_remove(u->place.native);
	lab_mkdir(u->place.native, &u->d->who);
	place_setup(u->d, u->place.native, &u->p->s);
	for (int i = 0; i < count; i++) {
		const struct ops *run = &u->p->run[order[i]];

		ret->errnos[order[i]] = lab_alloc((run->n + 1) * sizeof(uint16_t));
		native_run(u->d, u->place.native, &u->p->s, run, ret->errnos[order[i]], NULL);
	}
	tree_take(&ret->tree, u->place.native, start);
}

static void serial_done(struct serial *s)
{
	tree_done(&s->tree);
	free(s->errnos[0]);
	free(s->errnos[1]);
	*s = (struct serial){0};
}

static bool same_results(const struct duel *u, const struct serial *s, int which)
{
	size_t bytes = u->p->run[which].n * sizeof(uint16_t);

	return !s->errnos[which] || !bytes || !memcmp(s->errnos[which], u->got[which], bytes);
}

static void take_now(struct duel *u)
{
	tree_done(&u->now);
	tree_take(&u->now, u->place.work, u->began);
}

/* Is the tree what these sequences give in this order? Not comparable counts as yes. */
static bool is_serial(struct duel *u, const int *order, int count, struct lab_text *why)
{
	struct serial s = {0};
	bool ok = true;

	serial_run(u, order, count, &s);
	if (same_results(u, &s, 0) && same_results(u, &s, 1))
		ok = tree_equal(&s.tree, &u->now,
				(struct tree_rules){.clock_times = true,
						    .extra_links = &u->d->extra_links,
						    .loose_directory_times = true},
				why);
	serial_done(&s);
	return ok;
}

static bool took_results(struct duel *u, int which, const struct lab_result *r)
{
	if (parse_errnos(r->out.p, u->p->run[which].n, u->got[which]))
		return true;
	verdict_fail(u->v, "pair-run", "  transaction %d did not run\n", which + 1);
	explain_result(u->v, r);
	return false;
}

/* The report of a held run names its transaction. */
static void take_name(const char *json, char txn[32])
{
	static const char key[] = "\"transaction\":{\"id\":\"";
	const char *at = strstr(json, key);

	txn[0] = '\0';
	if (at)
		snprintf(txn, 32, "%.*s", (int)strcspn(at + sizeof(key) - 1, "\""),
			 at + sizeof(key) - 1);
}

static bool hold(struct duel *u, int which)
{
	struct lab_result r;
	bool ok;

	rein_run_ops(u->d, &u->place, &u->p->s, "--hold", "--json", &u->p->run[which], &r);
	ok = took_results(u, which, &r);
	take_name(r.err.p, u->txn[which]);
	lab_result_done(&r);
	return ok;
}

static int verb(struct duel *u, const char *name, int which, struct lab_result *r)
{
	const char *args[] = {name, u->txn[which], NULL};

	if (!u->txn[which][0]) {
		*r = (struct lab_result){0};
		return 0;
	}
	rein_run(u->d, &u->place, args, NULL, r);
	return r->status;
}

static void expect_verb(struct duel *u, const char *name, int which)
{
	struct lab_result r;

	if (verb(u, name, which, &r) != 0) {
		verdict_fail(u->v, name, "  rein %s %s failed\n", name, u->txn[which]);
		explain_result(u->v, &r);
	}
	lab_result_done(&r);
}

static void expect_serial(struct duel *u, const char *what, const int *order, int count)
{
	struct lab_text why = {0};

	take_now(u);
	if (!is_serial(u, order, count, &why))
		verdict_fail(u->v, what, "%s", why.p);
	lab_text_done(&why);
}

static void undo_both(struct duel *u, const int *order)
{
	/* any order will do when they do not touch each other */
	int last = u->p->apart && u->p->s.seed % 3 == 0 ? order[0] : order[1];

	expect_verb(u, "undo", last);
	if (u->v->outcome == CASE_PASS)
		expect_verb(u, "undo", !last);
	if (u->v->outcome != CASE_PASS)
		return;
	take_now(u);
	check_tree(u->v, "pair-undo", &u->start, &u->now, false);
}

static void one_after_other(struct duel *u)
{
	int order[2] = {u->p->first, !u->p->first};
	struct tree between = {0};
	struct lab_result r;

	if (!hold(u, 0) || !hold(u, 1))
		return;
	take_now(u);
	if (!check_tree(u->v, "pair-held", &u->start, &u->now, false))
		return;
	expect_verb(u, "commit", order[0]);
	if (u->v->outcome == CASE_PASS)
		expect_serial(u, "pair-first", order, 1);
	if (u->v->outcome != CASE_PASS)
		return;
	tree_take(&between, u->place.work, (struct timespec){0});
	switch (verb(u, "commit", order[1], &r)) {
	case 0:
		expect_serial(u, "pair-second", order, 2);
		if (u->v->outcome == CASE_PASS)
			undo_both(u, order);
		break;
	case STATUS_CONFLICT:
		u->v->outcome = CASE_REFUSED;
		take_now(u);
		check_tree(u->v, "pair-conflict", &between, &u->now, false);
		if (u->p->apart) {
			verdict_fail(u->v, "pair-apart", "  a conflict without a common path\n");
			explain_result(u->v, &r);
		}
		break;
	default:
		verdict_fail(u->v, "pair-status", "  the second commit failed\n");
		explain_result(u->v, &r);
	}
	lab_result_done(&r);
	tree_done(&between);
}

/* ---- at the same time ---- */

struct running {
	pid_t pid;
	int out, err;
};

static void start(struct duel *u, int which, struct running *r)
{
	const char *argv[] = {u->d->rein,    "run", "--approve", "--commit", "-q", "--workspace",
			      u->place.work, "--",  u->d->ops,	NULL},
		   *env[] = {u->place.home_env, u->place.state_env, NULL};
	struct lab_cmd c = {.argv = argv, .cwd = u->place.work, .env = env, .who = &u->d->who};
	struct lab_text list = {0};
	int out[2], err[2], in;

	ops_format(&u->p->run[which], &list);
	in = lab_memfd(list.p, list.n);
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		lab_die_errno("pipe");
	r->pid = fork();
	if (r->pid < 0)
		lab_die_errno("fork");
	if (r->pid == 0)
		lab_exec(&c, in, out[1], err[1]);
	close(in);
	close(out[1]);
	close(err[1]);
	r->out = out[0];
	r->err = err[0];
	lab_text_done(&list);
}

static void finish(struct running *run, struct lab_result *r)
{
	int st;

	*r = (struct lab_result){0};
	lab_text_add(&r->out, "", 0);
	lab_text_add(&r->err, "", 0);
	if (!lab_collect(run->out, run->err, r, lab_now() + 60))
		kill(run->pid, SIGKILL);
	close(run->out);
	close(run->err);
	while (waitpid(run->pid, &st, 0) < 0)
		if (errno != EINTR)
			lab_die_errno("waitpid");
	r->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static void both_done(struct duel *u)
{
	struct lab_text why[2] = {{0}, {0}};

	take_now(u);
	if (!is_serial(u, (int[]){0, 1}, 2, &why[0]) && !is_serial(u, (int[]){1, 0}, 2, &why[1]))
		verdict_fail(u->v, "pair-at-once", "not first then second:\n%snor the reverse:\n%s",
			     why[0].p, why[1].p);
	lab_text_done(&why[0]);
	lab_text_done(&why[1]);
}

static void at_once(struct duel *u)
{
	struct running run[2];
	struct lab_result r[2];
	int refused = -1;

	start(u, 0, &run[0]);
	start(u, 1, &run[1]);
	finish(&run[0], &r[0]);
	finish(&run[1], &r[1]);
	for (int i = 0; i < 2; i++) {
		if (r[i].status == STATUS_CONFLICT && refused < 0 && !u->p->apart) {
			refused = i;
		} else if (r[i].status != 0) {
			verdict_fail(u->v, "pair-at-once", "  transaction %d failed\n", i + 1);
			explain_result(u->v, &r[i]);
		}
	}
	if (u->v->outcome == CASE_PASS && took_results(u, 0, &r[0]) && took_results(u, 1, &r[1])) {
		if (refused < 0)
			both_done(u);
		else
			expect_serial(u, "pair-at-once", (int[]){!refused}, 1);
		if (refused >= 0 && u->v->outcome == CASE_PASS)
			u->v->outcome = CASE_REFUSED;
	}
	lab_result_done(&r[0]);
	lab_result_done(&r[1]);
}

void pair_run(struct differ *d, const struct pair *p, struct verdict *ret)
{
	struct duel u = {.d = d, .p = p, .v = ret};

	*ret = (struct verdict){.outcome = CASE_PASS, .what = ""};
	u.got[0] = lab_alloc((p->run[0].n + 1) * sizeof(uint16_t));
	u.got[1] = lab_alloc((p->run[1].n + 1) * sizeof(uint16_t));
	place_make(d, &u.place);
	place_setup(d, u.place.work, &p->s);
	tree_take(&u.start, u.place.work, (struct timespec){0});
	u.began = lab_filetime();
	if (p->at_once)
		at_once(&u);
	else
		one_after_other(&u);
	place_done(d, &u.place);
	tree_done(&u.start);
	tree_done(&u.now);
	free(u.got[0]);
	free(u.got[1]);
}
