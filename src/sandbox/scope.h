/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking systemd, the user's own manager or as root the system's, for a control group of our own: a
 * transient scope with this process in it, delegated to us. It goes away with its last process.
 */
#ifndef REIN_SANDBOX_SCOPE_H
#define REIN_SANDBOX_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

/* True: we are in it now. False: there is no systemd, or it does not want; why says so. */
bool rein_scope_enter(char *why, size_t size);

#endif
