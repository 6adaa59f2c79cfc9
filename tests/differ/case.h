/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case: a tree, a sequence, the verdict. The sequence runs natively on one copy of the tree and
 * through `rein run --commit` on another; results and trees must be equal, `rein undo` must give
 * back the first tree, `rein redo` the second. Everything lies in a temporary directory that is
 * gone afterwards, whatever the verdict.
 */
#ifndef REIN_DIFFER_CASE_H
#define REIN_DIFFER_CASE_H

#include "../lab/ops.h"
#include "../lab/tree.h"

struct differ {
	char *rein;	      /* program under test */
	char *ops;	      /* differ-ops */
	const char *env;      /* one more NAME=VALUE for it, or NULL */
	struct lab_who who;   /* who runs it */
	bool rootless;	      /* that is not root */
	bool keep;	      /* leave the temporary directory, and say where */
	bool inodes;	      /* untouched files must keep their inode */
	bool warm;	      /* on the overlay of an earlier run, where there is one */
	unsigned warmed;      /* there was */
	double rein_seconds;  /* spent in the program under test */
	unsigned exact_undos; /* undo gave back even the changed files' inodes */
	unsigned undos;
	unsigned extra_links; /* see struct tree_rules */
};

struct sequence {
	uint64_t seed;
	bool caps; /* root: with the file capabilities in the box, and natively with the same */
	bool redo;
	struct ops setup, run;
};

enum outcome { CASE_PASS, CASE_REFUSED, CASE_STALE_MODE, CASE_EARLY_READER, CASE_FAIL };

struct verdict {
	enum outcome outcome;
	const char *what; /* which assertion failed, a constant */
	struct lab_text why;
};

void case_run(struct differ *d, const struct sequence *s, struct verdict *ret);

/* What the two-transaction mode needs as well. */
struct place {
	char *base, *work, *native, *home_env, *state_env;
};

void place_make(const struct differ *d, struct place *p);
void place_done(const struct differ *d, struct place *p);
void place_setup(const struct differ *d, const char *dir, const struct sequence *s);
/* Natively, with the same rights as in the box. */
void native_run(const struct differ *d, const char *dir, const struct sequence *s,
		const struct ops *run, uint16_t *errnos, struct op_log *log);
void op_log_done(struct op_log *log);
/* Run rein with the given words after "rein"; args ends with NULL. */
void rein_run(struct differ *d, const struct place *p, const char *const *args,
	      const struct ops *in, struct lab_result *ret);
/* `rein run MODE SAY --workspace W … -- differ-ops`, with the list on standard input. */
void rein_run_ops(struct differ *d, const struct place *p, const struct sequence *s,
		  const char *mode, const char *say, const struct ops *run, struct lab_result *ret);
/* The errnos differ-ops printed; false when they are not all there. */
bool parse_errnos(const char *text, size_t n, uint16_t *errnos);
void verdict_fail(struct verdict *v, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void explain_result(struct verdict *v, const struct lab_result *r);
/* Fails the verdict with `what` unless the trees are equal. */
bool check_tree(struct verdict *v, const char *what, const struct tree *want,
		const struct tree *got, bool clock_times);

#endif
