/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords as crypt(3) and its like keep them: $6$salt$..., $2b$10$..., $argon2id$... */
#ifndef REIN_RECORD_CRYPTHASH_H
#define REIN_RECORD_CRYPTHASH_H

#include "base/str.h"

/* The first one at or after from. */
bool rein_crypthash_find(struct rein_str text, size_t from, size_t *ret_at, size_t *ret_len);

#endif
