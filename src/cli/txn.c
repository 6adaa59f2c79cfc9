/* SPDX-License-Identifier: Apache-2.0 */
/* commit, discard, undo, redo: deciding about a transaction that exists. */
#include <errno.h>
#include <sys/stat.h>

#include "approval/approval.h"
#include "base/auto.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/alerts.h"
#include "engine/merge.h"
#include "engine/reverse.h"

struct commit_args {
	struct rein_strlist only, except, ours, theirs;
	bool merge;
};

static void args_done(struct commit_args *a)
{
	rein_strlist_done(&a->only);
	rein_strlist_done(&a->except);
	rein_strlist_done(&a->ours);
	rein_strlist_done(&a->theirs);
}

const struct rein_opt rein_commit_opts[] = {
	{"only", 0, REIN_OPT_LIST, offsetof(struct commit_args, only), "GLOB", "commit only these paths; the rest stays held", 0},
	{"except", 0, REIN_OPT_LIST, offsetof(struct commit_args, except), "GLOB", "leave these paths out; they stay held", 0},
	{"merge", 0, REIN_OPT_FLAG, offsetof(struct commit_args, merge), NULL, "merge text that changed on both sides", 0},
	{"ours", 0, REIN_OPT_LIST, offsetof(struct commit_args, ours), "GLOB", "on conflict keep what is in the workspace", 0},
	{"theirs", 0, REIN_OPT_LIST, offsetof(struct commit_args, theirs), "GLOB", "on conflict take the transaction's version", 0},
	{0},
};

static void print_json(const struct rein_tx *t, const struct rein_changes *c, const char *rest,
		       const struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_tx(&j, t);
	if (rest && *rest)
		rein_json_kstr(&j, "rest", rest);
	rein_json_key(&j, "changes");
	rein_json_changes(&j, t, c);
	rein_json_error(&j, err);
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static void tell_rest(const char *rest)
{
	if (rest && *rest)
		rein_more("the rest is held as %s", rest);
}

/* Of an undo or a redo: what can be typed, and what cannot be settled so. */
static void print_ways_back(const struct rein_tx *t, const struct rein_changes *c)
{
	const bool forward = t->state != REIN_TX_COMMITTED;
	const struct rein_change *inner = NULL, *top = NULL, *stuck = NULL;
	bool plain = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		unsigned ways = x->clash && !x->skipped ? rein_reverse_ways(t, c, i, forward) : REIN_WAY_OURS;

		plain |= x->clash && !x->skipped && ways && !(ways & REIN_WAY_OURS_TOP);
		if (ways & REIN_WAY_OURS_TOP && !inner) {
			inner = x;
			top = &c->v[rein_top_of(c, i)];
		}
		if (!ways && !stuck)
			stuck = x;
	}
	if (plain)
		rein_more("per path: --ours PATH leaves it as it is, --theirs PATH puts the other version there; what that replaces is "
			  "kept, and comes back with rein %s", forward ? "undo" : "redo");
	if (inner)
		rein_more("%s comes with its directory: --ours %s leaves all of that out, --theirs %s makes it a file of its own",
			  rein_change_path(t, inner), rein_change_path(t, top), rein_change_path(t, inner));
	if (stuck)
		rein_more("%s goes by neither --ours nor --theirs: put it back as it was%s, then: rein %s %s",
			  rein_change_path(t, stuck), forward ? ", or move it away" : "", forward ? "redo" : "undo", t->id);
}

/* rest: what was left out and is held by itself by now; or NULL, where nothing is left out. merged: as far as possible. */
static int report_failure(const struct rein_tx *t, const struct rein_changes *c, const char *rest, bool merged,
			  const struct rein_err *err, const struct rein_common *common)
{
	if (common->json)
		print_json(t, c, rest, err);
	if (err->code != REIN_E_CONFLICT) {
		rein_fail(err, false);
		tell_rest(rest);
		return rein_code_exit(err->code);
	}
	rein_say("%sconflict:%s nothing was changed", rein_ui(stderr, REIN_RED), rein_ui_off(stderr));
	rein_print_conflicts(t, c, err);
	if (!rest)
		print_ways_back(t, c);
	else
		rein_print_ways_out(t, c, merged);
	tell_rest(rest);
	return rein_code_exit(REIN_E_CONFLICT);
}

static void done_line(const char *verb, const struct rein_tx *t, const struct rein_changes *c,
		      const char *next)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	struct rein_summary sum;

	rein_changes_sum(c, &sum);
	rein_ui_summary(&b, &sum);
	if (t->unfinished)
		rein_say("the state directory cannot be written: the next command completes the record");
	rein_say("%s %s%s%s: %s.%s%s", verb, rein_ui(stderr, REIN_BOLD), t->id, rein_ui_off(stderr),
		 b.p ? b.p : "", next ? " " : "", next ? next : "");
}

int rein_cli_commit(int argc, char **argv)
{
	auto_(args_done) struct commit_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	struct rein_err err = {0}, ignored = {0};
	char rest[REIN_TX_ID_MAX + 1] = "", next[64];
	int first, status, rc;

	rein_ui_outlive_readers();
	if (rein_verb_begin("commit", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (rein_engine_find(&e, first < argc ? argv[first] : NULL, 1u << REIN_TX_HELD, &t, &err) < 0 ||
	    rein_tx_changes(&t, &c, &err) < 0)
		return rein_fail(&err, common.json);
	if (t.state != REIN_TX_HELD) {
		rein_err_set(&err, REIN_E_STATE, "transaction %s is %s, not held", t.id,
			     rein_tx_state_name(t.state));
		return rein_fail(&err, common.json);
	}
	/* before anything is taken apart */
	if (rein_reviews_check_self(&t.reviews, &err) < 0)
		return rein_fail(&err, common.json);
	if (rein_patterns_meant(&t, &c, &a.only, &err) < 0 || rein_patterns_meant(&t, &c, &a.except, &err) < 0 ||
	    rein_patterns_meant(&t, &c, &a.ours, &err) < 0 || rein_patterns_meant(&t, &c, &a.theirs, &err) < 0)
		return rein_fail(&err, common.json);
	if ((a.only.n || a.except.n) && rein_select(&t, &c, &a.only, &a.except, &err) < 0)
		return rein_fail(&err, common.json);
	rc = rein_resolve(&e, &t, &c, &a.ours, &a.theirs, a.merge, &err);
	if (rc == 0 && (a.only.n || a.except.n))
		rc = rein_tx_split(&e.state, &t, &c, rest, &err);
	if (rc == 0)
		rc = rein_engine_later(&e, NULL, &t, &c, REIN_LATER_COMMIT, &err);
	/* all of it is held again: the rest by itself would be there twice */
	if (rc < 0 && *rest && rein_tx_unsplit(&e.state, &t, rest, &ignored) == 0)
		*rest = '\0';
	if (rc < 0)
		return report_failure(&t, &c, rest, a.merge, &err, &common);
	if (common.json)
		print_json(&t, &c, rest, NULL);
	else if (!common.quiet) {
		snprintf(next, sizeof(next), "Undo with: rein undo %s", t.id);
		done_line("committed", &t, &c, next);
		rein_print_parted(&t, &c);
		tell_rest(rest);
	}
	rein_engine_alerts(&e, NULL, common.json ? NULL : stderr);
	return 0;
}

struct discard_args {
	bool force;
};

const struct rein_opt rein_discard_opts[] = {
	{"force", 0, REIN_OPT_FLAG, offsetof(struct discard_args, force), NULL, "give up one that is half done; the tree stays as it is", 0},
	{0},
};

/* Its process died, and what it did cannot be read: nobody knows its changes, and the list stays empty. */
static bool is_left(const struct rein_engine *e, const struct rein_tx *t)
{
	return t->state == REIN_TX_RUNNING && !rein_tx_alive(&e->state, t->id);
}

int rein_cli_discard(int argc, char **argv)
{
	struct discard_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	struct rein_err err = {0};
	bool left = false, gives_up;
	int first, status;

	rein_ui_outlive_readers();
	if (rein_verb_begin("discard", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (rein_engine_find(&e, first < argc ? argv[first] : NULL, 1u << REIN_TX_HELD, &t, &err) < 0)
		return rein_fail(&err, common.json);
	left = is_left(&e, &t);
	gives_up = a.force && rein_tx_stuck(&e.state, t.id);
	if ((left ? rein_tx_save_changes(&t, &c, false, &err) : rein_tx_changes(&t, &c, &err)) < 0 ||
	    rein_engine_later(&e, NULL, &t, &c, gives_up ? REIN_LATER_ABANDON : REIN_LATER_DISCARD, &err) < 0)
		return rein_fail(&err, common.json);
	if (common.json)
		print_json(&t, &c, NULL, NULL);
	else if (left && !common.quiet)
		rein_say("discarded %s%s%s: what it did was not known.", rein_ui(stderr, REIN_BOLD), t.id, rein_ui_off(stderr));
	else if (gives_up && !common.quiet)
		rein_say("gave up %s%s%s: the tree stays as it is. What it took from there is in %s until rein gc removes it.",
			 rein_ui(stderr, REIN_BOLD), t.id, rein_ui_off(stderr), rein_ui_path(t.roots[0].store));
	else if (!common.quiet)
		done_line("discarded", &t, &c, NULL);
	rein_engine_alerts(&e, NULL, common.json ? NULL : stderr);
	return 0;
}

struct reverse_args {
	struct rein_strlist ours, theirs;
};

static void reverse_args_done(struct reverse_args *a)
{
	rein_strlist_done(&a->ours);
	rein_strlist_done(&a->theirs);
}

const struct rein_opt rein_reverse_opts[] = {
	{"ours", 0, REIN_OPT_LIST, offsetof(struct reverse_args, ours), "GLOB", "on conflict leave what is in the workspace", 0},
	{"theirs", 0, REIN_OPT_LIST, offsetof(struct reverse_args, theirs), "GLOB", "on conflict take the transaction's version; the other is kept for the way back", 0},
	{0},
};

static int reverse(const char *verb, unsigned wanted, int argc, char **argv, enum rein_later what)
{
	auto_(reverse_args_done) struct reverse_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	struct rein_err err = {0};
	char next[64];
	int first, status;

	rein_ui_outlive_readers();
	if (rein_verb_begin(verb, argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (rein_engine_find(&e, first < argc ? argv[first] : NULL, wanted, &t, &err) < 0 ||
	    rein_tx_changes(&t, &c, &err) < 0 || rein_patterns_meant(&t, &c, &a.ours, &err) < 0 ||
	    rein_patterns_meant(&t, &c, &a.theirs, &err) < 0)
		return rein_fail(&err, common.json);
	if ((t.state == (what == REIN_LATER_UNDO ? REIN_TX_COMMITTED : REIN_TX_UNDONE) &&
	     rein_resolve_reverse(&e, &t, &c, what == REIN_LATER_REDO, &a.ours, &a.theirs, &err) < 0) ||
	    rein_engine_later(&e, NULL, &t, &c, what, &err) < 0)
		return report_failure(&t, &c, NULL, false, &err, &common);
	if (common.json)
		print_json(&t, &c, NULL, NULL);
	snprintf(next, sizeof(next), "%s with: rein %s %s", t.state == REIN_TX_UNDONE ? "Redo" : "Undo",
		 t.state == REIN_TX_UNDONE ? "redo" : "undo", t.id);
	if (!common.json && !common.quiet)
		done_line(t.state == REIN_TX_UNDONE ? "undid" : "redid", &t, &c, next);
	rein_engine_alerts(&e, NULL, common.json ? NULL : stderr);
	return 0;
}

int rein_cli_undo(int argc, char **argv)
{
	return reverse("undo", 1u << REIN_TX_COMMITTED, argc, argv, REIN_LATER_UNDO);
}

int rein_cli_redo(int argc, char **argv)
{
	return reverse("redo", 1u << REIN_TX_UNDONE, argc, argv, REIN_LATER_REDO);
}
