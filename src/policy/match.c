/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does it match? yes, no, or: it depends on what is only known at run time. Paths are compared as
 * names; where links lead is the sandbox's business.
 */
#include <ctype.h>

#include "base/glob.h"
#include "model/call.h"
#include "policy/internal.h"

#define SPECIALS "\001\002\003"

bool is_pattern(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

uint64_t name_bit(struct rein_str name)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 1099511628211ull;
	return 1ull << ((h >> 58) & 63);
}

bool match_cmp(const struct cmp *c, uint64_t n)
{
	switch (c->op) {
	case CMP_LT:
		return n < c->n;
	case CMP_LE:
		return n <= c->n;
	case CMP_EQ:
		return n == c->n;
	case CMP_NE:
		return n != c->n;
	case CMP_GE:
		return n >= c->n;
	case CMP_GT:
		return n > c->n;
	case CMP_NONE:
		break;
	}
	return true;
}

bool match_name(const struct strs *patterns, const char *name)
{
	if (!patterns->n)
		return true;
	for (size_t i = 0; name && i < patterns->n; i++)
		if (rein_streq(patterns->v[i], name) || rein_glob_name(patterns->v[i], name))
			return true;
	return false;
}

static size_t find_special(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= '\001' && s.p[i] <= '\003')
			return i;
	return s.n;
}

/* Nothing of where it starts is known; to call that a match of every rule would stop everything. */
static bool rootless(struct rein_str path)
{
	return find_special(path) <= 1;
}

/* Could a text with unknown stretches be one the pattern matches? Compare what both are sure of. */
static bool compatible(const char *pattern, struct rein_str s)
{
	size_t head = strcspn(pattern, "*?[\\"), n = strlen(pattern), tail, left;
	size_t known = find_special(s.n > WORD_LONG ? (struct rein_str){s.p, WORD_LONG} : s);

	if (!n)
		return known == 0;
	if (memcmp(pattern, s.p, head < known ? head : known) != 0)
		return false;
	if (head == n && known > head)
		return false;
	for (tail = 0; tail < n && !strchr("*?[]\\", pattern[n - 1 - tail]); tail++)
		;
	for (left = 0; left < s.n && left < n && (s.p[s.n - 1 - left] < '\001' || s.p[s.n - 1 - left] > '\003'); left++)
		;
	if (left < tail)
		tail = left;
	return memcmp(pattern + n - tail, s.p + s.n - tail, tail) == 0;
}

static bool glob_word(const char *pattern, struct rein_str word)
{
	char text[WORD_LONG + 1];

	if (!is_pattern(pattern))
		return rein_str_eq(rein_str(pattern), word);
	if (word.n >= sizeof(text))
		return false;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	/* words are not paths: a star also passes over a slash */
	for (size_t i = 0; i < word.n; i++)
		if (text[i] == '/')
			text[i] = '\004';
	return rein_glob_name(pattern, text);
}

/*
 * A word longer than any path is not looked at to its end for every rule: what a pattern could still match in
 * it is "perhaps", never "no".
 */
enum match match_word(const struct strs *patterns, struct rein_str word)
{
	bool is_long = word.n > WORD_LONG, maybe = false;
	bool unsure = find_special(is_long ? (struct rein_str){word.p, WORD_LONG} : word) < (is_long ? WORD_LONG : word.n);

	for (size_t i = 0; i < patterns->n; i++) {
		if (unsure || (is_long && is_pattern(patterns->v[i])))
			maybe |= compatible(patterns->v[i], word);
		else if (glob_word(patterns->v[i], word))
			return MATCH_YES;
	}
	return maybe ? MATCH_MAYBE : MATCH_NO;
}

/* example.com, *.example.com; a port or a user in the host does not hide it */
bool match_host(const struct strs *patterns, const char *host)
{
	char name[256];
	const char *at = strrchr(host, '@');
	size_t n;

	host = at ? at + 1 : host;
	if (*host == '[') { /* [::1]:443 */
		host++;
		n = strcspn(host, "]");
	} else {
		const char *colon = strchr(host, ':');

		n = colon && !strchr(colon + 1, ':') ? (size_t)(colon - host) : strcspn(host, "/");
	}
	while (n && host[n - 1] == '.')
		n--;
	if (n >= sizeof(name))
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)host[i]);
	name[n] = '\0';
	for (size_t i = 0; i < patterns->n; i++)
		if (rein_streq(patterns->v[i], name) || rein_glob_name(patterns->v[i], name))
			return true;
	return false;
}

/* Append component by component; ".." after something unknown leads nobody knows where. */
static bool add_parts(char *out, size_t *n, size_t max, struct rein_str s)
{
	size_t i = 0;

	while (i < s.n) {
		size_t from;

		while (i < s.n && s.p[i] == '/')
			i++;
		from = i;
		while (i < s.n && s.p[i] != '/')
			i++;
		if (i == from || (i - from == 1 && s.p[from] == '.'))
			continue;
		if (i - from == 2 && s.p[from] == '.' && s.p[from + 1] == '.') {
			if (find_special((struct rein_str){out, *n}) < *n)
				return false;
			while (*n && out[*n - 1] != '/')
				--*n;
			*n -= *n > 0;
			continue;
		}
		if (*n + (i - from) + 2 >= max)
			return false;
		out[(*n)++] = '/';
		memcpy(out + *n, s.p + from, i - from);
		*n += i - from;
	}
	return true;
}

bool path_unsure(const char *path)
{
	return strpbrk(path, SPECIALS) != NULL;
}

/* As facts show their targets: an ellipsis for what is not known, stars of patterns as they are. */
static size_t unshow(const char *s, char *out, size_t max)
{
	size_t n = 0, len = strlen(s);

	for (const char *c = s; *c && n + 2 < max; c++) {
		if (!strncmp(c, "…", 3)) {
			out[n++] = REIN_WORD_ANY;
			c += 2;
		} else if (*c == '*' || *c == '?') {
			out[n++] = *c == '*' ? REIN_WORD_STAR : REIN_WORD_ONE;
		} else {
			out[n++] = *c;
		}
	}
	if (len >= 240) /* it may have been cut there */
		out[n++] = REIN_WORD_ANY;
	return n;
}

bool path_absolute(const char *target, struct rein_str cwd, const struct place *at, char *out, size_t max)
{
	char plain[2048];
	struct rein_str s = {plain, unshow(target, plain, sizeof(plain))};
	size_t n = 0;

	if (s.n && (s.p[0] == '~' && (s.n == 1 || s.p[1] == '/'))) {
		cwd = rein_str(at->home);
		s.p++, s.n--;
	} else if (s.n && s.p[0] == '/') {
		cwd = STR("/");
	} else if (!s.n) {
		return false;
	} else if (s.p[0] == REIN_WORD_ANY || !cwd.n) {
		cwd = STR("\001"); /* somewhere: the end of it is known */
	}
	if (!add_parts(out, &n, max, cwd) || !add_parts(out, &n, max, s))
		return false;
	if (!n)
		out[n++] = '/';
	out[n] = '\0';
	return true;
}

/* A path that patterns are held against, and what can be said of it before any is. */
struct spot {
	struct rein_str path;
	const char *inside; /* the part of it in the workspace; NULL: elsewhere, or nobody knows where */
	bool unsure;
	bool tree; /* and all that lies below it */
};

/* dir for "dir" followed by two stars: the directory itself counts as its inside. */
static bool names_tree(const char *pattern, const char *path)
{
	size_t n = strlen(pattern);
	char dir[2048];

	if (n < 4 || n >= sizeof(dir) || !rein_streq(pattern + n - 3, "/**"))
		return false;
	memcpy(dir, pattern, n - 3);
	dir[n - 3] = '\0';
	return rein_glob_name(dir, path);
}

/* The whole path, from where it begins. Most names begin otherwise than most patterns: no more of those is looked at. */
static bool matches(const char *pattern, const char *path)
{
	const char *first = pattern + strspn(pattern, "/");

	if (*first != *path && !strchr("*?[\\", *first))
		return false;
	return rein_glob_name(first, path) || names_tree(first, path);
}

static enum match match_absolute(const char *pattern, const struct spot *s)
{
	size_t head;

	if (s->unsure) /* what it did is judged afterwards */
		return !rootless(s->path) && compatible(pattern, s->path) ? MATCH_MAYBE : MATCH_NO;
	if (matches(pattern, s->path.p + 1))
		return MATCH_YES;
	if (!s->tree)
		return MATCH_NO;
	/* what the pattern names lies below the tree, if it is there at all */
	head = strcspn(pattern, "*?[\\");
	if (s->path.n == 1)
		return MATCH_MAYBE;
	return head > s->path.n && !memcmp(pattern, s->path.p, s->path.n) && pattern[s->path.n] == '/' ? MATCH_MAYBE : MATCH_NO;
}

static enum match match_base(const char *pattern, const struct spot *s)
{
	struct rein_str base = rein_str(rein_basename(s->path.p));

	/* the shell's star leaves names with a dot alone */
	if (base.n && pattern[0] == '.' && (base.p[0] == REIN_WORD_STAR || base.p[0] == REIN_WORD_ONE))
		return MATCH_NO;
	if (s->unsure && find_special(base) < base.n)
		return base.p[0] != REIN_WORD_ANY && compatible(pattern, base) ? MATCH_MAYBE : MATCH_NO;
	return rein_glob_name(pattern, base.p) ? MATCH_YES : MATCH_NO;
}

static enum match match_one(const char *pattern, const struct spot *s, const struct place *at)
{
	const bool here = rein_starts(pattern, "./"); /* in the workspace itself, be it one name */
	const char *path = s->path.p;
	char full[3072];
	int n;

	while (rein_starts(pattern, "./"))
		pattern += 2 + strspn(pattern + 2, "/");
	if (!here && rein_streq(pattern, "**"))
		return MATCH_YES;
	if (pattern[0] == '/')
		return match_absolute(pattern, s);
	if (!here && pattern[0] == '~' && (pattern[1] == '/' || !pattern[1])) {
		if (!s->unsure && !rein_path_within(path, at->home) && !(s->tree && rein_path_within(at->home, path)))
			return MATCH_NO;
		n = snprintf(full, sizeof(full), "%s%s", at->home, pattern + 1);
		return n > 0 && (size_t)n < sizeof(full) ? match_absolute(full, s) : MATCH_MAYBE;
	}
	if (!here && !strchr(pattern, '/'))
		return match_base(pattern, s);
	if (!here && pattern[0] == '*' && pattern[1] == '*') {
		if (s->unsure)
			return path[s->path.n - 1] > REIN_WORD_ONE && compatible(pattern, s->path) ? MATCH_MAYBE : MATCH_NO;
		return matches(pattern, path + 1) ? MATCH_YES : MATCH_NO;
	}
	if (s->inside && matches(pattern, s->inside))
		return MATCH_YES;
	/* from the root on it is not another name; only what lies below it, or is not known, can still be meant */
	if (!s->unsure && !(s->tree && (s->inside || rein_path_within(at->workspace, path))))
		return MATCH_NO;
	n = snprintf(full, sizeof(full), "%s/%s", rein_streq(at->workspace, "/") ? "" : at->workspace, pattern);
	return n > 0 && (size_t)n < sizeof(full) ? match_absolute(full, s) : MATCH_MAYBE;
}

enum match match_path(const struct strs *patterns, const char *path, bool tree, const struct place *at)
{
	struct spot s = {.path = rein_str(path), .unsure = path_unsure(path), .tree = tree};
	enum match best = MATCH_NO;

	if (!s.unsure && rein_path_within(path, at->workspace)) {
		s.inside = path + strlen(at->workspace);
		s.inside += *s.inside == '/';
	}
	for (size_t i = 0; i < patterns->n && best != MATCH_YES; i++) {
		enum match m = match_one(patterns->v[i], &s, at);

		if (m > best)
			best = m;
	}
	return best;
}

static bool match_time(const struct span *t, int minute)
{
	if (!t->set)
		return true;
	if (minute < 0)
		return false;
	if (t->from < t->to)
		return minute >= t->from && minute < t->to;
	return minute >= t->from || minute < t->to;
}

/* What is not known does not match, except where nothing is asked. */
bool match_who(const struct who *w, const struct rein_verdict_facts *f, const char *environment)
{
	if (!match_name(&w->agent, f->agent) || !match_name(&w->role, f->role) ||
	    !match_name(&w->environment, environment))
		return false;
	if (w->trust.op && !match_cmp(&w->trust, f->trust_known ? f->trust : 0))
		return false;
	if (w->days && (f->weekday < 0 || f->weekday > 6 || !(w->days & (1u << f->weekday))))
		return false;
	return match_time(&w->time, f->minute);
}
