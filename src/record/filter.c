/* SPDX-License-Identifier: Apache-2.0 */
/* Filters over events, the plain way; the index narrows down before and this has the last word. */
#include "record/filter.h"

#include <strings.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/glob.h"
#include "record/event.h"

static bool same(const char *want, struct rein_str have)
{
	return !want || rein_str_eq(rein_str(want), have);
}

/*
 * Paths on the record are absolute, and a directory that came or went as a whole stands for what is in it. Whoever
 * asks names them as he sees them: from some directory on, and a directory with all that is in it.
 */
static bool path_match(const char *want, struct rein_str have)
{
	auto_free char *p = rein_strndup(have.p, have.n);
	auto_free char *any = rein_asprintf("%s%s", *want == '/' || !strchr(want, '/') ? "" : "**/", want);
	size_t n = any ? strlen(any) : 0;
	const char *path, *glob;

	if (!p || !any)
		return true; /* show rather than hide */
	path = *p == '/' ? p + 1 : p;
	glob = *any == '/' ? any + 1 : any;
	if (rein_path_within(p, want) || rein_glob_match(glob, path))
		return true;
	if (n < 4 || !rein_streq(any + n - 3, "/**"))
		return false;
	any[n - 3] = '\0';
	return rein_glob_match(glob, path);
}

static bool paths_match(const char *want, const struct rein_event *ev)
{
	for (size_t i = 0; i < ev->effects.npath; i++)
		if (path_match(want, ev->effects.path[i]))
			return true;
	return ev->cwd.n && path_match(want, ev->cwd);
}

static bool contains(struct rein_str hay, struct rein_str word)
{
	for (size_t i = 0; word.n <= hay.n && i <= hay.n - word.n; i++)
		if (strncasecmp(hay.p + i, word.p, word.n) == 0)
			return true;
	return false;
}

static bool has_word(const struct rein_event *ev, struct rein_str w)
{
	const struct rein_str in[] = {ev->command, ev->reason, ev->detail,
				      ev->rule,	   ev->excerpt, ev->cwd};

	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		if (contains(in[i], w))
			return true;
	for (size_t i = 0; i < ev->effects.npath; i++)
		if (contains(ev->effects.path[i], w))
			return true;
	for (size_t i = 0; i < ev->effects.npeer; i++)
		if (contains(ev->effects.peer[i], w))
			return true;
	return false;
}

static bool words_match(const char *text, const struct rein_event *ev)
{
	while (*text) {
		size_t skip = strspn(text, " \t\"*"), n = strcspn(text + skip, " \t\"*");

		if (n && !has_word(ev, (struct rein_str){text + skip, n}))
			return false;
		text += skip + n;
	}
	return true;
}

bool rein_filter_is_empty(const struct rein_filter *f)
{
	return !f->since_ns && !f->until_ns && !f->agent && !f->session && !f->level && !f->decision && !f->result &&
	       !f->type && !f->txn && !f->action && !f->user && !f->rule && !f->path && !f->text;
}

bool rein_filter_match(const struct rein_filter *f, const struct rein_event *ev)
{
	if ((f->since_ns && ev->time_ns < f->since_ns) || (f->until_ns && ev->time_ns >= f->until_ns))
		return false;
	if (f->type && !rein_streq(f->type, rein_event_type_name(ev->type)))
		return false;
	return same(f->agent, ev->agent) && same(f->session, ev->session) &&
	       same(f->level, ev->level) && same(f->decision, ev->decision) &&
	       same(f->result, ev->result) && same(f->txn, ev->txn) &&
	       same(f->action, ev->action) && same(f->user, ev->user) && same(f->rule, ev->rule) &&
	       (!f->path || paths_match(f->path, ev)) && (!f->text || words_match(f->text, ev));
}

bool rein_filter_time(const char *s, uint64_t now, uint64_t *ret)
{
	static const char rest[] = "0000-01-01T00:00:00.000000000Z";
	char full[REIN_EVENT_TIME_LEN + 1];
	const uint64_t day = 86400 * REIN_NS_PER_S;
	size_t n = strlen(s);
	uint64_t ago;

	if (rein_streq(s, "today") || rein_streq(s, "yesterday")) {
		*ret = now / day * day - (*s == 'y' ? day : 0);
		return true;
	}
	if (n >= 10 && s[4] == '-') {
		if (n && s[n - 1] == 'Z')
			n--;
		if (n >= REIN_EVENT_TIME_LEN)
			return false;
		memcpy(full, rest, sizeof(full));
		memcpy(full, s, n);
		if (full[10] == ' ')
			full[10] = 'T';
		return rein_event_time_parse((struct rein_str){full, REIN_EVENT_TIME_LEN}, ret);
	}
	if (!rein_parse_duration(s, &ago) || ago > now)
		return false;
	*ret = now - ago;
	return true;
}
