/* SPDX-License-Identifier: Apache-2.0 */
/* Events of an action, filled in from what the stages know. */
#include "engine/trail.h"

#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rein/classify.h>
#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "policy/policy.h"
#include "record/alert.h"
#include "record/event.h"
#include "record/sha256.h"

#define COMMAND_MAX ((size_t)1 << 20)
#define WORD_MAX    120 /* an order to an agent has it in hexadecimal in the name of a file */

static struct rein_str view(const char *s)
{
	return s ? (struct rein_str){s, strlen(s)} : (struct rein_str){0};
}

int rein_who_check(const struct rein_who *who, struct rein_err *err)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/@+#";
	const struct {
		const char *name, *text;
	} words[] = {{"agent", who->agent}, {"session", who->session}, {"task", who->task}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *s = words[i].text;

		if (s && (!*s || s[strspn(s, ok)] || strlen(s) > WORD_MAX))
			return rein_err_set(err, REIN_E_USAGE, "--%s: 1 to %d letters, digits and ._-:/@+#", words[i].name,
					    WORD_MAX);
	}
	return 0;
}

int rein_trail_open(struct rein_trail *t, const char *state_dir, const struct rein_who *who,
		    const char *action, struct rein_err *err)
{
	uint32_t random = 0;

	*t = (struct rein_trail){.who = who ? *who : (struct rein_who){0}};
	if (rein_record_open(state_dir, NULL, &t->record, err) < 0)
		return rein_err_prefix(err, "no record, no action");
	if (action && *action) {
		snprintf(t->action, sizeof(t->action), "%s", action);
		return 0;
	}
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return rein_err_errno(err, "getrandom");
	rein_event_id(rein_now_ns(), random, t->action);
	return 0;
}

void rein_trail_done(struct rein_trail *t)
{
	rein_record_close(t->record);
	rein_free(t->command);
	rein_free(t->cwd);
	*t = (struct rein_trail){0};
}

int rein_trail_sync(struct rein_trail *t, struct rein_err *err)
{
	if (rein_record_sync(t->record, err) < 0)
		return rein_err_prefix(err, "no record, no action");
	return 0;
}

static struct rein_event event(const struct rein_trail *t, enum rein_event_type type)
{
	return (struct rein_event){
		.type = type,
		.action = view(t->action),
		.prev = view(t->prev),
		.agent = view(t->who.agent),
		.session = view(t->who.session),
		.task = view(t->who.task),
		.level = view(t->level ? rein_level_name((int)t->level) : NULL),
		.reach = view(t->reach ? rein_reach_name((int)t->reach) : NULL),
	};
}

static int append(struct rein_trail *t, const struct rein_event *ev, struct rein_err *err)
{
	if (rein_record_append(t->record, ev, false, err) < 0)
		return rein_err_prefix(err, "no record, no action");
	snprintf(t->prev, sizeof(t->prev), "%s", rein_record_last_id(t->record));
	t->alerting |= rein_alerts_concern(t->alert, t->nalert, ev);
	return 0;
}

static bool is_plain(const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%^";

	return *s && !s[strspn(s, safe)];
}

char *rein_trail_words(char *const *argv, size_t argc)
{
	struct rein_buf b = REIN_BUF(COMMAND_MAX);

	for (size_t i = 0; i < argc && !b.failed; i++) {
		if (i)
			rein_buf_char(&b, ' ');
		if (is_plain(argv[i])) {
			rein_buf_cstr(&b, argv[i]);
			continue;
		}
		rein_buf_char(&b, '\'');
		for (const char *p = argv[i]; *p; p++)
			if (*p == '\'')
				rein_buf_cstr(&b, "'\\''");
			else
				rein_buf_char(&b, *p);
		rein_buf_char(&b, '\'');
	}
	if (b.failed) { /* the record cuts long texts; this one is longer than any it keeps */
		b.failed = false;
		rein_buf_clear(&b);
		rein_buf_cstr(&b, argc ? argv[0] : "");
		rein_buf_cstr(&b, " [more than 1 MiB of arguments]");
	}
	return rein_buf_take(&b);
}

/* Of the words as they are, and of where they run: the same text elsewhere is another action. */
static void digest(const struct rein_action *a, char hex[65])
{
	struct rein_sha256 h;
	uint8_t out[32];

	rein_sha256_init(&h);
	rein_sha256_add(&h, a->cwd ? a->cwd : "", a->cwd ? strlen(a->cwd) + 1 : 1);
	for (size_t i = 0; i < a->argc; i++)
		rein_sha256_add(&h, a->argv[i], strlen(a->argv[i]) + 1);
	if (a->text)
		rein_sha256_add(&h, a->text, a->text_n);
	rein_sha256_end(&h, out);
	for (size_t i = 0; i < sizeof(out); i++)
		snprintf(hex + 2 * i, 3, "%02x", out[i]);
}

int rein_trail_asked(struct rein_trail *t, const struct rein_action *a, const struct rein_decision *d,
		     struct rein_err *err)
{
	struct rein_event ev;

	rein_free(t->command);
	rein_free(t->cwd);
	t->command = a->text ? rein_strndup(a->text, a->text_n)
			     : rein_trail_words((char *const *)(uintptr_t)a->argv, a->argc);
	t->cwd = rein_strdup(a->cwd ? a->cwd : "");
	if (!t->command || !t->cwd)
		return rein_err_nomem(err);
	digest(a, t->digest);
	ev = event(t, REIN_EV_REQUEST);
	ev.kind = view("command");
	ev.command = view(t->command);
	ev.cwd = view(t->cwd);
	ev.digest = view(t->digest);
	if (append(t, &ev, err) < 0)
		return -err->code;
	t->level = d->level;
	t->reach = d->reach;
	ev = event(t, REIN_EV_DECISION);
	ev.kind = view("command");
	ev.command = view(t->command);
	ev.decision = view(rein_decide_name((int)d->decide));
	ev.rule = view(d->rule);
	ev.reason = view(d->reason);
	if (d->advisory)
		ev.extra[ev.nextra++] = (struct rein_event_pair){view("advisory"), view("yes")};
	if (d->would) {
		ev.extra[ev.nextra++] =
			(struct rein_event_pair){view("would"), view(rein_decide_name((int)d->would_decide))};
		ev.extra[ev.nextra++] = (struct rein_event_pair){view("would_rule"), view(d->would_rule)};
	}
	return append(t, &ev, err);
}

int rein_trail_answered(struct rein_trail *t, bool yes, const char *of, struct rein_err *err)
{
	struct rein_event ev = event(t, REIN_EV_APPROVAL);
	char who[32];

	snprintf(who, sizeof(who), "uid %u", (unsigned)getuid());
	ev.decision = view(yes ? "approve" : "deny");
	ev.approver[ev.napprover++] = view(who);
	ev.detail = view(of);
	return append(t, &ev, err);
}

int rein_trail_start(struct rein_trail *t, const struct rein_tx *tx, struct rein_err *err)
{
	struct rein_event ev = event(t, REIN_EV_RUN_START);

	ev.txn = view(tx->id);
	ev.command = view(t->command);
	ev.cwd = view(t->cwd);
	return append(t, &ev, err);
}

static const char *result_word(const struct rein_box_result *r)
{
	static const char *const words[] = {
		[REIN_BOX_LOST] = "failed",	     [REIN_BOX_EXITED] = "failed",
		[REIN_BOX_SIGNALED] = "killed",	     [REIN_BOX_TIMEOUT] = "timed_out",
		[REIN_BOX_IDLE_TIMEOUT] = "timed_out", [REIN_BOX_CANCELLED] = "killed",
		[REIN_BOX_LIMIT] = "killed",
		[REIN_BOX_STOPPED] = "killed",
	};

	if (r->end == REIN_BOX_EXITED && r->status == 0)
		return "ok";
	return (size_t)r->end < ARRAY_SIZE(words) ? words[r->end] : "failed";
}

/* Each host that was reached and each that was refused is an event of its own: rules and alerts name them. */
static int note_network(struct rein_trail *t, const struct rein_tx *tx, const struct rein_net_report *n,
			struct rein_err *err)
{
	char peer[REIN_NET_NAME + 16], detail[REIN_NET_NAME + 160];

	for (size_t i = 0; i < n->nhosts; i++) {
		struct rein_event ev = event(t, REIN_EV_NETWORK);

		snprintf(peer, sizeof(peer), "%s:%u", n->hosts[i].name, n->hosts[i].port);
		ev.txn = view(tx->id);
		ev.result = view("ok");
		ev.effects.peer[ev.effects.npeer++] = view(peer);
		ev.used.net_in = n->hosts[i].received;
		ev.used.net_out = n->hosts[i].sent;
		if (n->hosts[i].secrets) {
			snprintf(detail, sizeof(detail), "a credential was put into %u requests", n->hosts[i].secrets);
			ev.detail = view(detail);
		}
		if (append(t, &ev, err) < 0)
			return -err->code;
	}
	for (size_t i = 0; i < n->nrefusals; i++) {
		const struct rein_net_refusal *x = &n->refusals[i];
		struct rein_event ev = event(t, REIN_EV_NETWORK);

		if (x->port)
			snprintf(peer, sizeof(peer), "%s:%u", x->name, x->port);
		else
			snprintf(peer, sizeof(peer), "%s", x->name);
		snprintf(detail, sizeof(detail), "%s%s%s, %u times", rein_net_why_text(x->why), *x->detail ? ": " : "",
			 x->detail, x->count);
		ev.txn = view(tx->id);
		ev.result = view("refused");
		ev.rule = view(rein_net_why_name(x->why));
		ev.detail = view(detail);
		ev.effects.peer[ev.effects.npeer++] = view(peer);
		if (append(t, &ev, err) < 0)
			return -err->code;
	}
	return 0;
}

/* By name as far as an event goes: first what was to be written, then what was to be read. */
static int note_refused(struct rein_trail *t, const struct rein_tx *tx, const struct rein_refused *r,
			struct rein_err *err)
{
	for (int write = 1; write >= 0; write--) {
		struct rein_event ev = event(t, REIN_EV_EFFECTS);

		ev.txn = view(tx->id);
		ev.kind = view("file");
		ev.result = view("refused");
		ev.detail = view(write ? "writes" : "reads of hidden files");
		for (size_t i = 0; i < r->n; i++) {
			if (r->v[i].write != (write == 1))
				continue;
			ev.effects.paths_total++;
			if (ev.effects.npath < REIN_EVENT_LIST)
				ev.effects.path[ev.effects.npath++] = view(r->v[i].path);
		}
		if (ev.effects.npath && append(t, &ev, err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_trail_end(struct rein_trail *t, const struct rein_tx *tx, const struct rein_box_result *r,
		   struct rein_err *err)
{
	struct rein_event ev = event(t, REIN_EV_RUN_END);
	char hit[128] = "";

	ev.txn = view(tx->id);
	ev.result = view(result_word(r));
	ev.status = r->status;
	ev.has_status = true;
	ev.duration_ns = r->wall_ns;
	ev.used.wall_ns = r->wall_ns;
	ev.used.cpu_ns = r->cpu_ns;
	ev.used.max_rss_kib = r->max_rss_kib;
	ev.used.written = r->usage.written_bytes;
	ev.used.net_in = r->net.received;
	ev.used.net_out = r->net.sent;
	if (append(t, &ev, err) < 0 || note_network(t, tx, &r->net, err) < 0 ||
	    note_refused(t, tx, &r->refused, err) < 0)
		return -err->code;
	if (r->end == REIN_BOX_TIMEOUT || r->end == REIN_BOX_IDLE_TIMEOUT)
		snprintf(hit, sizeof(hit), "%s limit", r->end == REIN_BOX_TIMEOUT ? "run time" : "idle time");
	else if (r->end == REIN_BOX_LIMIT)
		rein_limit_hit_text(&r->hit, hit, sizeof(hit));
	else
		return 0;
	ev = event(t, REIN_EV_LIMIT);
	ev.txn = view(tx->id);
	ev.detail = view(hit);
	return append(t, &ev, err);
}

int rein_trail_failed(struct rein_trail *t, const struct rein_tx *tx, const struct rein_err *why,
		      struct rein_err *err)
{
	struct rein_event ev = event(t, REIN_EV_RUN_END);

	ev.txn = view(tx->id);
	ev.result = view("failed");
	ev.status = rein_code_exit(why->code);
	ev.has_status = true;
	ev.detail = view(why->msg);
	return append(t, &ev, err);
}

/* Counts, and the first paths by name. false: out of memory. */
static bool put_changes(struct rein_event *ev, const struct rein_tx *tx, const struct rein_changes *c,
			char *names[REIN_EVENT_LIST])
{
	struct rein_summary sum;

	rein_changes_sum(c, &sum);
	ev->effects.created = sum.created;
	ev->effects.modified = sum.modified + sum.meta;
	ev->effects.deleted = sum.deleted;
	ev->effects.renamed = sum.renamed;
	ev->effects.bytes = sum.bytes_new;
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (x->skipped || x->renamed_away || !x->top)
			continue;
		if (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) && !(x->what & ~REIN_WHAT_TIMES))
			continue; /* the trace of another change: counted nowhere, named nowhere */
		ev->effects.paths_total++;
		if (ev->effects.npath == REIN_EVENT_LIST)
			continue;
		names[ev->effects.npath] =
			rein_path_join(x->root < tx->nroots ? tx->roots[x->root].real : "", x->path);
		if (!names[ev->effects.npath])
			return false;
		ev->effects.path[ev->effects.npath] = view(names[ev->effects.npath]);
		ev->effects.npath++;
	}
	return true;
}

static int append_changes(struct rein_trail *t, struct rein_event *ev, const struct rein_tx *tx,
			  const struct rein_changes *c, struct rein_err *err)
{
	char *names[REIN_EVENT_LIST] = {0};
	int rc = 0;

	ev->txn = view(tx->id);
	if (c && !put_changes(ev, tx, c, names))
		rc = rein_err_nomem(err);
	if (rc == 0)
		rc = append(t, ev, err);
	for (size_t i = 0; i < REIN_EVENT_LIST; i++)
		rein_free(names[i]);
	return rc;
}

int rein_trail_effects(struct rein_trail *t, const struct rein_tx *tx, const struct rein_changes *c,
		       const struct rein_decision *d, struct rein_err *err)
{
	struct rein_event ev = event(t, REIN_EV_EFFECTS);

	if (d) {
		ev.decision = view(rein_decide_name((int)d->decide));
		ev.rule = view(d->rule);
		ev.reason = view(d->reason);
	}
	return append_changes(t, &ev, tx, c, err);
}

int rein_trail_decided(struct rein_trail *t, enum rein_event_type type, const struct rein_tx *tx,
		       const struct rein_changes *c, const char *result, const char *detail,
		       struct rein_err *err)
{
	struct rein_event ev = event(t, type);

	ev.result = view(result);
	ev.detail = view(detail);
	return append_changes(t, &ev, tx, c, err);
}

int rein_trail_act(struct rein_trail *t, enum rein_event_type type, const char *result,
		   const char *detail, struct rein_err *err)
{
	struct rein_event ev = event(t, type);

	ev.result = view(result);
	ev.detail = view(detail);
	return append(t, &ev, err) < 0 ? -err->code : rein_trail_sync(t, err);
}
