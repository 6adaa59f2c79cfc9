/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a run: what the options say joined with the policy's network section.
 *
 * The command line comes first, as everywhere: its mode wins, its hosts come before the policy's,
 * its volumes stand above. What the policy denies stays denied, whoever allows it; where nobody
 * could keep that (--net host) the run is refused.
 */
#ifndef REIN_ENGINE_NETWORK_H
#define REIN_ENGINE_NETWORK_H

#include "engine/engine.h"

/* Fill r->net and r->network from o and r's settings. The mode is "host" only if o says so. */
int rein_network_join(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);
/* Take away what the policy gave: rules, credentials, the mode. */
void rein_network_shut(const struct rein_run_opts *o, struct rein_run *r);
void rein_network_done(struct rein_run *r);
/* Where there is no network: variables that keep programs from asking for one again and again. Theirs stand above. */
int rein_network_defaults(struct rein_run *r, struct rein_err *err);
/* NAME=VALUE of variables that lead programs to what the box is to trust. */
int rein_network_env(const struct rein_run *r, struct rein_strlist *to, struct rein_err *err);
/* Is a word of a policy's section what its key wants? For rein_policy_set_words. */
int rein_network_word(const char *key, const char *word, struct rein_err *err);
/*
 * A refusal, of a box that a watcher watches: a violation, if somebody tried what he must not.
 * over: the box is dead. Thread-safe.
 */
void rein_network_refused(void *watcher, const struct rein_net_refusal *x, bool over);
const char *rein_network_name(enum rein_net net); /* "none" … */

#endif
