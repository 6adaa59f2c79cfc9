/* SPDX-License-Identifier: Apache-2.0 */
/* Inside rein-text.so only: see rein_text_tracked in text/load.h. */
#ifndef REIN_TEXT_TRACKED_H
#define REIN_TEXT_TRACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

int rein_text_tracked_(const char *dir, const char *const *paths, size_t n, bool *ret, struct rein_err *err);

#endif
