/* SPDX-License-Identifier: Apache-2.0 */
/* See fate.h. */
#include "cli/fate.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/judgement.h"
#include "cli/outcome.h"
#include "cli/ui.h"
#include "cli/verbs.h"

static bool is_cancel(int key)
{
	return key == 'k' || key == 'q' || key == 3 || key == 4 || key == 27;
}

/* The files one by one: y takes it, n leaves it out. 1: no more questions, nothing is chosen. */
static int ask_each(const struct rein_tx *t, struct rein_changes *c, bool *any, struct rein_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		char question[1200];
		int key;

		if (!x->top || x->skipped || x->renamed_away ||
		    (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) &&
		     !(x->what & ~REIN_WHAT_TIMES)))
			continue;
		snprintf(question, sizeof(question), "      %s %s [y/n] ",
			 x->from ? "renamed" : rein_change_kind_name(x->kind), rein_change_path(t, x));
		do
			key = rein_ui_key(question);
		while ((!key || !strchr("yYnN", key)) && !is_cancel(key));
		if (is_cancel(key))
			return 1;
		if (key == 'y' || key == 'Y')
			continue;
		*any = true;
		if (rein_leave_out(c, i, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * 0: some were chosen, and the rest, if any, is held. What is left out of a commit and not held either
 * would be lost: where that fails, or nothing is chosen (1), all are in again.
 */
static int choose_files(struct rein_engine *e, struct rein_run *r, char *rest, struct rein_err *err)
{
	struct rein_changes *c = &r->changes;
	auto_free bool *top = rein_calloc(c->n, sizeof(*top));
	bool any = false;
	int rc;

	if (!top)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		top[i] = c->v[i].top;
	rc = ask_each(&r->tx, c, &any, err);
	if (rc == 0 && (!any || (rein_select_marked(c, err) == 0 && rein_tx_save(&e->state, &r->tx, false, err) == 0 &&
				 rein_tx_split(&e->state, &r->tx, c, rest, err) == 0))) {
		rein_changes_sum(c, &r->sum);
		return 0;
	}
	for (size_t i = 0; i < c->n; i++) {
		c->v[i].top = top[i];
		c->v[i].skipped = false;
	}
	return rc ? rc : -err->code;
}

static enum rein_fate ask(struct rein_engine *e, struct rein_run *r, char *rest)
{
	for (;;) {
		struct rein_diff d = {.context = 3};
		struct rein_err err = {0};
		int rc;

		switch (rein_ui_key("      [c]ommit  [d]iscard  [v]iew  [s]elect files  [k]eep for later? ")) {
		case 'c':
		case 'y':
			return REIN_FATE_COMMIT;
		case 'd':
			return REIN_FATE_DISCARD;
		case 'v':
			rein_ui_page(true);
			if (rein_print_diff(&r->tx, &r->changes, &d, NULL, 0, &err) < 0)
				rein_fail(&err, false);
			rein_ui_page_end();
			break;
		case 's':
			rc = choose_files(e, r, rest, &err);
			if (rc == 0)
				return REIN_FATE_COMMIT;
			if (rc < 0)
				rein_fail(&err, false);
			break;
		case 'k':
		case 'q':
		case 3:
		case 4:
		case 27:
			return REIN_FATE_HOLD;
		default:
			rein_more("commit: into the real files (rein undo takes it back); discard: thrown away;");
			rein_more("view: the diff; select: some of it, the rest is held; keep: held, for rein commit or");
			rein_more("rein discard");
		}
	}
}

bool rein_fate_is_forced(const struct rein_run *r)
{
	return r->result.end == REIN_BOX_TIMEOUT || r->result.end == REIN_BOX_IDLE_TIMEOUT ||
	       r->result.end == REIN_BOX_LOST || r->result.end == REIN_BOX_CANCELLED ||
	       r->result.end == REIN_BOX_LIMIT || r->result.end == REIN_BOX_STOPPED ||
	       r->violations.safe_mode;
}

bool rein_fate_has_person(const struct rein_common *common)
{
	return !common->quiet && !common->json && isatty(STDERR_FILENO) && isatty(STDIN_FILENO);
}

const struct rein_decision *rein_fate_objection(const struct rein_judgement *j)
{
	if (j->has_after && rein_decision_enforced(&j->after) != REIN_ALLOW)
		return &j->after;
	if (j->must_hold)
		return &j->before;
	return NULL;
}

bool rein_fate_is_thrown_away(const struct rein_judgement *j)
{
	return j->has_after && rein_decision_enforced(&j->after) == REIN_DENY;
}

/* Who is asked may never answer, and be gone: then it is held as it stands, and only this tells how it ended. */
static void note_open_question(struct rein_engine *e, struct rein_run *r, const char *reason)
{
	struct rein_err ignored = {0};

	rein_free(r->tx.reason);
	r->tx.reason = rein_strdup(reason);
	rein_tx_save(&e->state, &r->tx, false, &ignored);
}

/* *by_person: somebody saw the objection, if there is one, and chose all the same. */
static enum rein_fate choose(struct rein_engine *e, const struct rein_fate_args *a,
			     const struct rein_common *common, struct rein_run *r, char *rest, bool *by_person)
{
	static const enum rein_fate after_failure[] = {
		[REIN_FAILURE_DISCARD] = REIN_FATE_DISCARD,
		[REIN_FAILURE_HOLD] = REIN_FATE_HOLD,
		[REIN_FAILURE_COMMIT] = REIN_FATE_COMMIT,
	};
	const struct rein_decision *no = rein_fate_objection(&r->judged);
	bool failed = r->result.status != 0;

	if (failed && a->on_failure)
		return (enum rein_fate[]){REIN_FATE_COMMIT, REIN_FATE_DISCARD, REIN_FATE_HOLD}[a->on_failure - 1];
	if (a->decision)
		return (enum rein_fate)a->decision;
	if (rein_fate_has_person(common)) {
		rein_print_changes(stderr, &r->tx, &r->changes, 12);
		if (failed)
			rein_more("%sthe command failed:%s %s", rein_ui(stderr, REIN_RED), rein_ui_off(stderr),
				  rein_outcome_end(r));
		if (no) {
			rein_more("%sto be reviewed:%s %s", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr),
				  no->reason);
			rein_print_decision(no);
		}
		note_open_question(e, r, failed ? "the command failed" : no ? no->reason : "nobody has answered");
		*by_person = true;
		return ask(e, r, rest);
	}
	return failed ? after_failure[r->settings.on_failure] : REIN_FATE_COMMIT;
}

int rein_fate_decide(struct rein_engine *e, const struct rein_fate_args *a, const struct rein_common *common,
		     struct rein_run *r, char *rest, enum rein_fate *ret, struct rein_err *err)
{
	bool approved = a->approve;
	enum rein_fate d;

	if (rein_fate_is_forced(r) || rein_fate_is_thrown_away(&r->judged)) {
		*ret = REIN_FATE_DISCARD;
		return 0;
	}
	d = choose(e, a, common, r, rest, &approved);
	*ret = d;
	if (d != REIN_FATE_COMMIT || !rein_fate_objection(&r->judged))
		return 0;
	if (approved && rein_engine_approve(r, err) == 0)
		return 0;
	*ret = REIN_FATE_HOLD;
	if (!approved || *r->judged.missing) {
		*err = (struct rein_err){0};
		return 0;
	}
	return -err->code;
}
