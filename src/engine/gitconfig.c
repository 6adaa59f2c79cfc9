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
};
/* Sections of which every key counts. */
static const char *const sections[] = {"alias", "include", "includeif", "filter", "pager", "trailer", "hook"};

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

/* A section's head on this line says which one it is, also when a key follows on the same line. */
static bool names_program(struct rein_str line, bool *in_section)
{
	size_t at = 0;

	while (at < line.n && isspace((unsigned char)line.p[at]))
		at++;
	if (at == line.n || line.p[at] == '#' || line.p[at] == ';')
		return false;
	if (line.p[at] == '[') {
		struct rein_str rest = {line.p + at, line.n - at};
		const char *end = memrchr(rest.p, ']', rest.n);

		*in_section = is_one_of(sections, ARRAY_SIZE(sections), word_at(line, at + 1));
		if (!end)
			return true; /* not a head as git writes it */
		at = (size_t)(end - line.p) + 1;
		while (at < line.n && isspace((unsigned char)line.p[at]))
			at++;
		if (at == line.n || line.p[at] == '#' || line.p[at] == ';')
			return false;
	}
	return *in_section || is_one_of(keys, ARRAY_SIZE(keys), word_at(line, at));
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

static bool has_line(struct rein_str text, struct rein_str want)
{
	struct rein_str line;

	while (next_line(&text, &line))
		if (line.n == want.n && memcmp(line.p, want.p, want.n) == 0)
			return true;
	return false;
}

bool rein_gitconfig_adds_programs(struct rein_str after, struct rein_str before)
{
	bool in_section = false;
	struct rein_str line;

	if (after.n && memchr(after.p, '\0', after.n))
		return true;
	while (next_line(&after, &line)) {
		bool continued = line.n && line.p[line.n - 1] == '\\';

		/* the same line under another section's head is another setting: heads are compared, too */
		if (names_program(line, &in_section) && !has_line(before, line))
			return true;
		if (continued && !has_line(before, line))
			return true; /* nobody but a trick continues a line of configuration */
	}
	return false;
}
