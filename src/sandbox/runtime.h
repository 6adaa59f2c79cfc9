/* SPDX-License-Identifier: Apache-2.0 */
/* The OCI runtimes there are: what each wants said, its verbs, and where it keeps its own state. */
#ifndef REIN_SANDBOX_RUNTIME_H
#define REIN_SANDBOX_RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rein_runtime {
	const char *name, *program;
	const char *before[12]; /* options between --root DIR and the verb */
	bool executor;		/* shares the kernel: our executor builds the last walls inside */
	bool nested_group, hybrid;
	/* with a kernel of its own: said of a run without a network, and of one in a network that is there */
	const char *alone, *joined;
};

/* "oci:crun", "oci:runc", "oci:runsc"; NULL and err: there is no such backend. */
const struct rein_runtime *rein_runtime_find(const char *name, struct rein_err *err);
int rein_runtime_installed(const struct rein_runtime *r, struct rein_err *err);

/* The words up to the verb, ended by NULL; how many. Room for as many as there can be of them all. */
#define REIN_RUNTIME_WORDS 24
/* run: the container is to be made, with what spec says of its surroundings; NULL: another verb. */
struct rein_box_spec;
size_t rein_runtime_command(const struct rein_runtime *r, const char *root, const char *verb,
			    const struct rein_box_spec *run, const char **to);
/* Become it: the one that was found installed, whatever the caller's PATH. Returns on failure. */
void rein_runtime_exec(const char *const *argv);
/* In a mount namespace of one's own: take away what would confuse it. */
void rein_runtime_shield(const struct rein_runtime *r);
/* A verb about a container, and its end; more: a word after the id, or NULL. */
void rein_runtime_tell(const struct rein_runtime *r, const char *root, const char *verb, const char *id, const char *more);
/* Whatever it left of itself, also after a kill. True: it says that there is nothing of the container any more. */
bool rein_runtime_delete(const struct rein_runtime *r, const char *root, const char *id);

/* A directory of its own for one container, locked while we live. */
struct rein_runtime_root {
	char path[PATH_MAX];
	int lock;
	bool deleted; /* the container is; what else is there is of no use */
};
#define REIN_RUNTIME_ROOT_INIT {.lock = -1}

/* Containers of those that were killed are collected first. */
int rein_runtime_root_open(const struct rein_runtime *r, const char *id, struct rein_runtime_root *ret,
			   struct rein_err *err);
void rein_runtime_root_close(struct rein_runtime_root *root);

#endif
