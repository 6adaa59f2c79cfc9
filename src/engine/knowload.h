/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A classifier with all that is known here: what is built in, /etc/rein/knowledge.d/NAME.yaml, and NAME.yaml in the user's
 * knowledge.d. Nothing of the project: it comes with the code, and could say that rm is harmless.
 */
#ifndef REIN_ENGINE_KNOWLOAD_H
#define REIN_ENGINE_KNOWLOAD_H

#include <rein/classify.h>

#include "base/err.h"

/* *ret is NULL on failure: with a file that cannot be read or understood there is no verdict. */
int rein_knowledge_open(struct rein_classifier **ret, struct rein_err *err);
/* And one more file, which must be there. After a failure the classifier gives no more verdicts. */
int rein_knowledge_add(struct rein_classifier *c, const char *path, struct rein_err *err);

#endif
