/* SPDX-License-Identifier: Apache-2.0 */
/* Text in lines that fit, broken between words. */
#ifndef REIN_CLI_FOLD_H
#define REIN_CLI_FOLD_H

#include <stdio.h>

/* Columns for what is read at a terminal; 0: it is none, and nothing is folded. */
unsigned rein_fold_width(FILE *f);
/* The text from the column `at` on, its other lines from `indent` on, and a newline. width 0: one line, as it is. */
void rein_fold(FILE *f, unsigned width, unsigned at, unsigned indent, const char *text);
/* A name in a column of its own, and what it means: beside it, or below where there is no room. */
void rein_fold_row(FILE *f, unsigned width, unsigned column, const char *name, const char *text);

#endif
