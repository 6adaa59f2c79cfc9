/* SPDX-License-Identifier: Apache-2.0 */
/* Where a copy in the upper directory came from, as the overlay noted it (as root only). */
#ifndef REIN_EFFECTS_ORIGIN_H
#define REIN_EFFECTS_ORIGIN_H

/* 1: upper/name is a copy of real/path; 0: of something else; -1: the overlay does not tell. */
int rein_origin_is(int upper, const char *name, int real, const char *path);

#endif
