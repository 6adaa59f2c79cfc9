/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crosses between rein and rein-text.so, which holds libgit2 so that rein itself starts
 * without it. The module exports one symbol, rein_text_module; nothing of libgit2 shows here. It
 * keeps no state of ours between calls and may be used from several threads.
 */
#ifndef REIN_TEXT_MODULE_H
#define REIN_TEXT_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define REIN_TEXT_ABI	 3u
#define REIN_TEXT_SYMBOL "rein_text_module"

enum rein_text_kind {
	REIN_TEXT_HEADER = 'H', /* --- and +++ lines */
	REIN_TEXT_HUNK = '@',
	REIN_TEXT_CONTEXT = ' ',
	REIN_TEXT_ADDED = '+',
	REIN_TEXT_REMOVED = '-',
	REIN_TEXT_NO_EOL = '\\', /* the remark that the last line has no newline */
};

/* Gets whole lines, with their sign and newline. Anything but 0 stops the diff, without error. */
typedef int (*rein_text_emit)(void *ctx, enum rein_text_kind kind, const char *p, size_t n);

struct rein_text_side {
	const char *name; /* NULL: the file does not exist on this side */
	struct rein_str text;
};

struct rein_text_merge_in {
	struct rein_str base, ours, theirs;
	bool no_base;					  /* both sides created the file */
	const char *base_label, *our_label, *their_label; /* for the markers; NULL: none */
	bool diff3;					  /* show the base in conflicts too */
};

struct rein_text_module {
	uint32_t abi;
	/* Around all calls: libgit2 takes milliseconds to start, and a diff may be of thousands of files. */
	int (*open)(struct rein_err *err);
	void (*close)(void);
	/* Counts what it emits; emit NULL counts only. Names may hold any byte. */
	int (*diff)(const struct rein_text_side *before, const struct rein_text_side *after,
		    unsigned context, rein_text_emit emit, void *ctx, uint64_t *ret_added,
		    uint64_t *ret_removed, struct rein_err *err);
	int (*merge)(const struct rein_text_merge_in *in,
		     int (*put)(void *ctx, const char *p, size_t n), void *ctx, bool *ret_conflict,
		     struct rein_err *err);
	/* ret[i]: the repository around dir has paths[i] (relative to dir) as it is now. */
	int (*tracked)(const char *dir, const char *const *paths, size_t n, bool *ret,
		       struct rein_err *err);
};

#endif
