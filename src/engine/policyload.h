/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which policy files there are, in the order of their layers: built in, /etc/rein/policy.d/NAME.yaml,
 * the user's policy.yaml, the project's .rein.yaml, files given on the command line.
 */
#ifndef REIN_ENGINE_POLICYLOAD_H
#define REIN_ENGINE_POLICYLOAD_H

#include "base/strlist.h"
#include "policy/policy.h"

struct rein_policy_sources {
	const char *project;	      /* directory that may hold .rein.yaml, or NULL */
	const struct rein_strlist *files; /* of the command line, or NULL */
	bool only_files;	      /* the built-in layer and these files only */
};

/*
 * Always leaves a policy, sealed if all was well, unless memory ran out (*ret is NULL then). On
 * failure it denies everything and tells why; err tells the same.
 */
int rein_policy_load(const struct rein_policy_sources *from, struct rein_policy **ret, struct rein_err *err);

/* The nearest directory at or above `from` with a .git or a .rein.yaml, else `from`. Owned by the caller. */
char *rein_policy_project(const char *from);

/* The user's own word that this very .rein.yaml may also loosen. A change of the file ends it. */
int rein_policy_trust(const char *project, struct rein_err *err);
int rein_policy_untrust(const char *project, struct rein_err *err);

#endif
