/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as tables: one row gives parsing, help, completion and its place in the verb's struct.
 *
 *	static const struct rein_opt opts[] = {
 *		{"timeout", 0, REIN_OPT_DURATION, offsetof(struct run, timeout_ns), "DURATION", "…"},
 *		{0},
 *	};
 *
 * A table of a verb is followed by the common rows (--json, -q, -v, --help).
 */
#ifndef REIN_CLI_OPTS_H
#define REIN_CLI_OPTS_H

#include <stddef.h>

#include "base/err.h"
#include "base/strlist.h"

enum rein_opt_type {
	REIN_OPT_FLAG,	   /* bool */
	REIN_OPT_STRING,   /* const char * */
	REIN_OPT_LIST,	   /* struct rein_strlist, repeatable */
	REIN_OPT_DURATION, /* uint64_t, ns */
	REIN_OPT_SIZE,	   /* uint64_t, bytes */
	REIN_OPT_NUMBER,   /* uint64_t */
	REIN_OPT_CHOICE,   /* int: index + 1 of the word in `choices` ("a|b|c") */
	REIN_OPT_VALUE,	   /* int: set to `value`, for options that exclude each other */
};

struct rein_opt {
	const char *name;
	char letter;
	enum rein_opt_type type;
	size_t offset;
	const char *arg;  /* placeholder; for CHOICE the words, "a|b|c" */
	const char *help;
	int value;
};

struct rein_common {
	bool json, quiet, verbose, help;
	bool no_pager;
};

struct rein_verb {
	const char *name;
	const char *args; /* "[TXN]" */
	const char *summary;
	const struct rein_opt *opts;
	int (*run)(int argc, char **argv);
	bool rest; /* everything from the first operand on belongs to a command */
	int operands; /* at most so many; -1: any number, or the verb itself looks */
	bool lends_stdout; /* to a command: --json is the last line of standard error */
};

extern const struct rein_opt rein_common_opts[];
extern const struct rein_verb rein_verbs[]; /* ends with a NULL name */
const struct rein_verb *rein_verb_find(const char *name);

/*
 * argv[0] is the verb. Fills target (by verb->opts) and common; *ret_first is the index of the
 * first operand; operands are moved to the end otherwise in order.
 */
int rein_opts_parse(const struct rein_verb *verb, int argc, char **argv, void *target,
		    struct rein_common *common, int *ret_first, struct rein_err *err);
void rein_opts_help(const struct rein_verb *verb); /* to stdout */

#endif
