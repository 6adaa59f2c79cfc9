/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is left behind: nobody's child, so that nobody has to wait for it; in no session and no
 * directory of ours, its streams /dev/null, so that whoever waits for the end of our output does not wait for
 * it; signals as in a fresh process, but that nothing dies of a broken pipe.
 */
#ifndef REIN_SYS_DETACH_H
#define REIN_SYS_DETACH_H

#include <stddef.h>

/*
 * Returns 1 in that process, which must end with _exit, 0 in the caller, -1 if there is none. It has the
 * descriptors in keep (-1 among them: none), and no others. name: for ps(1).
 */
int rein_detach(const char *name, const int *keep, size_t n);

#endif
