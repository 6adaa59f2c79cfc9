/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in texts: token formats by prefix, alphabet and length (formats.def); private key blocks; JSON web
 * tokens; passwords in URLs and in Authorization headers; values of assignments and options whose name
 * says secret. One set for all: what is redacted before it is stored, and what a rule about written
 * content is told.
 *
 * The two differ in doubt. Redaction takes ANY: a wrong one costs some readability, a missed one is for
 * ever. A rule takes LIKELY: random enough, no placeholder, and with the right checksum where the format
 * has one; somebody is going to be asked because of it.
 */
#ifndef REIN_SECRET_SECRET_H
#define REIN_SECRET_SECRET_H

#include "base/err.h"
#include "base/str.h"

enum rein_secret_want { REIN_SECRET_ANY = 0, REIN_SECRET_LIKELY };

struct rein_secret_hit {
	size_t at, n;
	const char *kind;
};

/* The first one at or after from. */
bool rein_secret_next(struct rein_str text, size_t from, enum rein_secret_want want, struct rein_secret_hit *ret);

/*
 * All of them in order, none inside another. Large texts go through vectorscan (rein-scan.so) when it is
 * installed; the result is the same. fn returns false to stop.
 */
typedef bool rein_secret_fn(void *arg, const struct rein_secret_hit *hit);
void rein_secret_each(struct rein_str text, enum rein_secret_want want, rein_secret_fn *fn, void *arg);
/* The same by one way only, for tests and benchmarks. scan: false when it is not installed. */
void rein_secret_each_own(struct rein_str text, enum rein_secret_want want, rein_secret_fn *fn, void *arg);
bool rein_secret_each_scan(struct rein_str text, enum rein_secret_want want, rein_secret_fn *fn, void *arg);

/*
 * A text that comes in pieces. Hits are told with their place in the whole; one that is longer than
 * REIN_SECRET_CARRY may be told shortened, never not at all.
 */
#define REIN_SECRET_CARRY ((size_t)16 << 10)
struct rein_secret_stream;
int rein_secret_stream_new(enum rein_secret_want want, rein_secret_fn *fn, void *arg, struct rein_secret_stream **ret,
			   struct rein_err *err);
void rein_secret_stream_feed(struct rein_secret_stream *s, struct rein_str piece);
void rein_secret_stream_end(struct rein_secret_stream *s); /* tells the rest and frees; NULL is fine */

/* As rein_secret_next with ANY. */
bool rein_secret_find(struct rein_str text, size_t from, size_t *ret_at, size_t *ret_len, const char **ret_kind);
/* Number of token formats in the table, and their names (for documentation and tests). */
size_t rein_secret_formats(void);
const char *rein_secret_format(size_t i, const char **ret_kind);
/* Does a name such as DB_PASSWORD say that its value is secret? */
bool rein_secret_name(struct rein_str name);

#endif
