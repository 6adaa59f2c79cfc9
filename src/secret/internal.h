/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that look for secrets. */
#ifndef REIN_SECRET_INTERNAL_H
#define REIN_SECRET_INTERNAL_H

#include "secret/secret.h"

/* Alphabets. */
enum {
	DIGIT = 1,
	UPPER = 2,
	LOWER = 4,
	HEXL = 8,    /* a-f */
	DASH = 16,   /* - */
	UNDER = 32,  /* _ */
	DOT = 64,    /* . */
	B64 = 128,   /* + / = */
	HEXU = 256,  /* A-F */
	COLON = 512, /* : % and the like in tokens that carry them */
	ALNUM = DIGIT | UPPER | LOWER,
	WORDC = ALNUM | UNDER,
	URLC = ALNUM | UNDER | DASH,
	HEX = DIGIT | HEXL,
	ANYHEX = DIGIT | HEXL | HEXU,
};

#define ANYWHERE 1 /* distinctive enough to be found inside a longer word */

enum check {
	NONE,
	CRC62,	/* the last six characters are a CRC-32 of the rest, to base 62 */
	BECH32, /* as of Bitcoin's addresses */
};

struct format {
	const char *kind, *prefix;
	unsigned short chars, min; /* of what follows the prefix */
	unsigned char flags, check;
};

struct found {
	struct rein_secret_hit hit;
	const struct format *format; /* NULL: found by its structure */
};

/* What begins, or whose mark stands, at this byte; the only place that says what a secret is. */
bool secret_at(struct rein_str t, size_t i, struct found *ret);
/* Could anything begin or be marked at a byte of this value? */
bool secret_may(unsigned char c);

/* The same for what is asked for. */
bool secret_wanted(struct rein_str t, size_t i, enum rein_secret_want want, struct found *ret);

bool secret_likely(struct rein_str t, const struct found *f); /* likely.c */

/* Words that make a name say secret; the names they stand in that do not. NULL-terminated. */
extern const char *const secret_words[], *const secret_not_words[];
extern const struct format secret_formats[];
extern const size_t secret_formats_n;

#define SECRET_NAME_MAX	  64 /* bytes of a name that are looked at */
#define SECRET_GAP_MAX	  16 /* blanks and quotes between a name and its '=' */
#define SECRET_GAP	  " \t\"'\\"
#define SECRET_BEFORE_EQUALS ":?+" /* a name is assigned to with := ?= += as well */
#define SECRET_OPTION_MAX 128 /* bytes of an option's name */
#define SCAN_BODY	  8   /* bytes behind a prefix that vectorscan looks at */

/* rein-scan.so: a superset of the bytes at which secret_at() is true, in no order. */
#define REIN_SCAN_ABI	 2u
#define REIN_SCAN_SYMBOL "rein_scan_module"
typedef void rein_scan_fn(void *arg, unsigned id, size_t end);
struct rein_scan_module {
	unsigned abi;
	int (*scan)(const char *text, size_t n, rein_scan_fn *fn, void *arg); /* negative: it failed */
};

/* Numbers of the patterns; formats come first. */
enum { SCAN_WORD = 1000, SCAN_URL, SCAN_TELEGRAM, SCAN_PEM, SCAN_JWT, SCAN_BEARER, SCAN_BASIC, SCAN_AUTH, SCAN_PGPASS };

#endif
