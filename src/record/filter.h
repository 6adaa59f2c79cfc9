/* SPDX-License-Identifier: Apache-2.0 */
/* Which events a person asks for: filters over events, and the times people write. */
#ifndef REIN_RECORD_FILTER_H
#define REIN_RECORD_FILTER_H

#include "model/event.h"
#include "model/filter.h"

bool rein_filter_is_empty(const struct rein_filter *f); /* everything matches */
bool rein_filter_match(const struct rein_filter *f, const struct rein_event *ev);
/* "2026-11-15", "2026-11-15T21:00", "2h" (ago), "yesterday", "today". */
bool rein_filter_time(const char *s, uint64_t now_ns, uint64_t *ret_ns);

#endif
