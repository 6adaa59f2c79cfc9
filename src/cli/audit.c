/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein audit: look at the record, prove it, hand it on, keep it in shape. One table of verbs, each
 * with its options; what each verb does is in audit_view.c, audit_prove.c, audit_export.c and
 * audit_keep.c.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "cli/audit.h"
#include "cli/fold.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "record/event.h"

#include <rein/classify.h>

#define AT(m)	      offsetof(struct rein_audit, m)
#define TEXT(m)	      REIN_OPT_STRING, AT(m)
#define FLAG(m)	      REIN_OPT_FLAG, AT(m), NULL
#define PREFIX	      "audit "
#define REASON	      {"reason", 0, TEXT(reason), "TEXT", "why; recorded", 0}
#define OUTPUT(what)  {"output", 'o', TEXT(output), "FILE", what, 0}
#define ARCHIVE(what) {"archive", 0, TEXT(archive), "DIR", what, 0}
#define LIST(what)    {"list", 0, FLAG(list), what, 0}

/* clang-format off */
#define TIMES \
	{"since", 's', TEXT(since), "TIME", "not before: 2h (ago), today, 2026-11-15T21:00", 0}, \
	{"until", 0, TEXT(until), "TIME", "not after", 0}

#define FILTERS \
	{"agent", 'a', TEXT(filter.agent), "NAME", "only this agent's", 0}, \
	{"session", 0, TEXT(filter.session), "ID", "only this session's", 0}, \
	{"user", 'u', TEXT(filter.user), "NAME", "only this user's", 0}, \
	{"level", 'l', TEXT(filter.level), "WORD", "safe, risky, dangerous or destructive", 0}, \
	{"decision", 'd', TEXT(filter.decision), "WORD", "deny, ask, hold or allow; of answers: approve, deny", 0}, \
	{"result", 0, TEXT(filter.result), "WORD", "what came of it: ok, failed, refused ...", 0}, \
	{"type", 't', TEXT(filter.type), "WORD", "the kind of event: request, decision, run.end ...", 0}, \
	{"rule", 0, TEXT(filter.rule), "ID", "decided by this rule", 0}, \
	{"txn", 0, TEXT(filter.txn), "ID", "of this transaction", 0}, \
	{"action", 0, TEXT(filter.action), "ID", "of this action", 0}, \
	{"path", 'p', TEXT(filter.path), "GLOB", "with effects on such a path", 0}, \
	{"text", 'g', TEXT(filter.text), "WORDS", "with these words in command, paths, reason or detail", 0}, \
	TIMES

static const struct rein_opt log_opts[] = {
	FILTERS,
	{"count", 'n', TEXT(count), "N", "at most so many", 0},
	{"before", 0, TEXT(before), "LINE", "only older ones", 0},
	{"reverse", 'r', FLAG(reverse), "newest first", 0},
	{"events", 'e', FLAG(events), "every event instead of every action", 0},
	{"follow", 'f', FLAG(follow), "go on as events come", 0},
	{0},
};

static const struct rein_opt verify_opts[] = {
	{"all", 0, FLAG(all), "every signature, and parse every event", 0},
	{"incremental", 'i', FLAG(incremental), "only what came since the last time", 0},
	{"anchor", 0, TEXT(anchor), "FILE", "heads kept elsewhere; each must fit", 0},
	{"key", 0, TEXT(key), "HEX", "the public key you know", 0},
	ARCHIVE("an archive instead of the record"),
	{0},
};

static const struct rein_opt export_opts[] = {
	FILTERS,
	{"format", 0, TEXT(format), "NAME", "jsonl (default), csv, cef, syslog, ocsf", 0},
	OUTPUT("write there"),
	ARCHIVE("make an archive that can be verified elsewhere"),
	{0},
};

static const struct rein_opt report_opts[] = {
	FILTERS,
	{"format", 0, TEXT(format), "NAME", "md (default), html, json", 0},
	OUTPUT("write there"),
	{0},
};

static const struct rein_opt prune_opts[] = {
	{"keep-age", 0, REIN_OPT_DURATION, AT(keep_ns), "DURATION", "keep what is younger", 0},
	{"keep-size", 0, REIN_OPT_SIZE, AT(keep_bytes), "SIZE", "keep so much", 0},
	{"dry-run", 0, FLAG(dry_run), "only say what would go", 0},
	{0},
};

static const struct rein_opt hold_opts[] = {
	TIMES,
	REASON,
	LIST("list the holds"),
	{0},
};

static const struct rein_opt reason_opts[] = {REASON, {0}};

static const struct rein_opt anchor_opts[] = {
	OUTPUT("add the head to a file"),
	{"command", 0, TEXT(command), "COMMAND", "give the head to a command", 0},
	{"webhook", 0, TEXT(webhook), "URL", "send the head there, signed", 0},
	{"syslog", 0, FLAG(syslog), "send the head to the system log", 0},
	{0},
};

static const struct rein_opt alerts_opts[] = {
	{"wait", 0, REIN_OPT_DURATION, AT(wait_ns), "DURATION", "keep trying so long", 0},
	{"test", 0, FLAG(test), "call everybody whom a rule could call, once", 0},
	LIST("list those that wait to be delivered"),
	{0},
};

static int audit_help(struct rein_audit *a);

static const struct audit_verb {
	struct rein_verb verb; /* its run is below */
	int (*run)(struct rein_audit *a);
} verbs[] = {
	{{PREFIX "log", "", "What happened, newest last", log_opts, NULL, false, 0, false}, rein_audit_log},
	{{PREFIX "show", "ID", "The whole story of one action, event or transaction", NULL, NULL, false, -1, false}, rein_audit_show},
	{{PREFIX "similar", "COMMAND", "Past operations like this one and how they ended", NULL, NULL, true, -1, false}, rein_audit_similar},
	{{PREFIX "verify", "[PROOF]", "Is the record whole?", verify_opts, NULL, false, -1, false}, rein_audit_verify},
	{{PREFIX "prove", "ID|LINE, or OLD NEW", "A proof that fits a signed head, as JSON", NULL, NULL, false, -1, false}, rein_audit_prove},
	{{PREFIX "export", "", "Events for other programs, or a copy that verifies elsewhere", export_opts, NULL, false, 0, false}, rein_audit_export},
	{{PREFIX "report", "", "What the agents did, for people who ask", report_opts, NULL, false, 0, false}, rein_audit_report},
	{{PREFIX "prune", "", "Remove old segments, provably", prune_opts, NULL, false, 0, false}, rein_audit_prune},
	{{PREFIX "hold", "", "Begin a legal hold, or list them", hold_opts, NULL, false, 0, false}, rein_audit_hold},
	{{PREFIX "release", "HOLD", "End a legal hold", reason_opts, NULL, false, -1, false}, rein_audit_release},
	{{PREFIX "anchor", "", "Keep the current head elsewhere", anchor_opts, NULL, false, 0, false}, rein_audit_anchor},
	{{PREFIX "alerts", "", "Look at what is new and call whoever the rules say", alerts_opts, NULL, false, 0, false}, rein_audit_alerts},
	{{PREFIX "rotate-key", "", "A new signing key, vouched for by the old one", NULL, NULL, false, 0, false}, rein_audit_rotate_key},
	{{PREFIX "rebuild", "", "Make the search index anew", NULL, NULL, false, 0, false}, rein_audit_rebuild},
	{{PREFIX "accept-loss", "", "Set a damaged record aside and begin anew", reason_opts, NULL, false, 0, false}, rein_audit_accept_loss},
	{{PREFIX "help", "[VERB]", "Show this help, or that of a verb", NULL, NULL, false, 1, false}, audit_help},
};
/* clang-format on */

static const char *short_name(const struct audit_verb *v)
{
	return v->verb.name + strlen(PREFIX);
}

const struct rein_verb *rein_audit_verb(size_t i, const char **ret_name)
{
	if (i >= ARRAY_SIZE(verbs))
		return NULL;
	*ret_name = short_name(&verbs[i]);
	return &verbs[i].verb;
}

static const struct audit_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (rein_streq(short_name(&verbs[i]), name))
			return &verbs[i];
	return NULL;
}

int rein_audit_fail(struct rein_audit *a)
{
	return rein_fail(&a->err, a->json);
}

int rein_audit_usage(struct rein_audit *a, const char *what, const char *arg)
{
	rein_err_set(&a->err, REIN_E_USAGE, "audit: %s%s%s. See: rein audit help", what,
		     arg ? " " : "", arg ? arg : "");
	return rein_audit_fail(a);
}

int rein_audit_done(const struct rein_audit *a, const char *verb)
{
	if (a->json)
		printf("{\"done\":\"%s\"}\n", verb);
	return 0;
}

void rein_audit_note(const struct rein_audit *a, const char *text)
{
	if (!a->json && !a->quiet)
		rein_say("%s", text);
}

/* Of a word that no event can have nothing would be found, which reads as if nothing had happened. */
static int check_words(struct rein_audit *a)
{
	static const char *const decisions[] = {"deny", "ask", "hold", "allow", "approve"};
	const struct rein_filter *f = &a->filter;
	bool level = !f->level, decision = !f->decision;

	for (int i = REIN_LEVEL_SAFE; f->level && i <= REIN_LEVEL_DESTRUCTIVE; i++)
		level |= rein_streq(f->level, rein_level_name(i));
	for (size_t i = 0; f->decision && i < ARRAY_SIZE(decisions); i++)
		decision |= rein_streq(f->decision, decisions[i]);
	if (!level)
		return rein_audit_usage(a, "--level is safe, risky, dangerous or destructive, not", f->level);
	if (!decision)
		return rein_audit_usage(a, "--decision is deny, ask, hold, allow or approve, not", f->decision);
	if (f->type && rein_event_type_of(rein_str(f->type)) == REIN_EV_NONE)
		return rein_audit_usage(a, "there are no events of the type", f->type);
	return 0;
}

static int times(struct rein_audit *a)
{
	uint64_t now = rein_now_ns();

	if (a->since && !rein_filter_time(a->since, now, &a->filter.since_ns))
		return rein_audit_usage(a, "cannot read the time", a->since);
	if (a->until && !rein_filter_time(a->until, now, &a->filter.until_ns))
		return rein_audit_usage(a, "cannot read the time", a->until);
	if (a->until && !a->filter.until_ns) /* 0 stands for no end */
		a->filter.until_ns = 1;
	return 0;
}

int rein_audit_open(struct rein_audit *a, struct rein_record **r)
{
	return rein_record_open(a->state, NULL, r, &a->err) < 0 ? rein_audit_fail(a) : 0;
}

static int audit_help(struct rein_audit *a)
{
	const struct audit_verb *v = a->nrest ? find_verb(a->rest[0]) : NULL;

	if (a->nrest && !v)
		return rein_audit_usage(a, "unknown verb", a->rest[0]);
	if (v) {
		rein_opts_help(&v->verb);
		return 0;
	}
	printf("Usage: rein audit VERB [options]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		rein_fold_row(stdout, rein_fold_width(stdout), 15, short_name(&verbs[i]), verbs[i].verb.summary);
	printf("\nMore: rein audit VERB --help, man rein\n");
	return 0;
}

static int run(const struct audit_verb *v, struct rein_audit *a, int argc, char **argv)
{
	struct rein_common common = {0};
	int first, status, rc;

	if (rein_verb_parse(&v->verb, argc, argv, a, &common, &first, &status))
		return status;
	a->json = common.json;
	a->quiet = common.quiet;
	a->no_pager = common.no_pager;
	a->rest = argv + first;
	a->nrest = argc - first;
	rc = check_words(a);
	return rc || (rc = times(a)) ? rc : v->run(a);
}

int rein_cli_audit(int argc, char **argv)
{
	auto_free char *state = NULL;
	struct rein_audit a = {.json = rein_wants_json(argc, argv)};
	const char *name = argc > 1 ? argv[1] : "help";
	const struct audit_verb *v;

	if (rein_streq(name, "--help") || rein_streq(name, "-h"))
		name = "help";
	v = find_verb(name);
	if (!v)
		return rein_audit_usage(&a, "unknown verb", name);
	if (v->run != audit_help && rein_state_path(&state, &a.err) < 0)
		return rein_audit_fail(&a);
	a.state = state;
	return argc > 1 ? run(v, &a, argc - 1, argv + 1) : v->run(&a);
}
