/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same plan carried out by an OCI runtime instead of rein-box: the trees are the same overlays with the
 * same private layers, so a transaction, its effects and its limits are what they are with the built-in
 * box. Root only. What a runtime cannot do is refused beforehand, never left out in silence.
 */
#ifndef REIN_SANDBOX_OCI_H
#define REIN_SANDBOX_OCI_H

#include "base/err.h"
#include "model/box.h"
#include "sandbox/runtime.h"

/* Like rein_box_run. dir: a private directory of this run, for the bundle. id: for the runtime. */
int rein_oci_run(const struct rein_runtime *backend, const struct rein_box_spec *spec, const char *box_program, const char *dir, const char *id,
		 struct rein_box_result *ret, struct rein_err *err);

#endif
