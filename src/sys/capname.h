/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities as people write them. */
#ifndef REIN_SYS_CAPNAME_H
#define REIN_SYS_CAPNAME_H

#include <stdint.h>

#include "base/err.h"

/* "chown,fowner", "CAP_CHOWN", or "files" for the set below; adds to *mask. */
int rein_caps_parse(const char *list, uint64_t *mask, struct rein_err *err);
/* What a package manager needs to give files their owners and modes. */
uint64_t rein_caps_files(void);

#endif
