/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as an OCI bundle: config.json, and the mounts a runtime cannot make by itself. */
#ifndef REIN_SANDBOX_OCIBUNDLE_H
#define REIN_SANDBOX_OCIBUNDLE_H

#include "sandbox/plan.h"

struct rein_bundle {
	const struct rein_box_spec *spec;
	const struct rein_plan *plan;
	const char *dir;
	const char *group; /* cgroupsPath, or NULL */
	/* rein-box on the host, which confines and starts the command inside; NULL: the runtime does */
	const char *executor;
};

/* Write DIR/config.json and make the directories mounts go to. */
int rein_bundle_write(const struct rein_bundle *b, struct rein_err *err);
/* In a mount namespace of one's own: DIR/rootfs and DIR/overlay-N. */
int rein_bundle_mount(const struct rein_bundle *b, struct rein_err *err);
/* What was made, away. */
void rein_bundle_remove(const struct rein_bundle *b);

#endif
