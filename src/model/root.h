/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One copy-on-write tree of a transaction: the real directory, and the private place its changes
 * go to. Strings belong to the transaction that made the root.
 */
#ifndef REIN_MODEL_ROOT_H
#define REIN_MODEL_ROOT_H

#include <stdbool.h>
#include <stddef.h>

struct rein_root {
	char *real;   /* absolute, resolved; the path inside the box is the same */
	char *store;  /* private directory of this transaction, on real's own mount */
	char *upper;  /* overlay upper; normally store/upper. NULL: the tree itself is shown, read-only */
	char *work;   /* overlay work directory, beside upper */
	char *mask;   /* lower layer of whiteouts above real (hidden paths), or NULL */
	bool staged;  /* upper lies on another filesystem than real: commit copies first */
};

#endif
