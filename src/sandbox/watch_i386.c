/* SPDX-License-Identifier: Apache-2.0 */
/* The same for 32-bit programs on a 64-bit x86 kernel. */
#include "sandbox/watch.h"

#ifdef __x86_64__
#include <asm/unistd_32.h>
#include <linux/audit.h>

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

const struct rein_watch_table rein_watch_i386 = {
	.arch = AUDIT_ARCH_I386,
	.v = calls,
	.n = sizeof(calls) / sizeof(calls[0]),
	.nfiles = NFILES,
};
#endif
