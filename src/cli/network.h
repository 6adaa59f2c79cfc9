/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a run: its options to a policy, and its report to words. */
#ifndef REIN_CLI_NETWORK_H
#define REIN_CLI_NETWORK_H

#include "base/json.h"
#include "engine/engine.h"

struct rein_net_args {
	int mode; /* of --net: 0 not given, then the words in order */
	struct rein_strlist allow, publish, sockets, credentials;
	const char *sent, *all;
	uint64_t rate;
	struct rein_net_rule *rules; /* what the policy points at */
	struct rein_net_publish *ports;
};

#define REIN_NET_MODES "none|restricted|open|host"

/* Fill o->net and net_chosen, o->network and o->sockets; they point into a. */
int rein_net_args_fill(struct rein_net_args *a, struct rein_run_opts *o, struct rein_err *err);
void rein_net_args_done(struct rein_net_args *a);

const char *rein_net_mode_text(enum rein_net net);
/* Before and after a run, on stderr. */
void rein_net_announce(const struct rein_run_opts *o);
void rein_net_print(const struct rein_net_report *r, const struct rein_run_opts *o, bool verbose);
/* Member "network". */
void rein_net_json(struct rein_json *j, const struct rein_net_report *r, enum rein_net net);

#endif
