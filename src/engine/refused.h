/* SPDX-License-Identifier: Apache-2.0 */
/* Files a run was refused: what it must not find, and the list of them beside its transaction. */
#ifndef REIN_ENGINE_REFUSED_H
#define REIN_ENGINE_REFUSED_H

#include "engine/engine.h"

/* Every hidden path, absolute. */
int rein_engine_hidden(const struct rein_run *r, struct rein_strlist *ret);
/* Nothing is written for an empty list. */
int rein_engine_save_refused(const struct rein_tx *t, const struct rein_refused *r, struct rein_err *err);
/* None: success with an empty list. */
int rein_engine_load_refused(const struct rein_tx *t, struct rein_refused *ret, struct rein_err *err);

#endif
