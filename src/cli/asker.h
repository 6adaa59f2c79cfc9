/* SPDX-License-Identifier: Apache-2.0 */
/* The person at the terminal, before a command runs: asked where the policy wants a word, told where it wants that. */
#ifndef REIN_CLI_ASKER_H
#define REIN_CLI_ASKER_H

#include "engine/engine.h"

struct rein_asker {
	const struct rein_engine *engine;
	char *const *argv;
	const char *environment; /* the command line's, or NULL */
	bool approve; /* yes, whatever is asked */
	bool alerts;  /* what is to be said on stderr may be said there */
};

/* For rein_run_opts.ask and .announce; arg: a struct rein_asker. No answer in the time given is a no. */
bool rein_asker_ask(void *arg, const struct rein_judgement *j);
bool rein_asker_announce(void *arg, const struct rein_run *r);

#endif
