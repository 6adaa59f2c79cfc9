/* SPDX-License-Identifier: Apache-2.0 */
/* See limits.h. */
#include "engine/limits.h"

struct rein_limits rein_limits_of(const struct rein_policy_limits *p)
{
	return (struct rein_limits){.v = {
		[REIN_LIMIT_MEMORY] = p->memory_bytes,
		[REIN_LIMIT_CPU] = p->cpu_percent,
		[REIN_LIMIT_CPU_TIME] = p->cpu_time_ns,
		[REIN_LIMIT_PROCESSES] = p->processes,
		[REIN_LIMIT_DISK] = p->disk_bytes,
		[REIN_LIMIT_FILE] = p->file_bytes,
		[REIN_LIMIT_OPEN_FILES] = p->open_files,
		[REIN_LIMIT_TIME] = p->time_ns,
		[REIN_LIMIT_IDLE] = p->idle_ns,
		[REIN_LIMIT_OUTPUT] = p->output_bytes,
		[REIN_LIMIT_FREE] = p->free_bytes < REIN_LIMIT_OFF ? p->free_bytes : REIN_LIMIT_OFF - 1, /* all of it is not none */
	}};
}

int rein_engine_limits(const struct rein_run_opts *o, const struct rein_policy *policy,
		       const struct rein_policy_settings *settings, struct rein_limits *ret,
		       struct rein_err *err)
{
	struct rein_policy_limits base = settings->limits;
	struct rein_limits l;

	if (o->profile && !rein_policy_profile(policy, o->profile, &base))
		return rein_err_set(err, REIN_E_USAGE,
				    "there is no profile '%s' of limits: built in are code, build, agent "
				    "and untrusted; a policy may name more (rein policy show)",
				    o->profile);
	l = rein_limits_of(&base);
	*ret = rein_limits_over(&o->limits, &l);
	return 0;
}
