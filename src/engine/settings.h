/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a policy joined with the options of a run. A policy's workspace section becomes
 * paths as the view wants them; options of the command line come first and win where both speak of
 * one path.
 */
#ifndef REIN_ENGINE_SETTINGS_H
#define REIN_ENGINE_SETTINGS_H

#include "engine/engine.h"

/* Load the policy of where the run takes place, and fill r's settings and lists. */
int rein_settings_load(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);

#endif
