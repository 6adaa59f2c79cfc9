/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions as people and programs read them. */
#ifndef REIN_CLI_JUDGEMENT_H
#define REIN_CLI_JUDGEMENT_H

#include "base/json.h"
#include "engine/judge.h"

/* "risky, contained: allowed"; a static buffer. */
const char *rein_judgement_words(const struct rein_judgement *j);
/* The block under a refusal, a question or a hold: the command, the rule, what can be done instead. */
void rein_print_decision(const struct rein_decision *d);
void rein_print_command(char *const *argv);
/* "Refused" or "needs approval", with all that belongs to it. */
/* offline: an approval alone would not help what is to leave the machine. */
void rein_print_refusal(const struct rein_judgement *j, const struct rein_err *err, char *const *argv, bool offline);
/* Members "level", "reach", "decided", "effects_decided". */
void rein_json_judgement(struct rein_json *j, const struct rein_judgement *judged);

#endif
