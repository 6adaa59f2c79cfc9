/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords behind options that do not say so. */
#ifndef REIN_RECORD_TERSE_H
#define REIN_RECORD_TERSE_H

#include "base/str.h"

/* The first one whose option stands at or after from. */
bool rein_terse_find(struct rein_str text, size_t from, size_t *ret_at, size_t *ret_len);

#endif
