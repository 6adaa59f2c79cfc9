/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs about live boxes share. */
#ifndef REIN_CLI_BOXES_H
#define REIN_CLI_BOXES_H

#include "sandbox/live.h"
#include "sandbox/orders.h"

#define REIN_NO_ENGINE {.state = {.fd = -1, .txn_fd = -1, .journal_fd = -1}}

#endif
