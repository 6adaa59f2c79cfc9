/* SPDX-License-Identifier: Apache-2.0 */
/* Making errors: each of these fills err and returns the negative code, so that it can be returned. */
#ifndef REIN_BASE_ERR_H
#define REIN_BASE_ERR_H

#include <stdbool.h>

#include <rein/error.h>

#define REIN_PRINTF(f, a) __attribute__((format(printf, f, a)))

int rein_err_set(struct rein_err *err, int code, const char *fmt, ...) REIN_PRINTF(3, 4);
/* REIN_E_IO with errno's text appended; keeps errno in err->sys. */
int rein_err_errno(struct rein_err *err, const char *fmt, ...) REIN_PRINTF(2, 3);
int rein_err_nomem(struct rein_err *err);
/* Put "text: " before the message that is there. Returns -err->code. */
int rein_err_prefix(struct rein_err *err, const char *fmt, ...) REIN_PRINTF(2, 3);
/* There is no room left on the disk, or none for this user. */
bool rein_err_is_full(const struct rein_err *err);

#endif
