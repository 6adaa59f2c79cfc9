/* SPDX-License-Identifier: Apache-2.0 */
/* System call numbers of 32-bit programs on a 64-bit x86 kernel. */
#include "sandbox/filter.h"

#ifdef __x86_64__
#include <asm/unistd_32.h>
#include <linux/audit.h>

#include "sandbox/filter_new.h"

#define RULE(nr, action) {nr, REIN_FILTER_##action},
static const struct rein_filter_rule rules[] = {
#include "sandbox/filter_rules.inc"
};

static const uint32_t known[][2] = {{0, 386}, {393, REIN_FILTER_LAST}};

const struct rein_filter_arch rein_filter_i386 = {
	.audit = AUDIT_ARCH_I386,
	.known = known,
	.nknown = sizeof(known) / sizeof(known[0]),
	.watch = &rein_watch_i386,
	.rules = rules,
	.nrules = sizeof(rules) / sizeof(rules[0]),
};
#endif
