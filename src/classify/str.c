/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about the text of a word: what it holds, what it is one of. */
#include "classify/internal.h"

bool has_hole(struct rein_str s)
{
	return s.n && memchr(s.p, HOLE, s.n) != NULL;
}

bool is_literal(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == HOLE || s.p[i] == GLOB_STAR || s.p[i] == GLOB_ONE)
			return false;
	return true;
}

bool str_in(struct rein_str s, const char *list)
{
	while (s.n && *list) {
		size_t i = 0;

		while (i < s.n && list[i] == s.p[i] && list[i] != ' ' && list[i])
			i++;
		if (i == s.n && (list[i] == ' ' || !list[i]))
			return true;
		for (list += i; *list && *list != ' '; list++)
			;
		list += *list == ' ';
	}
	return false;
}

bool str_has(struct rein_str s, const char *what)
{
	return s.n && memmem(s.p, s.n, what, strlen(what)) != NULL;
}

bool str_has_ci(struct rein_str s, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= s.n; i++)
		if ((s.p[i] | 32) == (what[0] | 32) && !strncasecmp(s.p + i, what, n))
			return true;
	return false;
}

struct rein_str str_base(struct rein_str s)
{
	const char *slash = s.n ? memrchr(s.p, '/', s.n) : NULL;

	return slash ? str_from(s, (size_t)(slash - s.p) + 1) : s;
}

/* Backtracks only to the last star. */
bool glob_fits(struct rein_str glob, struct rein_str s)
{
	size_t star = (size_t)-1, mark = 0, g = 0, i = 0;

	while (i < s.n) {
		if (g < glob.n && (glob.p[g] == GLOB_ONE || glob.p[g] == s.p[i])) {
			g++;
			i++;
		} else if (g < glob.n && (glob.p[g] == GLOB_STAR || glob.p[g] == HOLE)) {
			star = g++;
			mark = i;
		} else if (star != (size_t)-1) {
			g = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (g < glob.n && (glob.p[g] == GLOB_STAR || glob.p[g] == HOLE))
		g++;
	return g == glob.n;
}

bool str_segment(struct rein_str s, const char *list)
{
	while (s.n) {
		size_t n = 0;

		while (n < s.n && s.p[n] != '-' && s.p[n] != '_' && s.p[n] != ':')
			n++;
		if (n && str_in(str_to(s, n), list))
			return true;
		s = str_from(s, n + 1);
	}
	return false;
}
