/* SPDX-License-Identifier: Apache-2.0 */
/* The watched calls' numbers on the architecture this is built for. */
#include "sandbox/watch.h"

#include <asm/unistd.h>
#include <linux/audit.h>

#include "base/auto.h"
#include "sandbox/filter_new.h"

#define CALL(nr, dir, path, flags, how) {nr, dir, path, flags, REIN_WATCH_##how},
static const struct rein_watch_call calls[] = {
#include "sandbox/watch_calls.inc"
#include "sandbox/watch_names.inc"
};
/* how many of them are not only about names */
enum {
	NFILES = 0
#undef CALL
#define CALL(nr, dir, path, flags, how) +1
#include "sandbox/watch_calls.inc"
};

const struct rein_watch_table rein_watch_native = {
#if defined(__x86_64__)
	.arch = AUDIT_ARCH_X86_64,
#elif defined(__aarch64__)
	.arch = AUDIT_ARCH_AARCH64,
#endif
	.v = calls,
	.n = ARRAY_SIZE(calls),
	.nfiles = NFILES,
};
