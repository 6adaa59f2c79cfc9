/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs about live boxes share. */
#ifndef REIN_CLI_BOXES_H
#define REIN_CLI_BOXES_H

#include <stddef.h>

#include "base/json.h"
#include "engine/engine.h"
#include "sandbox/live.h"
#include "sandbox/orders.h"

/* Say who may not run, by rein stop, and how that is taken back. Returns how many there are. */
size_t rein_tell_stopped(const struct rein_engine *e);
/* One that is in force, as an object of a list: of rein safe and rein start. */
void rein_json_order(struct rein_json *j, const char *whom, const struct rein_order_text *t);

#endif
