/* SPDX-License-Identifier: Apache-2.0 */
/* System call numbers of the architecture this is built for. */
#include "sandbox/filter.h"

#include <asm/unistd.h>
#include <linux/audit.h>

#include "base/auto.h"
#include "sandbox/filter_new.h"

#define RULE(nr, action) {nr, REIN_FILTER_##action},
static const struct rein_filter_rule rules[] = {
#include "sandbox/filter_rules.inc"
};

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
/* x32 numbers have bit 30 set: they are beyond the last range, so not known. */
static const uint32_t known[][2] = {{0, 334}, {424, REIN_FILTER_LAST}};
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
static const uint32_t known[][2] = {{0, 294}, {424, REIN_FILTER_LAST}};
#else
#error "the system call filter has no table for this architecture"
#endif

const struct rein_filter_arch rein_filter_native = {
	.audit = NATIVE,
	.known = known,
	.nknown = ARRAY_SIZE(known),
	.watch = &rein_watch_native,
	.rules = rules,
	.nrules = ARRAY_SIZE(rules),
};
