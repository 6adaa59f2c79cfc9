/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the command: everything passes except what looks like a secret, by name or
 * by value; --env and --env-file speak last. LD_PRELOAD and the like pass: they are the user's
 * own, and the command could set them itself.
 *
 *	struct rein_env env = {0};
 *
 *	if (rein_env_make(&opts, &env, &err) < 0) ...
 *	spec.envp = env.envp.v;
 *	rein_env_done(&env);
 */
#ifndef REIN_SANDBOX_ENV_H
#define REIN_SANDBOX_ENV_H

#include "base/err.h"
#include "base/strlist.h"

struct rein_env_opts {
	char *const *environ;  /* what Rein itself was given */
	char *const *set;      /* --env, in order: NAME passes it whatever it looks like,
				* NAME=VALUE sets it; NULL is none */
	char *const *files;    /* --env-file, in order, read before --env; NULL is none */
	char *const *over;     /* NAME=VALUE, instead of what Rein was given; --env stands above */
	char *const *without;  /* names that are never passed on */
	char *const *defaults; /* NAME=VALUE, set only when nothing else did; NULL is none */
	const char *cwd;       /* becomes PWD; NULL leaves it */
};

struct rein_env {
	struct rein_strlist envp;    /* NULL-terminated */
	struct rein_strlist dropped; /* names held back, in the order they came */
};

int rein_env_make(const struct rein_env_opts *opts, struct rein_env *ret, struct rein_err *err);
void rein_env_done(struct rein_env *e);

/* Is this variable held back? name is the part before '='. Pure. */
bool rein_env_is_secret(struct rein_str name, const char *value);

/*
 * An env file: NAME=VALUE lines, optional "export", '#' comments, single quotes (literal) or
 * double quotes (\n \t \r \" \\ \$). where names the file in errors. Adds NAME=VALUE to ret.
 */
int rein_env_parse_file(struct rein_str text, const char *where, struct rein_strlist *ret,
			struct rein_err *err);

#endif
