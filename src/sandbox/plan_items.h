/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts of a plan while it is drawn up, between the files that do it: plan_items.c (which mounts,
 * in which order), plan_alias.c (where else what is hidden could be seen), plan.c (their bytes).
 */
#ifndef REIN_SANDBOX_PLAN_ITEMS_H
#define REIN_SANDBOX_PLAN_ITEMS_H

#include "sandbox/mounts.h"
#include "sandbox/plan.h"

/* A mount that may enter the plan. Strings belong to others. */
struct rein_planitem {
	uint32_t kind, flags;
	const char *target, *source, *upper, *work, *mask;
	bool found;   /* it is merely mounted there on the host */
	bool dropped; /* lies in something that is not there */
};

struct rein_planitems {
	struct rein_planitem *v;
	size_t n, cap;
	char **owned;
	size_t nowned, owned_cap;
	const char *hostname; /* the box's, once they are found */
};

/* One more; REIN_E_LIMIT: no plan can hold its path. */
int rein_planitems_add_(struct rein_planitems *l, struct rein_planitem item, struct rein_err *err);
bool rein_planitems_has_(const struct rein_planitems *l, const char *path);
/* Replace *s by a copy that lives as long as the list. */
int rein_planitems_own_(struct rein_planitems *l, char **s, struct rein_err *err);
/* What is hidden here is covered wherever else it is mounted. */
int rein_planitems_add_aliases_(struct rein_planitems *l, const struct rein_mounts *mounts,
				const struct rein_box_spec *spec, struct rein_err *err);
/*
 * All of them, in the order they are mounted; those that are dropped are still there. mounts, of the host, must
 * live as long as the list.
 */
int rein_planitems_find_(struct rein_planitems *l, const struct rein_box_spec *spec,
			 const struct rein_plan_setup *setup, const struct rein_mounts *mounts,
			 struct rein_err *err);
void rein_planitems_done_(struct rein_planitems *l);

#endif
