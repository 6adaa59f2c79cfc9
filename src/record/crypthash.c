/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See crypthash.h. A hash can be tried against lists of passwords for as long as a record is kept, so it is redacted; but
 * fixtures are full of them, and no rule is to ask about one.
 */
#include "record/crypthash.h"

#include "base/auto.h"

#define LOOK 512 /* bytes of one */

/* crypt(5), and what htpasswd and libraries of web frameworks write. */
static const struct {
	const char *id;
	unsigned least; /* bytes behind the last '$' */
} methods[] = {
	{"1", 22},	   {"apr1", 22},    {"5", 43},		{"6", 86},	     {"2", 53},		{"2a", 53},
	{"2b", 53},	   {"2x", 53},	    {"2y", 53},		{"y", 43},	     {"gy", 43},	{"7", 43},
	{"sha1", 28},	   {"scrypt", 32},  {"argon2i", 22},	{"argon2d", 22},     {"argon2id", 22},	{"pbkdf2", 27},
	{"pbkdf2-sha256", 43}, {"pbkdf2-sha512", 86},
};

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* A shell's double quotes want the dollars escaped. */
static size_t dollar(struct rein_str t, size_t i)
{
	size_t n = i < t.n && t.p[i] == '\\';

	return i + n < t.n && t.p[i + n] == '$' ? n + 1 : 0;
}

/* How many bytes of a hash of this method follow its first '$', or 0. */
static size_t hash_at(struct rein_str t, size_t at, const char *id, unsigned least)
{
	const size_t n = strlen(id);
	size_t i = at + n, step = i < t.n ? dollar(t, i) : 0, part = 0, parts = 0;

	if (!step || memcmp(t.p + at, id, n) != 0)
		return 0;
	for (i += step; i < t.n && i - at < LOOK; i += step) {
		step = dollar(t, i);
		if (step) {
			parts++;
			part = 0;
			continue;
		}
		if (!is_letter(t.p[i]) && !strchr("./+=,-_", t.p[i]))
			break;
		step = 1;
		part++;
	}
	return parts && part >= least ? i - at : 0;
}

bool rein_crypthash_find(struct rein_str t, size_t from, size_t *ret_at, size_t *ret_len)
{
	for (size_t i = from; i < t.n; i++) {
		const char *mark = memchr(t.p + i, '$', t.n - i);

		if (!mark)
			return false;
		i = (size_t)(mark - t.p);
		if (i && is_letter(t.p[i - 1]))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(methods); k++) {
			size_t n = hash_at(t, i + 1, methods[k].id, methods[k].least);

			if (!n)
				continue;
			*ret_at = i;
			*ret_len = n + 1;
			return true;
		}
	}
	return false;
}
