/* SPDX-License-Identifier: Apache-2.0 */
/* A name that the run gave to a real file, when that file is not where it was any more (REIN_CLASH_UNTIED). */
#ifndef REIN_ENGINE_TIE_H
#define REIN_ENGINE_TIE_H

#include "engine/engine.h"

/* What is at the change's real path now; a mode of 0: nothing. */
int rein_real_now(const struct rein_tx *t, const struct rein_change *x, struct rein_fp *ret, struct rein_err *err);
/*
 * The transaction's version of such a name: one more of that file, if it is known to have another; else a file of its
 * own, with what the file was in the run. Names that share it there share it here. Where nothing is amiss, nothing is done.
 */
int rein_retie(const struct rein_tx *t, const struct rein_changes *c, struct rein_change *x, struct rein_err *err);

#endif
