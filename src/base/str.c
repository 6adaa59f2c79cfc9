/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about strings, and the numbers people write in options. */
#include "base/str.h"

bool rein_path_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int rank(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : 2 + (unsigned char)c;
}

int rein_path_cmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return rank(*a) - rank(*b);
}

const char *rein_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t rein_unescape(char *s, size_t n)
{
	static const char from[] = {'\\', 'n', 't', 'r'}, to[] = {'\\', '\n', '\t', '\r'};
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		const char *at = s[i] == '\\' && i + 1 < n ? memchr(from, s[i + 1], sizeof(from)) : NULL;

		s[out++] = at ? to[at - from] : s[i];
		i += at != NULL;
	}
	s[out] = '\0';
	return out;
}

static bool number(const char **s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *s;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	*s = p;
	*ret = v;
	return true;
}

bool rein_parse_u64(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (!number(&s, &v) || *s || v > max)
		return false;
	*ret = v;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static bool with_unit(const char *s, const struct unit *units, uint64_t *ret)
{
	uint64_t v;

	if (!number(&s, &v))
		return false;
	for (; units->name; units++)
		if (rein_streq(s, units->name))
			return !__builtin_mul_overflow(v, units->factor, ret);
	return false;
}

bool rein_parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{"", 1000000000ull},	   {"s", 1000000000ull},     {"ms", 1000000ull},
		{"m", 60000000000ull},	   {"min", 60000000000ull},  {"h", 3600000000000ull},
		{"d", 86400000000000ull}, {"w", 604800000000000ull}, {NULL, 0},
	};

	return with_unit(s, units, ret_ns);
}

bool rein_parse_size(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},	      {"B", 1},	       {"K", 1ull << 10},   {"KiB", 1ull << 10},
		{"M", 1ull << 20},    {"MiB", 1ull << 20}, {"G", 1ull << 30}, {"GiB", 1ull << 30},
		{"T", 1ull << 40},    {"TiB", 1ull << 40}, {NULL, 0},
	};

	return with_unit(s, units, ret_bytes);
}

/* Edit distance of short words, with swapped neighbours as one step. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][40];
	size_t n = strlen(a), m = strlen(b);

	if (n >= 39 || m >= 39)
		return 99;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *cur = row[i % 3], *old = row[(i + 2) % 3], *older = row[(i + 1) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = old[j - 1] + (a[i - 1] != b[j - 1]);

			if (old[j] + 1 < best)
				best = old[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    older[j - 2] + 1 < best)
				best = older[j - 2] + 1;
			cur[j] = best;
		}
	}
	return row[n % 3][m];
}

struct rein_near rein_near(const char *word)
{
	unsigned half = (unsigned)strlen(word) / 2 + 1;

	return (struct rein_near){.word = word, .least = half < 4 ? half : 4};
}

void rein_near_try(struct rein_near *n, const char *name)
{
	unsigned d = *name ? distance(n->word, name) : 99;

	if (d < n->least) {
		n->least = d;
		n->best = name;
	}
}
