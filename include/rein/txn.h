/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactional runs: any command in a sandbox, its effects on files held back, shown, committed
 * all or nothing, and undone.
 *
 *	const char *argv[] = {"make", "test", NULL};
 *	struct rein_txn *txn = NULL;
 *	struct rein_txn_result result;
 *	struct rein_effect effect;
 *	struct rein_err err = {0};
 *	size_t n = 0;
 *
 *	if (rein_txn_begin(NULL, &txn, &err) == 0 && rein_txn_run(txn, argv, &result, &err) == 0 &&
 *	    rein_txn_effects(txn, &n, &err) == 0) {
 *		for (size_t i = 0; i < n && rein_txn_effect(txn, i, &effect) == 0; i++)
 *			printf("%s/%s\n", effect.root, effect.path);
 *		if (result.status == 0)
 *			rein_txn_commit(txn, &err);
 *	}
 *	if (err.code)
 *		fprintf(stderr, "%s\n", err.msg);
 *	rein_txn_free(txn);
 *
 * All calls return 0 or a negative enum rein_code and fill err, which is never NULL. A handle
 * belongs to one thread at a time. rein_txn_run blocks, forwards the signals its process gets and
 * relays the terminal. Link with: pkg-config --libs rein.
 */
#ifndef REIN_TXN_H
#define REIN_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rein/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rein_txn;
struct rein_pool;

/*
 * Zero means the default everywhere. size must be sizeof(struct rein_txn_opts). Strings and lists are copied; the pool
 * is not.
 */
struct rein_txn_opts {
	size_t size;
	const char *workspace; /* the tree that may change; default: git root of the current directory */
	bool whole_system;     /* every writable mount may change */
	bool share_network;    /* default: no network */
	bool allow_nested;     /* new user namespaces inside */
	uint64_t timeout_ns, idle_timeout_ns;
	const char *const *rw, *const *ro, *const *hide, *const *scratch; /* NULL-terminated lists */
	const char *const *env; /* NAME or NAME=VALUE, passed even if it looks like a secret */
	const char *agent, *session, *task; /* on whose behalf, for rules and for the record: words of up to 120 characters */
	const char *const *policy; /* policy files of a last layer */
	bool approve; /* the caller is a person's yes to what the policy would ask or hold; recorded */
	struct rein_pool *pool; /* boxes made ahead, see below; or NULL */
};

/*
 * For a process that lives long and runs many commands: so many boxes are kept ready, and a command gets one
 * that is, if a new one would be no different (no mount, limit, right or namespace changed meanwhile); else a
 * new one, as without a pool. A box that was used up is replaced, by a thread of the pool's own, when its
 * command has ended. Any thread may use the pool; a process that was forked off has none.
 *
 *	struct rein_txn_opts opts = {.size = sizeof(opts)};
 *	struct rein_err err = {0};
 *
 *	if (rein_pool_open(4, &opts.pool, &err) < 0)
 *		fprintf(stderr, "%s\n", err.msg);
 */
REIN_API int rein_pool_open(unsigned n, struct rein_pool **ret, struct rein_err *err);
/* So many are ready now; so many commands had one that was. */
REIN_API unsigned rein_pool_size(struct rein_pool *pool);
REIN_API uint64_t rein_pool_used(struct rein_pool *pool);
/* After the last transaction that has it. NULL is fine. */
REIN_API void rein_pool_close(struct rein_pool *pool);

enum rein_txn_end {
	REIN_TXN_LOST = 0,
	REIN_TXN_EXITED,
	REIN_TXN_SIGNALED,
	REIN_TXN_TIMED_OUT,
	REIN_TXN_IDLE,
	REIN_TXN_CANCELLED,
	REIN_TXN_LIMIT,	  /* a limit of the policy's was hit */
	REIN_TXN_STOPPED, /* rein stop, rein kill */
};

struct rein_txn_result {
	enum rein_txn_end end;
	int status; /* as a shell reports it: 0..255, 128+signal */
	uint64_t wall_ns, cpu_ns, max_rss_kib;
};

enum rein_effect_kind {
	REIN_EFFECT_CREATED = 1,
	REIN_EFFECT_MODIFIED,
	REIN_EFFECT_DELETED,
	REIN_EFFECT_ATTRIBUTES, /* mode, owner, times, extended attributes only */
	REIN_EFFECT_RENAMED,
};

struct rein_effect {
	enum rein_effect_kind kind;
	const char *root;     /* absolute directory the paths are relative to */
	const char *path;     /* any bytes but NUL */
	const char *from;     /* RENAMED: the old path */
	const char *conflict; /* why it cannot be committed, or NULL */
	uint32_t mode_before, mode_after; /* st_mode; 0: nothing there */
	uint64_t size_before, size_after;
};

/* opts may be NULL. On success the caller owns *ret. */
REIN_API int rein_txn_begin(const struct rein_txn_opts *opts, struct rein_txn **ret,
			    struct rein_err *err);
/* A transaction that exists, by id, prefix, "@" or "@~1". */
REIN_API int rein_txn_open(const char *name, struct rein_txn **ret, struct rein_err *err);
REIN_API const char *rein_txn_id(const struct rein_txn *txn);

/*
 * Run one more command in it; what earlier ones did is there. argv ends with NULL. The policy judges
 * it first: REIN_E_DENIED and REIN_E_APPROVAL mean that it did not run.
 */
REIN_API int rein_txn_run(struct rein_txn *txn, const char *const *argv, struct rein_txn_result *ret,
			  struct rein_err *err);

/*
 * What was done so far: rein_txn_effects looks, the other two tell what it saw. Strings live until the next call on
 * the handle.
 */
REIN_API int rein_txn_effects(struct rein_txn *txn, size_t *ret_count, struct rein_err *err);
REIN_API size_t rein_txn_effect_count(const struct rein_txn *txn);
REIN_API int rein_txn_effect(const struct rein_txn *txn, size_t i, struct rein_effect *ret);

/*
 * Atomic and durable. REIN_E_CONFLICT: nothing was changed, the transaction is held. REIN_E_HELD: the
 * policy keeps it for review, err says why; whoever opens it later and commits has approved it;
 * REIN_E_APPROVAL and REIN_E_DENIED then: the rule wants somebody else, more people, or had less time.
 * REIN_E_ROLLED_BACK: the policy threw it away, or a command in it did not end by itself (it timed out, hit a limit,
 * was stopped or lost): what that leaves is a half, and can be neither committed nor held.
 */
REIN_API int rein_txn_commit(struct rein_txn *txn, struct rein_err *err);
/* Keep it for later: rein_txn_open finds it by its id. REIN_E_ROLLED_BACK as above. */
REIN_API int rein_txn_hold(struct rein_txn *txn, struct rein_err *err);
REIN_API int rein_txn_abort(struct rein_txn *txn, struct rein_err *err);
/* Of a committed one, and back again. */
REIN_API int rein_txn_undo(struct rein_txn *txn, struct rein_err *err);
REIN_API int rein_txn_redo(struct rein_txn *txn, struct rein_err *err);

/* An undecided transaction is aborted. NULL is fine. */
REIN_API void rein_txn_free(struct rein_txn *txn);

#ifdef __cplusplus
}
#endif
#endif
