/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs a box really executed: who, when, with which words. Collected by the sandbox, kept with
 * the transaction, told to people. Bounded: what does not fit is counted.
 */
#ifndef REIN_MODEL_EXECS_H
#define REIN_MODEL_EXECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define REIN_EXECS_MAX	 10000u
#define REIN_EXECS_BYTES (8u << 20)
#define REIN_EXEC_WORDS	 64u
#define REIN_EXEC_WORD	 1024u

struct rein_exec {
	int32_t pid, parent; /* as seen outside */
	uint64_t at_ns;	     /* since the box began */
	char *path;	     /* as it was asked for; by a descriptor alone: the file */
	const char *file;    /* while it is judged: what the path leads to, if that may be another program; else NULL */
	char *words;	     /* argv, each ended by NUL */
	uint32_t nwords;
	int level;    /* enum rein_level; 0: not judged */
	bool cut;     /* there was more than is kept */
	bool refused; /* by the policy */
};

struct rein_execs {
	struct rein_exec *v;
	size_t n, cap, bytes;
	uint64_t total;	  /* executions seen; more than n: the rest was not kept */
	uint64_t refused; /* of them */
};

void rein_execs_done(struct rein_execs *e);
/* Takes path and words over, also on failure (which only counts it). */
void rein_execs_add(struct rein_execs *e, const struct rein_exec *x);
void rein_execs_pack(const struct rein_execs *e, struct rein_buf *b);
int rein_execs_unpack(struct rein_str data, struct rein_execs *ret, struct rein_err *err);
/* argv[i], in *e's memory. */
const char *rein_exec_word(const struct rein_exec *x, uint32_t i);

#endif
