/* SPDX-License-Identifier: Apache-2.0 */
/* See outcome.h. */
#include "cli/outcome.h"

#include <sys/stat.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/judgement.h"
#include "cli/network.h"
#include "cli/ui.h"
#include "cli/verbs.h"

const char *rein_outcome_end(const struct rein_run *r)
{
	static char text[400];

	switch (r->result.end) {
	case REIN_BOX_TIMEOUT:
		return "timed out";
	case REIN_BOX_IDLE_TIMEOUT:
		return "idle for too long";
	case REIN_BOX_CANCELLED:
		return "cancelled";
	case REIN_BOX_LOST:
		return "the box was lost";
	case REIN_BOX_STOPPED:
		if (r->result.restless && !*r->order.who) /* nobody's order: rein was stopped at its terminal */
			return "it did not stand still while rein was stopped";
		snprintf(text, sizeof(text), "%s by %s%s%s", r->result.restless ? "it did not stand still, paused" : "stopped",
			 r->order.who, *r->order.why ? ": " : "", r->order.why);
		return text;
	case REIN_BOX_LIMIT:
		rein_limit_hit_text(&r->result.hit, text, sizeof(text));
		return text;
	case REIN_BOX_SIGNALED:
		snprintf(text, sizeof(text), "killed by signal %d", r->result.status - 128);
		return text;
	case REIN_BOX_EXITED:
		break;
	}
	snprintf(text, sizeof(text), "exit %d", r->result.status);
	return text;
}

static void json_notes(struct rein_json *j, const struct rein_view *v)
{
	rein_json_key(j, "notes");
	rein_json_open(j, '[');
	for (size_t i = 0; i < v->nnotes; i++)
		if (v->notes[i].always)
			rein_json_str(j, rein_str(v->notes[i].text));
	rein_json_close(j, ']');
}

void rein_outcome_json(const struct rein_run *r, const struct rein_run_opts *o, const char *decision,
		       const char *rest, const struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	struct rein_json j = {.b = &b};
	const bool refused = err && rein_streq(decision, "refuse");

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "decision", decision);
	rein_json_ki64(&j, "exit", refused ? rein_code_exit(err->code) : r->result.status);
	rein_json_kstr(&j, "end", refused ? "did not run" : rein_outcome_end(r));
	rein_json_ku64(&j, "wall_ms", r->result.wall_ns / 1000000);
	rein_json_ku64(&j, "cpu_ms", r->result.cpu_ns / 1000000);
	rein_json_ku64(&j, "max_rss_kib", r->result.max_rss_kib);
	rein_json_limits(&j, &r->result);
	rein_net_json(&j, &r->result.net, r->net);
	rein_json_execs(&j, &r->result.execs);
	rein_json_refused(&j, &r->result.refused, o->watch_files);
	rein_json_kbool(&j, "reads", r->reads);
	rein_json_kbool(&j, "warm", r->was_warm);
	rein_json_violations(&j, r);
	rein_json_path(&j, "workspace", r->view.workspace ? r->view.workspace : "");
	json_notes(&j, &r->view);
	rein_json_judgement(&j, &r->judged);
	rein_json_key(&j, "transaction");
	if (r->has_tx) {
		rein_json_open(&j, '{');
		rein_json_tx(&j, &r->tx);
		if (rest && *rest)
			rein_json_kstr(&j, "rest", rest);
		rein_json_key(&j, "changes");
		rein_json_changes(&j, &r->tx, &r->changes);
		rein_json_close(&j, '}');
	} else {
		rein_json_null(&j);
	}
	rein_json_error(&j, err);
	rein_json_close(&j, '}');
	rein_buf_char(&b, '\n');
	/* stdout belongs to the command */
	if (!b.failed)
		fwrite(b.p, 1, b.n, stderr);
}

/* What every box has for itself, and may write to. */
static bool is_private(const char *path)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/var/run"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (rein_path_within(path, places[i]))
			return true;
	return false;
}

/* A place that its words say it writes to, and that is not the box's to write. */
static const char *out_of_reach(const struct rein_run *r)
{
	const struct rein_verdict *v = r->judged.verdict;

	for (size_t i = 0; v && i < v->n_facts; i++) {
		const struct rein_fact *f = &v->facts[i];
		bool ours = f->kind != REIN_FACT_WRITE && f->kind != REIN_FACT_DELETE && f->kind != REIN_FACT_PERSIST;

		if (ours || !f->target || f->target[0] != '/' || is_private(f->target))
			continue;
		for (size_t c = 0; c < r->view.ncow && !ours; c++)
			ours = rein_path_within(f->target, r->view.cow[c].path);
		for (size_t p = 0; p < r->view.npaths && !ours; p++)
			ours = r->view.paths[p].access == REIN_PATH_SCRATCH &&
			       rein_path_within(f->target, r->view.paths[p].path);
		if (!ours)
			return f->target;
	}
	return NULL;
}

void rein_outcome_ways(const struct rein_run *r)
{
	const bool ours = !*r->judged.missing; /* to commit */

	rein_more("look: rein diff %s     %s%s%sdrop: rein discard %s", r->tx.id, ours ? "keep: rein commit " : "",
		  ours ? r->tx.id : "", ours ? "     " : "", r->tx.id);
}

void rein_outcome_report(const struct rein_run *r, const struct rein_run_opts *o, enum rein_fate d,
			 const char *rest, bool verbose)
{
	auto_buf struct rein_buf sum = REIN_BUF(4096);

	rein_ui_summary(&sum, &r->sum);
	if (r->tx.unfinished)
		rein_say("the state directory cannot be written: the next command completes the record");
	if (!r->has_tx) {
		rein_say("%s in %s (%s), no changes", rein_outcome_end(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged));
		if (r->result.end == REIN_BOX_LIMIT)
			rein_print_hit(&r->result);
	} else if (d == REIN_FATE_COMMIT) {
		rein_say("%s in %s (%s), %s. Committed %s%s%s, undo with: rein undo %s", rein_outcome_end(r),
			 rein_ui_seconds(r->result.wall_ns), rein_judgement_words(&r->judged), sum.p,
			 rein_ui(stderr, REIN_BOLD), r->tx.id, rein_ui_off(stderr), r->tx.id);
		rein_print_parted(&r->tx, &r->changes);
	} else if (d == REIN_FATE_DISCARD) {
		rein_say("%s in %s (%s), %s: %s", rein_outcome_end(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged), sum.p,
			 rein_fate_is_forced(r) || rein_fate_is_thrown_away(&r->judged)
				 ? "rolled back, nothing was changed"
				 : "discarded");
		if (rein_fate_is_thrown_away(&r->judged)) {
			rein_more("%s", r->judged.after.reason);
			rein_print_decision(&r->judged.after);
		}
		if (r->result.end == REIN_BOX_LIMIT)
			rein_print_hit(&r->result);
	} else {
		const struct rein_decision *no = rein_fate_objection(&r->judged);

		rein_say("%s in %s (%s). Held %s%s%s: %s", rein_outcome_end(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged), rein_ui(stderr, REIN_BOLD), r->tx.id,
			 rein_ui_off(stderr), sum.p);
		if (no) {
			rein_more("why: %s", no->reason);
			rein_print_decision(no);
		}
		if (*r->judged.missing)
			rein_more("%s", r->judged.missing);
		rein_outcome_ways(r);
	}
	if (*rest)
		rein_more("the rest is held as %s", rest);
	rein_print_refused(stderr, &r->result.refused, 6);
	if (r->result.status && out_of_reach(r))
		rein_more("%s is outside the workspace, where a box only reads: --rw PATH makes a tree part of it",
			  rein_ui_path(out_of_reach(r)));
	rein_net_print(&r->result.net, o, verbose);
}

void rein_outcome_notes(const struct rein_run *r, const struct rein_common *common,
			const struct rein_run_opts *o)
{
	struct stat st;

	for (size_t i = 0; i < r->view.nnotes; i++)
		if (common->verbose || r->view.notes[i].always)
			rein_say("%s", r->view.notes[i].text);
	/* what the command was told is "Value too large for defined data type" */
	if (r->foreign && (common->verbose || r->result.status))
		rein_say("%s director%s here belong%s to another user or group: without root, files in them "
			 "cannot be changed (chown or chgrp them to you, or run rein as root; "
			 "with a group that you are in as well: sg GROUP 'rein run ...')",
			 rein_ui_count(r->foreign), r->foreign == 1 ? "y" : "ies",
			 r->foreign == 1 ? "s" : "");
	if (geteuid() == 0 && !o->caps && (common->verbose || r->result.status) && stat(r->view.workspace, &st) == 0 &&
	    st.st_uid != 0)
		rein_say("the workspace belongs to uid %u: root without capabilities cannot write there; run rein "
			 "as that user, or give file capabilities: --cap-add files",
			 (unsigned)st.st_uid);
	if (r->safe_mode)
		rein_say("safe mode is on: nothing could be changed (a person lifts it: rein safe --lift%s%s)",
			 r->safe_agent ? " --agent " : "", r->safe_agent ? rein_ui_path(r->safe_agent) : "");
	if (!common->verbose)
		return;
	rein_print_kept(&r->result);
	if (r->reads)
		rein_say("it only reads: the workspace was read-only (--writable makes it copy-on-write)");
	if (r->was_warm)
		rein_say("warm: with the overlay of an earlier run");
	rein_say("workspace %s, network %s", rein_ui_path(r->view.workspace),
		 rein_net_mode_text(r->net));
	for (size_t i = 0; i < r->env.dropped.n; i++)
		rein_say("variable %s was not passed (--env %s passes it)",
			 rein_ui_path(r->env.dropped.v[i]), rein_ui_path(r->env.dropped.v[i]));
}
