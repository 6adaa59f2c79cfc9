/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line, and on the careful side: a key that can make git start a program counts whatever its
 * section, so that no trick with sections, quotes or continuation lines hides one.
 */
#include "engine/gitconfig.h"

#include <ctype.h>
#include <string.h>

#include "base/auto.h"

/* Keys whose value is a program, or a place with programs, or another file of configuration. */
static const char *const keys[] = {
	"fsmonitor",  "hookspath",     "sshcommand", "gitproxy",   "askpass",	    "editor",
	"pager",      "sequenceeditor", "command",   "cmd",	   "external",	    "textconv",
	"driver",     "clean",	       "smudge",     "process",	   "helper",	    "program",
	"defaultkeycommand", "packobjectshook", "uploadpack", "receivepack", "vcs",
	"templatedir", "browser",      "man",	     "alternaterefscommand", "update",
	"attributesfile", "smtpserver", "sendemail", "tool",	   "guitool",	    "cvsps",
	"difffilter", "recentobjectshook", "tocmd",  "cccmd",	   "headercmd",	    "sendmailcmd",
	"tunnel",     "httpd",	       "path",
};
/* Sections of which every key counts; [protocol] can let a remote's address be a command (ext::). */
static const char *const sections[] = {"alias", "include", "includeif", "filter", "pager", "trailer", "hook", "protocol"};

static bool is_one_of(const char *const *v, size_t n, struct rein_str word)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(v[i]) == word.n && strncasecmp(v[i], word.p, word.n) == 0)
			return true;
	return false;
}

static struct rein_str word_at(struct rein_str line, size_t at)
{
	size_t n = at;

	while (n < line.n && (isalnum((unsigned char)line.p[n]) || line.p[n] == '-'))
		n++;
	return (struct rein_str){line.p + at, n - at};
}

/* The head above a line: another one makes the same line another setting. */
struct head {
	struct rein_str text;
	bool counts; /* every key below it does */
};

static size_t skip_space(struct rein_str line, size_t at)
{
	while (at < line.n && isspace((unsigned char)line.p[at]))
		at++;
	return at;
}

/* Behind '[name "sub"]', in which a bracket may be quoted. 0: it has no end. */
static size_t head_end(struct rein_str line, size_t at)
{
	for (bool quoted = false; at < line.n; at++) {
		if (line.p[at] == '"')
			quoted = !quoted;
		else if (quoted && line.p[at] == '\\')
			at++;
		else if (!quoted && line.p[at] == ']')
			return at + 1;
	}
	return 0;
}

/* Behind the heads of a line, of which there may be several. False: not a head as git writes it. */
static bool skip_heads(struct rein_str line, struct head *under, size_t *ret_at)
{
	size_t at = skip_space(line, 0);

	while (at < line.n && line.p[at] == '[') {
		size_t end = head_end(line, at);

		if (!end)
			return false;
		*under = (struct head){{line.p + at, end - at},
				       is_one_of(sections, ARRAY_SIZE(sections), word_at(line, at + 1))};
		at = skip_space(line, end);
	}
	*ret_at = at;
	return true;
}

/* Heads, and then perhaps a key. */
static bool names_program(struct rein_str line, struct head *under)
{
	size_t at;

	if (!skip_heads(line, under, &at))
		return true;
	if (at == line.n || line.p[at] == '#' || line.p[at] == ';')
		return false;
	return under->counts || is_one_of(keys, ARRAY_SIZE(keys), word_at(line, at));
}

static bool next_line(struct rein_str *rest, struct rein_str *line)
{
	const char *nl;

	if (!rest->n)
		return false;
	nl = memchr(rest->p, '\n', rest->n);
	*line = (struct rein_str){rest->p, nl ? (size_t)(nl - rest->p) : rest->n};
	rest->p += line->n + (nl != NULL);
	rest->n -= line->n + (nl != NULL);
	return true;
}

static bool is_same(struct rein_str a, struct rein_str b)
{
	return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

/* The same line under the same head. */
static bool has_line(struct rein_str text, struct rein_str want, const struct head *under)
{
	struct head at = {0};
	struct rein_str line;

	while (next_line(&text, &line)) {
		names_program(line, &at);
		if (is_same(line, want) && is_same(at.text, under->text))
			return true;
	}
	return false;
}

/* As git does. */
static struct rein_str without_mark(struct rein_str text)
{
	const size_t n = text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	return (struct rein_str){text.p + n, text.n - n};
}

static bool is_continued(struct rein_str line)
{
	size_t n = line.n;

	n -= n && line.p[n - 1] == '\r';
	return n && line.p[n - 1] == '\\';
}

bool rein_gitconfig_adds_programs(struct rein_str after, struct rein_str before)
{
	struct head under = {0};
	struct rein_str line;
	bool goes_on = false;

	if (after.n && memchr(after.p, '\0', after.n))
		return true;
	after = without_mark(after);
	before = without_mark(before);
	while (next_line(&after, &line)) {
		/* nobody but a trick continues a line of configuration */
		bool suspect = goes_on | is_continued(line);

		goes_on = is_continued(line);
		if ((names_program(line, &under) || suspect) && !has_line(before, line, &under))
			return true;
	}
	return false;
}

/* What stands behind the key and its sign; quotes around the whole are not part of it. */
static struct rein_str value_at(struct rein_str line, size_t at)
{
	size_t end = line.n;

	at = skip_space(line, at);
	if (at == line.n || line.p[at] != '=')
		return (struct rein_str){0};
	at = skip_space(line, at + 1);
	if (at < line.n && line.p[at] == '"') {
		const char *quote = memchr(line.p + at + 1, '"', line.n - at - 1);

		return (struct rein_str){line.p + at + 1, quote ? (size_t)(quote - line.p) - at - 1 : 0};
	}
	for (size_t i = at; i < end; i++)
		if (line.p[i] == '#' || line.p[i] == ';')
			end = i;
	while (end > at && isspace((unsigned char)line.p[end - 1]))
		end--;
	return (struct rein_str){line.p + at, end - at};
}

typedef int (*value_fn)(void *arg, struct rein_str value);

/* Every value of this key under one of these heads. */
static int each_value(struct rein_str text, const char *const *heads, size_t nheads, const char *want, value_fn fn, void *arg)
{
	struct head under = {0};
	struct rein_str line, value;
	size_t at;

	text = without_mark(text);
	while (next_line(&text, &line)) {
		struct rein_str key;
		int rc;

		if (!skip_heads(line, &under, &at) || !under.text.n ||
		    !is_one_of(heads, nheads, word_at(under.text, 1)))
			continue;
		key = word_at(line, at);
		if (!is_one_of(&want, 1, key))
			continue;
		value = value_at(line, at + key.n);
		rc = value.n ? fn(arg, value) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int rein_gitconfig_includes(struct rein_str text, int (*fn)(void *arg, struct rein_str path), void *arg)
{
	static const char *const including[] = {"include", "includeif"};

	return each_value(text, including, ARRAY_SIZE(including), "path", fn, arg);
}

int rein_gitconfig_hooks(struct rein_str text, int (*fn)(void *arg, struct rein_str path), void *arg)
{
	static const char *const core[] = {"core"};

	return each_value(text, core, ARRAY_SIZE(core), "hookspath", fn, arg);
}
