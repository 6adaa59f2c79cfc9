/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the handlers of the shell's builtins and of programs that start programs. */
#ifndef REIN_CLASSIFY_H_SHELL_H
#define REIN_CLASSIFY_H_SHELL_H

#include "classify/internal.h"
#include "classify/handlers.h"

/* h_shell.c */
struct data h_empty(void);
void h_say(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level, struct range at,
		struct rein_str what, const char *why);
struct data h_run_code(struct ctx *cx, const struct field *f, struct io *io);
struct field h_join_fields(struct ctx *cx, const struct field *v, size_t n);

#endif
