/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classifier opens nothing and loads nothing; whoever makes one may give it a parser of SQL to ask
 * before it looks at tokens.
 */
#ifndef REIN_CLASSIFY_GRAMMAR_H
#define REIN_CLASSIFY_GRAMMAR_H

#include <rein/classify.h>

#include "model/sqlreport.h"

void rein_classifier_set_sql(struct rein_classifier *c, rein_sql_fn *fn); /* NULL: none */

/* Is this word a sub-command of that program, as far as is known? */
bool rein_is_subcommand(struct rein_str program, struct rein_str word);

#endif
