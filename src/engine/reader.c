/* SPDX-License-Identifier: Apache-2.0 */
/* See reader.h. */
#include "engine/reader.h"

#include <stdlib.h>

#include "base/str.h"

/*
 * Programs that do the same on a read-only tree as on any other, when they are asked only to read, and
 * those that carry others along. Not here is who writes beside the point: databases that lock and
 * recover, interpreters and build tools that keep what they compiled, whoever stays to be visited.
 * Git does without the lock it would refresh its index under.
 */
static const char *const readers[] = {
	":",	    "[",	 "awk",	      "base64",	  "basename", "bash",	  "cal",      "cat",	 "cd",
	"cksum",    "cmp",	 "col",	      "column",	  "comm",     "command",  "cut",      "dash",	 "date",
	"df",	    "diff",	 "dir",	      "dirname",  "du",	      "echo",	  "egrep",    "env",	 "expand",
	"expr",	    "false",	 "fd",	      "fdfind",	  "fgrep",    "file",	  "find",     "fmt",	 "fold",
	"free",	    "gawk",	 "getconf",   "git",	  "grep",     "groups",	  "head",     "hexdump", "hostname",
	"id",	    "join",	 "jq",	      "locale",	  "ls",	      "mawk",	  "md5sum",   "nice",	 "nl",
	"nproc",    "numfmt",	 "od",	      "paste",	  "printenv", "printf",	  "ps",	      "pwd",	 "readlink",
	"realpath", "rev",	 "rg",	      "ripgrep",  "sed",      "seq",	  "sh",	      "sha1sum", "sha256sum",
	"sha512sum", "sort",	 "stat",      "strings",  "sum",      "tac",	  "tail",     "test",	 "time",
	"timeout",  "tr",	 "tree",      "true",	  "tsort",    "type",	  "uname",    "unexpand", "uniq",
	"uptime",   "vdir",	 "wc",	      "which",	  "whoami",   "xargs",	  "xxd",      "yq",	 "zcat",
	"zgrep",
};

static int by_name(const void *name, const void *row)
{
	const struct rein_str *s = name;
	const char *r = *(const char *const *)row;
	int rc = strncmp(s->p, r, s->n);

	return rc ? rc : -(int)(r[s->n] != 0);
}

/* "Could I write here?" has another answer on a read-only tree. */
static bool asks_for_writing(const struct rein_call *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (rein_str_eq(c->words[i], STR("-w")) || rein_str_eq(c->words[i], STR("-writable")))
			return true;
	return false;
}

static bool text_only_reads(const struct rein_verdict *v)
{
	if (!v || v->level != REIN_LEVEL_SAFE || v->reach != REIN_REACH_READONLY || !v->complete || v->calls_lost ||
	    !v->n_calls)
		return false;
	for (size_t i = 0; i < v->n_calls; i++)
		if (!v->calls[i].n ||
		    !bsearch(&v->calls[i].words[0], readers, ARRAY_SIZE(readers), sizeof(*readers), by_name) ||
		    asks_for_writing(&v->calls[i]))
			return false;
	return true;
}

int rein_engine_read_lightly(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	if (o->writable || !text_only_reads(r->judged.verdict))
		return 0;
	return rein_engine_default_var_(r, "GIT_OPTIONAL_LOCKS=0", err);
}

bool rein_engine_only_reads(const struct rein_engine *e, const struct rein_run_opts *o, const struct rein_run *r)
{
	if (o->writable || o->backend || o->whole_system || r->view.whole_root || r->rw.n || r->canary.n ||
	    r->judged.must_hold || !text_only_reads(r->judged.verdict))
		return false;
	for (size_t i = 0; i < r->nmasks; i++)
		/* a store at the top of another file system would have to be hidden */
		if (r->masks[i].path || !rein_place_none(&e->state, r->view.cow[i].path))
			return false;
	return true;
}
