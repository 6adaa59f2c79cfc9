/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names are hidden wherever they are: those that begin with .env or end in .key or .pem. One
 * look costs a few comparisons, because a first reading of a tree asks it of every file.
 */
#include "base/auto.h"
#include "base/str.h"
#include "sandbox/hideindex.h"
#include "sandbox/viewhash.h"

static const struct rein_str prefixes[] = {{".env", 4}};
static const struct rein_str suffixes[] = {{".key", 4}, {".pem", 4}};

/* Of those, the ones made to be shown. */
static const struct {
	struct rein_str prefix, suffix;
} shown[] = {
	{{".env", 4}, {".example", 8}},		  {{".env", 4}, {".sample", 7}},
	{{".env", 4}, {".template", 9}},	  {{".env", 4}, {".dist", 5}},
	{{"cacert.pem", 10}, {"cacert.pem", 10}},
};

/* Directories that are not entered: git's own, and installed packages. */
static const struct rein_str no_entry[] = {
	{".git", 4}, {"node_modules", 12}, {"site-packages", 13}, {"dist-packages", 13}};

static bool starts(const char *s, size_t n, struct rein_str prefix)
{
	return n >= prefix.n && memcmp(s, prefix.p, prefix.n) == 0;
}

static bool ends(const char *s, size_t n, struct rein_str suffix)
{
	return n >= suffix.n && memcmp(s + n - suffix.n, suffix.p, suffix.n) == 0;
}

bool rein_hide_name_matches(const char *name, size_t n)
{
	bool hit = false;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		hit |= starts(name, n, prefixes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		hit |= ends(name, n, suffixes[i]);
	for (size_t i = 0; hit && i < ARRAY_SIZE(shown); i++)
		hit = !(starts(name, n, shown[i].prefix) && ends(name, n, shown[i].suffix));
	return hit;
}

bool rein_hide_name_no_entry(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(no_entry); i++)
		if (no_entry[i].n == n && memcmp(no_entry[i].p, name, n) == 0)
			return true;
	return false;
}

static uint64_t hash_words(const struct rein_str *v, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = rein_hash64(v[i].p, v[i].n, h);
	return h;
}

uint64_t rein_hide_names_hash(void)
{
	uint64_t h = hash_words(prefixes, ARRAY_SIZE(prefixes), 1);

	h = hash_words(suffixes, ARRAY_SIZE(suffixes), h);
	h = hash_words(no_entry, ARRAY_SIZE(no_entry), h);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		h = hash_words(&shown[i].prefix, 1, hash_words(&shown[i].suffix, 1, h));
	return h;
}
