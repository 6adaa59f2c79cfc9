/* SPDX-License-Identifier: Apache-2.0 */
/* A view of bytes somebody else owns. Not terminated; may hold any byte. */
#ifndef REIN_BASE_STR_H
#define REIN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rein_str {
	const char *p;
	size_t n;
};

#define STR(lit) ((struct rein_str){("" lit), sizeof(lit) - 1})

static inline struct rein_str rein_str(const char *s)
{
	return (struct rein_str){s, s ? strlen(s) : 0};
}

static inline bool rein_str_eq(struct rein_str a, struct rein_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool rein_streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool rein_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Is path equal to dir or below it? Both absolute and normal; dir "/" holds everything. */
bool rein_path_within(const char *path, const char *dir);
/* Order of paths in which what lies in a directory follows it directly ('/' before all bytes). */
int rein_path_cmp(const char *a, const char *b);
/* What follows the last '/', or the whole. */
const char *rein_basename(const char *path);
/* Decimal number with an optional limit; false if it is not one to the last byte. */
bool rein_parse_u64(const char *s, uint64_t max, uint64_t *ret);
/* "90", "90s", "5m", "2h", "1d", "250ms" to nanoseconds. */
bool rein_parse_duration(const char *s, uint64_t *ret_ns);
/*
 * A text on one line, as batches of texts are written: \\ \n \t \r become the byte they stand for, in place; any
 * other backslash stays. The result, which is followed by a NUL (s[n] must be there), may hold any byte.
 */
size_t rein_unescape(char *s, size_t n);
/* "4096", "64K", "10M", "2G", "1T" (powers of 1024). */
bool rein_parse_size(const char *s, uint64_t *ret_bytes);

/* Which of several names was probably meant: begin with the word, try each name; best is it, or NULL. */
struct rein_near {
	const char *word, *best;
	unsigned least; /* steps from one to the other; so many are too many */
};
struct rein_near rein_near(const char *word);
void rein_near_try(struct rein_near *n, const char *name);

#endif
