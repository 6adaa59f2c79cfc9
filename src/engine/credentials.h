/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of a run: from the options' and the policy's words to secrets that only the gate
 * gets. The box has placeholders in their variables; what they were read from it does not see.
 */
#ifndef REIN_ENGINE_CREDENTIALS_H
#define REIN_ENGINE_CREDENTIALS_H

#include "engine/engine.h"

/* After the network: each must be for hosts that the run may reach. Fills r's credentials. */
int rein_credentials_join(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);
/* NAME=PLACEHOLDER of each. */
int rein_credentials_env(const struct rein_run *r, struct rein_strlist *to, struct rein_err *err);
void rein_credentials_done(struct rein_run *r);
/* Is this text one? */
int rein_credentials_word(const char *word, struct rein_err *err);

#endif
