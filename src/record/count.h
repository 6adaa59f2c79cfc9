/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record counted while it is verified, each line once. What was counted of the whole record up to a head is kept
 * (audit/counted) with the tree it was counted from, under a MAC of this record's own key: whoever could make one could
 * also make the record. It is used again only for a log that still has this tree.
 */
#ifndef REIN_RECORD_COUNT_H
#define REIN_RECORD_COUNT_H

#include "model/filter.h"
#include "record/stats.h"

#include <rein/record.h>

enum rein_count_trust {
	REIN_COUNT_ALL,	  /* verify every line, count those that were not counted before: for statements */
	REIN_COUNT_SINCE, /* verify and count what came since, believing what was verified then: for gauges */
};

/*
 * Fills *s (zeroed) with what the filter chooses (NULL: everything), finished. A record that is not whole is counted as
 * far as it can be read, and *broken says what is wrong with it; *ret is then how far it was good.
 */
int rein_record_count(const char *state_dir, enum rein_count_trust trust, const struct rein_filter *f,
		      struct rein_stats *s, struct rein_verify_result *ret, struct rein_err *broken,
		      struct rein_err *err);

#endif
