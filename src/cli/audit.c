/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein audit: look at the record, prove it, hand it on, keep it in shape. One table of verbs, one
 * table of options; what each verb does is in audit_view.c, audit_prove.c, audit_export.c and
 * audit_keep.c.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"

#define ARG(m) offsetof(struct rein_audit, m)

static const struct option {
	const char *name;
	char letter;
	bool flag;
	size_t at;
} options[] = {
	{"agent", 'a', false, ARG(filter.agent)},
	{"session", 0, false, ARG(filter.session)},
	{"level", 'l', false, ARG(filter.level)},
	{"decision", 'd', false, ARG(filter.decision)},
	{"result", 0, false, ARG(filter.result)},
	{"type", 't', false, ARG(filter.type)},
	{"txn", 0, false, ARG(filter.txn)},
	{"action", 0, false, ARG(filter.action)},
	{"user", 'u', false, ARG(filter.user)},
	{"path", 'p', false, ARG(filter.path)},
	{"text", 'g', false, ARG(filter.text)},
	{"since", 's', false, ARG(since)},
	{"until", 0, false, ARG(until)},
	{"format", 0, false, ARG(format)},
	{"output", 'o', false, ARG(output)},
	{"anchor", 0, false, ARG(anchor)},
	{"key", 0, false, ARG(key)},
	{"archive", 0, false, ARG(archive)},
	{"reason", 0, false, ARG(reason)},
	{"keep-age", 0, false, ARG(keep_age)},
	{"keep-size", 0, false, ARG(keep_size)},
	{"count", 'n', false, ARG(count)},
	{"command", 0, false, ARG(command)},
	{"before", 0, false, ARG(before)},
	{"wait", 0, false, ARG(wait)},
	{"webhook", 0, false, ARG(webhook)},
	{"rule", 0, false, ARG(filter.rule)},
	{"json", 0, true, ARG(json)},
	{"follow", 'f', true, ARG(follow)},
	{"no-pager", 0, true, ARG(no_pager)},
	{"all", 0, true, ARG(all)},
	{"incremental", 'i', true, ARG(incremental)},
	{"dry-run", 0, true, ARG(dry_run)},
	{"list", 0, true, ARG(list)},
	{"syslog", 0, true, ARG(syslog)},
	{"test", 0, true, ARG(test)},
	{"events", 'e', true, ARG(events)},
	{"reverse", 'r', true, ARG(reverse)},
};

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

static const struct option *find_option(const char *name, size_t n, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (name ? strlen(options[i].name) == n && memcmp(options[i].name, name, n) == 0
			 : options[i].letter == letter)
			return &options[i];
	return NULL;
}

/* --name=value, --name value, -x value; everything after "--" and every other word is kept. */
static int parse(struct rein_audit *a, int argc, char **argv, bool command)
{
	bool only_words = false;

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value = NULL;
		const struct option *o;
		size_t n;

		if (only_words || w[0] != '-' || !w[1]) {
			a->rest[a->nrest++] = argv[i];
			only_words |= command; /* the rest is somebody else's command line */
			continue;
		}
		if (rein_streq(w, "--")) {
			only_words = true;
			continue;
		}
		n = w[1] == '-' ? strcspn(w + 2, "=") : 0;
		o = w[1] == '-' ? find_option(w + 2, n, 0)
		    : w[2]	? NULL
				: find_option(NULL, 0, w[1]);
		if (!o)
			return rein_audit_usage(a, "unknown option", w);
		if (n && w[2 + n] == '=')
			value = w + 3 + n;
		if (o->flag) {
			if (value)
				return rein_audit_usage(a, "this option takes no value:", w);
			*(bool *)((char *)a + o->at) = true;
			continue;
		}
		if (!value && i + 1 >= argc)
			return rein_audit_usage(a, "a value is missing after", w);
		*(const char **)((char *)a + o->at) = value ? value : argv[++i];
	}
	return 0;
}

static int times(struct rein_audit *a)
{
	uint64_t now = rein_now_ns();

	if (a->since && !rein_filter_time(a->since, now, &a->filter.since_ns))
		return rein_audit_usage(a, "cannot read the time", a->since);
	if (a->until && !rein_filter_time(a->until, now, &a->filter.until_ns))
		return rein_audit_usage(a, "cannot read the time", a->until);
	return 0;
}

char *rein_cli_state_dir(void)
{
	const char *s = getenv("REIN_STATE"), *x = getenv("XDG_STATE_HOME"), *h = getenv("HOME");

	if (s && *s)
		return rein_strdup(s);
	if (x && *x == '/')
		return rein_asprintf("%s/rein", x);
	return rein_asprintf("%s/.local/state/rein", h && *h == '/' ? h : "/root");
}
int rein_audit_open(struct rein_audit *a, struct rein_record **r)
{
	return rein_record_open(a->state, NULL, r, &a->err) < 0 ? rein_audit_fail(a) : 0;
}

static int audit_help(struct rein_audit *a);

static const struct {
	const char *name, *args, *help;
	int (*run)(struct rein_audit *a);
} verbs[] = {
	{"log", "[filters] [-n N] [-e] [-f]", "what happened, newest last; -e: every event, -f: goes on",
	 rein_audit_log},
	{"show", "ID", "the whole story of one action, event or transaction", rein_audit_show},
	{"similar", "COMMAND", "past operations like this one and how they ended",
	 rein_audit_similar},
	{"verify", "[--all] [-i] [--anchor F] [--key HEX] [--archive DIR] [PROOF]",
	 "is the record whole?", rein_audit_verify},
	{"prove", "ID|LINE, or OLD NEW", "a proof that fits a signed head, as JSON",
	 rein_audit_prove},
	{"export", "[filters] [--format F] [-o FILE] | --archive DIR",
	 "jsonl csv cef syslog ocsf; or a copy that verifies elsewhere", rein_audit_export},
	{"report", "[--since T] [--format html|md|json] [-o FILE]", "for people who ask",
	 rein_audit_report},
	{"prune", "--keep-age D | --keep-size S [--dry-run]", "remove old segments, provably",
	 rein_audit_prune},
	{"hold", "[--since T] [--until T] --reason TEXT | --list", "legal hold", rein_audit_hold},
	{"release", "HOLD --reason TEXT", "end a legal hold", rein_audit_release},
	{"anchor", "-o FILE | --command CMD | --webhook URL | --syslog", "keep the current head elsewhere",
	 rein_audit_anchor},
	{"alerts", "[--wait D] [--test] | --list", "look at what is new and call whoever the rules say", rein_audit_alerts},
	{"rotate-key", "", "a new signing key, vouched for by the old one", rein_audit_rotate_key},
	{"rebuild", "", "make the search index anew", rein_audit_rebuild},
	{"accept-loss", "--reason TEXT", "set a damaged record aside and begin anew",
	 rein_audit_accept_loss},
	{"help", "", "this", audit_help},
};

static int audit_help(struct rein_audit *a)
{
	(void)a;
	printf("rein audit VERB [options]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-12s %s\n%15s%s\n", verbs[i].name, verbs[i].help, "", verbs[i].args);
	printf("\nOptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		printf("  %c%c%c --%s%s\n", options[i].letter ? '-' : ' ',
		       options[i].letter ? options[i].letter : ' ', options[i].letter ? ',' : ' ',
		       options[i].name, options[i].flag ? "" : " VALUE");
	return 0;
}

int rein_cli_audit(int argc, char **argv)
{
	auto_free char *state = rein_cli_state_dir();
	auto_free char **rest = rein_calloc((size_t)argc + 1, sizeof(*rest));
	struct rein_audit a = {.state = state, .rest = rest};
	const char *verb = argc > 1 ? argv[1] : "help";
	int rc;

	if (!state || !rest)
		return rein_err_nomem(&a.err), rein_audit_fail(&a);
	if (rein_streq(verb, "--help") || rein_streq(verb, "-h"))
		verb = "help";
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!rein_streq(verbs[i].name, verb))
			continue;
		rc = argc > 2 ? parse(&a, argc - 2, argv + 2, verbs[i].run == rein_audit_similar)
			      : 0;
		if (rc == 0)
			rc = times(&a);
		return rc ? rc : verbs[i].run(&a);
	}
	return rein_audit_usage(&a, "unknown verb", verb);
}
