/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the test instruments share: random numbers that depend on nothing but the seed, memory that
 * cannot be NULL, temporary directories, and running another program with everything it says kept.
 * An instrument that cannot do its work says why and exits with LAB_BROKEN; it never reports a
 * pass it did not see. Nothing here knows how Rein works inside.
 */
#ifndef REIN_LAB_H
#define REIN_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define LAB_BROKEN                                                                                 \
	99 /* exit status: the instrument itself failed (meson: an error, not a fail)              \
	    */
#define LAB_SKIP 77

#define lab_array_size(a) (sizeof(a) / sizeof((a)[0]))

_Noreturn void lab_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* lab_die with errno's text. */
_Noreturn void lab_die_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void *lab_alloc(size_t n); /* zeroed */
void *lab_resize(void *p, size_t n);
char *lab_strdup(const char *s);
char *lab_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Append one element to a growing array whose capacity is always the next power of two of n. */
#define lab_push(v, n, x)                                                                          \
	do {                                                                                       \
		if (((n) & ((n)-1)) == 0)                                                          \
			(v) = lab_resize((v), ((n) ? 2 * (n) : 1) * sizeof(*(v)));                 \
		(v)[(n)++] = (x);                                                                  \
	} while (0)

struct lab_text {
	char *p; /* NUL-terminated, never NULL after the first append */
	size_t n, cap;
};

void lab_text_add(struct lab_text *t, const void *p, size_t n);
void lab_text_printf(struct lab_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Bytes as one word: letters, digits and a few signs as they are, the rest as %XX. */
void lab_text_word(struct lab_text *t, const char *p, size_t n);
void lab_text_done(struct lab_text *t);

struct lab_rng {
	uint64_t s;
};

uint64_t lab_mix(uint64_t x);
uint64_t lab_rand(struct lab_rng *r);
uint64_t lab_below(struct lab_rng *r, uint64_t n); /* 0 … n-1; n > 0 */
bool lab_chance(struct lab_rng *r, unsigned percent);

/* Who runs something: the caller, or an ordinary user (only root can ask for that). */
struct lab_who {
	bool drop;
	uid_t uid;
	gid_t gid;
};

void lab_become(const struct lab_who *who); /* in a child; dies on failure */
/* Keep only these capabilities (bits), in every set, and never gain others. Only in a child. */
void lab_keep_caps(uint64_t caps);

/* A fresh directory under $TMPDIR or /tmp, absolute, owned by who. */
char *lab_tmpdir(const char *name, const struct lab_who *who);
void lab_mkdir(const char *path, const struct lab_who *who);
/* Remove a tree, whatever its modes. Dies if something stays. */
void lab_remove(const char *path);

/*
 * A program that who cannot execute where it lies (a checkout below /root) is copied, with its
 * siblings of the same stem, to a place it can be; gone when we exit. Else the path itself. Takes
 * the path and gives one back.
 */
char *lab_stage(char *path, const struct lab_who *who);
bool lab_full(void); /* REIN_FULL is set: everything, not a sample */

struct lab_cmd {
	const char *const *argv;
	const char *cwd;
	const char *const *env; /* NAME=VALUE, on top of a small fixed environment; NULL: none */
	const struct lab_who *who;
	const void *in; /* standard input; NULL: /dev/null */
	size_t in_n;
	int timeout_s; /* 0: 60 */
};

struct lab_result {
	int status; /* 0…255, 128+signal, or -1 when it ran out of time (and was killed) */
	struct lab_text out, err;
	double seconds;
};

/* The child's half: standard streams, directory, identity, environment, exec. Never returns. */
_Noreturn void lab_exec(const struct lab_cmd *c, int in, int out, int err);
int lab_memfd(const void *p, size_t n);
void lab_run(const struct lab_cmd *c, struct lab_result *ret);
void lab_result_done(struct lab_result *r);
/* Collect from two pipes until both end or the deadline passes. False: the deadline passed. */
bool lab_collect(int out, int err, struct lab_result *r, double deadline);

double lab_now(void); /* monotonic seconds */
/* The coarse clock file times come from, so that a later change is never earlier than this. */
struct timespec lab_filetime(void);
uint64_t lab_number(const char *s, const char *what); /* decimal, octal (0…), hex (0x…); dies */

#endif
