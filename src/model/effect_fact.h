/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One expected effect of an action: what kind, on what, how bad, and the bytes of the text that
 * caused it. Policy rules match these; people read the reason.
 */
#ifndef REIN_MODEL_EFFECT_FACT_H
#define REIN_MODEL_EFFECT_FACT_H

#include <stdint.h>

#include <rein/classify.h>

#include "base/str.h"

/* X(constant, wire name) */
#define REIN_FACT_KINDS(X)                                                                         \
	X(READ, "read")                                                                            \
	X(WRITE, "write")                                                                          \
	X(DELETE, "delete")                                                                        \
	X(EXEC, "exec")                                                                            \
	X(CONNECT, "connect")                                                                      \
	X(SEND, "send")                                                                            \
	X(REMOTE, "remote")                                                                        \
	X(PRIVILEGE, "privilege")                                                                  \
	X(ENVIRONMENT, "environment")                                                              \
	X(PERSIST, "persist")                                                                      \
	X(PROTECTION, "protection")                                                                \
	X(SERVICE, "service")                                                                      \
	X(DEVICE, "device")                                                                        \
	X(PACKAGE, "package")                                                                      \
	X(HISTORY, "history")                                                                      \
	X(SQL, "sql")                                                                              \
	X(MONEY, "money")                                                                          \
	X(SECRET, "secret")                                                                        \
	X(CUSTOM, "custom")                                                                        \
	X(UNKNOWN, "unknown")

enum rein_fact_kind {
#define X(c, n) REIN_FACT_##c,
	REIN_FACT_KINDS(X)
#undef X
	REIN_FACT__MAX
};

struct rein_fact {
	enum rein_fact_kind kind;
	enum rein_level level;
	enum rein_reach reach;
	uint32_t start, end; /* byte range in the action's text; empty when it has none */
	const char *target;  /* path, host, table …; NULL when there is none */
	const char *reason;  /* plain words */
	const char *program; /* the program that would do it; NULL outside commands */
	struct rein_str cwd; /* where a relative target starts; empty: not known */
	uint32_t call;	     /* 1 + index of the verdict's call that would do it; 0: none */
};

#endif
