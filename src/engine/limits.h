/* SPDX-License-Identifier: Apache-2.0 */
/* Which limits a run has: those asked for, above those of the profile asked for or of the policy. */
#ifndef REIN_ENGINE_LIMITS_H
#define REIN_ENGINE_LIMITS_H

#include "engine/engine.h"
#include "policy/policy.h"

/* The policy's word for them, in ours. Egress is the network gate's. */
struct rein_limits rein_limits_of(const struct rein_policy_limits *p);
/* An unknown profile is an error that tells the known ones. */
int rein_engine_limits(const struct rein_run_opts *o, const struct rein_policy *policy,
		       const struct rein_policy_settings *settings, struct rein_limits *ret,
		       struct rein_err *err);

#endif
