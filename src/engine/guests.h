/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Further commands in a box that runs (rein attach): each is classified, put before the policy the
 * box runs under, and recorded as an action of its own on the box's transaction, before it starts.
 *
 * [G1] No record, no command; a decision that needs a person needs one here, too.
 * [G2] What the policy wants reviewed makes the whole transaction one to be reviewed: their effects
 * are the same files.
 *
 * All of them are the members of a struct rein_box_watch; arg is the watcher.
 */
#ifndef REIN_ENGINE_GUESTS_H
#define REIN_ENGINE_GUESTS_H

#include "engine/live.h"

int rein_guests_door(void *arg);
int rein_guests_admit(void *arg, uint32_t guest, char **argv, bool approved, struct rein_err *err);
void rein_guests_left(void *arg, uint32_t guest, const struct rein_box_result *r);
void rein_guests_done(struct rein_watcher *w);

#endif
