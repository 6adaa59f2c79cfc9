/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine can enforce, found out by trying, not by version numbers: each feature is used in
 * a child that ends at once. Leaves nothing behind.
 */
#ifndef REIN_SANDBOX_PROBE_H
#define REIN_SANDBOX_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum rein_probe_state {
	REIN_PROBE_MISSING = 0,
	REIN_PROBE_PARTIAL, /* there, but less than it could be */
	REIN_PROBE_OK,
};

struct rein_probe_item {
	const char *name;    /* stable, for --json */
	const char *title;   /* for people */
	const char *meaning; /* what it is good for, and what its absence means */
	bool required;	     /* without it no box is built */
	enum rein_probe_state state;
	char detail[120];   /* what was found: a version, an errno */
	const char *remedy; /* NULL when nothing is to be done */
};

#define REIN_PROBE_MAX 16

/* Fills items (room for REIN_PROBE_MAX), returns how many. */
size_t rein_probe(struct rein_probe_item *items);

#endif
