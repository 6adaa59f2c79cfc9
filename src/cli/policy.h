/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs of `rein policy` that look at the record. The judge has its policy. */
#ifndef REIN_CLI_POLICY_H
#define REIN_CLI_POLICY_H

#include "cli/judge.h"
#include "cli/opts.h"

int rein_policy_diff(struct rein_judge *judge, const struct rein_common *common, struct rein_err *err);
int rein_policy_suggest(struct rein_judge *judge, const struct rein_common *common, struct rein_err *err);

#endif
