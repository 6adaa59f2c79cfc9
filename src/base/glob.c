/* SPDX-License-Identifier: Apache-2.0 */
/* Path globs by two-level backtracking: one star to return to per kind, so never exponential. */
#include "base/glob.h"

#include <stddef.h>
#include <string.h>

/* Match one [class]; *pp stands on '['. Sets *pp behind ']' when the class is well formed. */
static bool class_match(const char **pp, unsigned char c)
{
	const char *p = *pp + 1;
	bool negate = *p == '!' || *p == '^';
	bool hit = false;
	const char *first;

	p += negate;
	first = p;
	for (; *p && (*p != ']' || p == first); p++) {
		unsigned char lo = (unsigned char)*p;
		unsigned char hi = lo;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			hi = (unsigned char)p[2];
			p += 2;
		}
		hit |= c >= lo && c <= hi;
	}
	if (*p != ']') /* unterminated: a plain '[' */
		return c == '[';
	*pp = p;
	return hit != negate;
}

static bool match(const char *p, const char *s)
{
	const char *star_p = NULL, *star_s = NULL;     /* last '*': stays within a component */
	const char *dstar_p = NULL, *dstar_s = NULL;   /* last '**' */

	for (;;) {
		if (p[0] == '*' && p[1] == '*') {
			p += 2;
			if (*p == '/' ) { /* "two stars and a slash" also match nothing */
				dstar_p = p + 1;
				dstar_s = s;
				p++;
			} else {
				dstar_p = p;
				dstar_s = s;
			}
			star_p = NULL;
			continue;
		}
		if (*p == '*') {
			star_p = ++p;
			star_s = s;
			continue;
		}
		if (*s == '\0' && *p == '\0')
			return true;
		if (*s && *p) {
			if (*p == '?' && *s != '/') {
				p++, s++;
				continue;
			}
			if (*p == '[' && *s != '/') {
				const char *q = p;

				if (class_match(&q, (unsigned char)*s)) {
					p = q + 1;
					s++;
					continue;
				}
			} else if (*p == '\\' && p[1] && p[1] == *s) {
				p += 2, s++;
				continue;
			} else if (*p == *s) {
				p++, s++;
				continue;
			}
		}
		if (star_p && *star_s && *star_s != '/') {
			p = star_p;
			s = ++star_s;
			continue;
		}
		if (dstar_p && *dstar_s) {
			/* Two stars and a slash: the next try starts behind a slash */
			if (dstar_p[-1] == '/') {
				while (*dstar_s && *dstar_s != '/')
					dstar_s++;
				if (!*dstar_s)
					return false;
			}
			p = dstar_p;
			s = ++dstar_s;
			star_p = NULL;
			continue;
		}
		return false;
	}
}

bool rein_glob_match(const char *pattern, const char *path)
{
	if (pattern[0] == '.' && pattern[1] == '/')
		return match(pattern + 2, path);
	if (!strchr(pattern, '/')) {
		const char *slash = strrchr(path, '/');

		return match(pattern, slash ? slash + 1 : path);
	}
	return match(pattern[0] == '/' ? pattern + 1 : pattern, path);
}

bool rein_glob_name(const char *pattern, const char *name)
{
	return match(pattern, name);
}

bool rein_glob_is_literal(const char *pattern)
{
	return !strpbrk(pattern, "*?[\\");
}
